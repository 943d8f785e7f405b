#include "support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "support/diag.h"

namespace fusec {

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw Failure(Exit::kBadInput, "cannot " + what + " " + path + ": " + std::strerror(error));
}

struct Descriptor {
  int fd = -1;
  explicit Descriptor(int f) : fd(f) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd > STDERR_FILENO) ::close(fd);
  }
};

void write_all(int fd, const std::string& content, const std::string& path) {
  for (size_t done = 0; done < content.size();) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path, errno);
    done += static_cast<size_t>(n);
  }
}

// Makes a folder and its parents; remembers what it made, and unless kept removes it again.
class MadeFolders {
 public:
  explicit MadeFolders(const std::string& folder) {
    for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
      const std::string part = folder.substr(0, end);
      if (::mkdir(part.c_str(), 0777) == 0) made_.push_back(part);
      else if (struct stat st; errno != EEXIST || ::stat(part.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) {
        const int error = errno == EEXIST ? ENOTDIR : errno;
        remove();
        fail("make folder", part, error);
      }
      if (end == std::string::npos) return;
    }
  }
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  ~MadeFolders() { remove(); }
  void keep() { made_.clear(); }

 private:
  void remove() {
    for (size_t i = made_.size(); i-- > 0;) ::rmdir(made_[i].c_str());
    made_.clear();
  }
  std::vector<std::string> made_;
};

// Temporary files that vanish unless they were renamed.
struct Temporaries {
  std::vector<std::string> paths;
  Temporaries() = default;
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;
  ~Temporaries() {
    for (const std::string& p : paths)
      if (!p.empty()) ::unlink(p.c_str());
  }
};

void write_temporary(const std::string& path, const std::string& content) {
  ::unlink(path.c_str());  // left by a killed process of the same number
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.fd < 0) fail("write", path, errno);
  write_all(file.fd, content, path);
}

}  // namespace

std::string read_file(const std::string& path, size_t max_bytes) {
  const Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) fail("read", path, errno);
  std::string content;
  struct stat st;
  if (::fstat(file.fd, &st) == 0 && S_ISREG(st.st_mode) && static_cast<size_t>(st.st_size) <= max_bytes)
    content.reserve(static_cast<size_t>(st.st_size));
  std::vector<char> block(size_t{1} << 16);
  for (;;) {
    const ssize_t n = ::read(file.fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path, errno);
    if (n == 0) return content;
    content.append(block.data(), static_cast<size_t>(n));
    if (content.size() > max_bytes)
      throw Failure(Exit::kBadInput, "cannot read " + path + ": it is larger than " + std::to_string(max_bytes) + " bytes");
  }
}

void write_files(const std::string& folder, const std::vector<std::pair<std::string, std::string>>& name_and_content) {
  MadeFolders folders(folder);
  Temporaries temporaries;
  for (const auto& [name, content] : name_and_content) {
    const std::string path = folder + "/" + name;
    struct stat st;
    if (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) fail("write", path, EISDIR);
    temporaries.paths.push_back(folder + "/." + name + "." + std::to_string(::getpid()) + ".tmp");
    write_temporary(temporaries.paths.back(), content);
  }
  for (size_t i = 0; i < name_and_content.size(); ++i) {
    const std::string path = folder + "/" + name_and_content[i].first;
    if (::rename(temporaries.paths[i].c_str(), path.c_str()) != 0) fail("write", path, errno);
    temporaries.paths[i].clear();
    folders.keep();
  }
  folders.keep();
}

void write_file(const std::string& path, const std::string& content) {
  struct stat st;
  if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
    // A device or a pipe is written as it is: renaming over it would replace it.
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.fd < 0) fail("write", path, errno);
    return write_all(file.fd, content, path);
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  write_files(folder, {{path.substr(slash == std::string::npos ? 0 : slash + 1), content}});
}

}  // namespace fusec
