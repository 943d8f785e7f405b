// Whole files: reading (with "-" for stdin) and writing.
#pragma once

#include <string>

namespace fusec {

// Failure(kBadInput) with the path and the system's reason. Refuses files over `max_bytes`.
std::string read_file(const std::string& path, size_t max_bytes = size_t{1} << 30);

// A killed or failed fusec leaves the old file or the new one. Makes the folder when it is missing. A device or a pipe is written as it is.
void write_file(const std::string& path, const std::string& content);

// Writes everything to an open file; `path` is for the message of the Failure(kBadInput).
void write_all(int fd, const std::string& content, const std::string& path);
// Failure(kBadInput): "cannot WHAT PATH: reason".
[[noreturn]] void fail_on(const std::string& what, const std::string& path, int error);

// An open file that is closed, but for the standard streams.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

}  // namespace fusec
