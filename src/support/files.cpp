#include "support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "support/diag.h"
#include "support/publish.h"
#include "support/text.h"

namespace fusec {

namespace {

// What to do about a system's reason, where that is known.
std::string remedy(int error) {
  switch (error) {
    case ENOENT:
      return "; check the path";
    case EISDIR:
      return "; name a file in it";
    case ENOTDIR:
    case EEXIST:
      return "; a file stands where a folder is needed: choose another path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; change its permissions, or choose another path";
    case ENOSPC:
    case EDQUOT:
      return "; make room, or choose another disk";
    default:
      return "";
  }
}

}  // namespace

void fail_on(const std::string& what, const std::string& path, int error) {
  const std::string shown = path.empty() ? "''" : path == "-" ? "stdin" : escaped(path);
  throw Failure(Exit::kBadInput, "cannot " + what + " " + shown + ": " + std::strerror(error) + remedy(error));
}

Descriptor::~Descriptor() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
}

void write_all(int fd, const std::string& content, const std::string& path) {
  for (size_t done = 0; done < content.size();) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_on("write", path, errno);
    done += static_cast<size_t>(n);
  }
}

std::string read_file(const std::string& path, size_t max_bytes) {
  const Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) fail_on("read", path, errno);
  std::string content;
  struct stat st;
  if (::fstat(file.get(), &st) == 0 && S_ISREG(st.st_mode) && static_cast<size_t>(st.st_size) <= max_bytes)
    content.reserve(static_cast<size_t>(st.st_size));
  std::vector<char> block(size_t{1} << 16);
  for (;;) {
    const ssize_t n = ::read(file.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_on("read", path, errno);
    if (n == 0) return content;
    content.append(block.data(), static_cast<size_t>(n));
    if (content.size() > max_bytes)
      throw Failure(Exit::kBadInput, "cannot read " + escaped(path) + ": it is larger than " + std::to_string(max_bytes) + " bytes");
  }
}

void write_file(const std::string& path, const std::string& content) {
  struct stat st;
  if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
    // Renaming over a device or a pipe would replace it.
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.ok()) fail_on("write", path, errno);
    return write_all(file.get(), content, path);
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  publish_files(folder, {{path.substr(slash == std::string::npos ? 0 : slash + 1), content}});
}

}  // namespace fusec
