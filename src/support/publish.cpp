#include "support/publish.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "support/files.h"

namespace fusec {

namespace {

constexpr std::string_view kPrefix = ".fusec-", kSuffix = ".tmp";

bool is_folder(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

std::string without_end_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path.empty() ? "." : path;
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : without_end_slashes(path.substr(0, slash));
}

int open_folder(const std::string& folder, int flags = 0) { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags); }

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int own = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);  // closed with the stream
  DIR* stream = own < 0 ? nullptr : ::fdopendir(own);
  if (!stream) return names;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(stream);
  return names;
}

// A temporary folder holds files only. They go by its descriptor, which no link can lead elsewhere.
void remove_temporary(int fd, const std::string& folder) {
  for (const std::string& name : names_in(fd)) ::unlinkat(fd, name.c_str(), 0);
  ::rmdir(folder.c_str());
}

// Makes a folder and its parents; removes those that it made unless they are kept.
class MadeFolders {
 public:
  explicit MadeFolders(const std::string& folder) {
    for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
      const std::string part = folder.substr(0, end);
      if (::mkdir(part.c_str(), 0777) == 0) {
        made_.push_back(part);
      } else if (const int error = errno; !is_folder(part)) {
        remove();
        fail_on("make folder", part, error == EEXIST ? ENOTDIR : error);
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

// A folder `.fusec-PID-N.tmp` in `parent`, locked as long as its process lives: that is how others know whether it is still of use.
class Temporary {
 public:
  explicit Temporary(const std::string& parent) {
    for (int n = 0;; ++n) {
      path_ = parent + "/" + std::string(kPrefix) + std::to_string(::getpid()) + "-" + std::to_string(n) + std::string(kSuffix);
      if (::mkdir(path_.c_str(), 0777) != 0) {
        if (errno == EEXIST) continue;  // of another process by this number, on this machine or on one that shares the disk
        fail_on("write to folder", parent, errno);
      }
      fd_ = open_folder(path_, O_NOFOLLOW);
      if (fd_ >= 0) ::flock(fd_, LOCK_EX);
      // Before the lock it may have looked abandoned.
      if (fd_ >= 0 && is_folder(path_)) return;
      if (fd_ >= 0) ::close(fd_);
    }
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!renamed_) remove_temporary(fd_, path_);
    ::close(fd_);
  }

  void write(const std::string& name, const std::string& content, const std::string& shown) const {
    const Descriptor file(::open((path_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file.ok()) fail_on("write", shown, errno);
    write_all(file.get(), content, shown);
  }
  // False when something stands at `folder`.
  bool become(const std::string& folder) { return renamed_ = ::rename(path_.c_str(), folder.c_str()) == 0; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
  bool renamed_ = false;
};

// Our temporary folders whose process is gone. One that cannot be locked for another reason is left alone.
void remove_abandoned(const std::string& parent) {
  const Descriptor all(open_folder(parent));
  if (!all.ok()) return;
  for (const std::string& name : names_in(all.get())) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const std::string path = parent + "/" + name;
    const Descriptor folder(open_folder(path, O_NOFOLLOW));
    struct stat st;
    if (!folder.ok() || ::fstat(folder.get(), &st) != 0 || st.st_uid != ::geteuid()) continue;
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) remove_temporary(folder.get(), path);
  }
}

// Moves the files into a folder that is there.
void move_files(const Temporary& from, const std::string& folder, const NamedFiles& files) {
  // One process at a time, so that two sets do not mix; where a file system knows no locks, the hashes in the manifest tell.
  const Descriptor lock(open_folder(folder));
  if (lock.ok()) ::flock(lock.get(), LOCK_EX);
  const std::string seal = folder + "/" + files.back().first;
  if (files.size() > 1 && ::unlink(seal.c_str()) != 0 && errno != ENOENT) fail_on("replace", seal, errno);
  for (const auto& [name, content] : files) {
    const std::string path = folder + "/" + name;
    if (::rename((from.path() + "/" + name).c_str(), path.c_str()) != 0) fail_on("write", path, errno);
  }
}

}  // namespace

void publish_files(const std::string& given, const NamedFiles& files) {
  const std::string folder = without_end_slashes(given);
  const bool is_new = !is_folder(folder);
  const std::string parent = is_new ? parent_of(folder) : folder;
  MadeFolders parents(parent);
  for (const auto& [name, content] : files)
    if (is_folder(folder + "/" + name)) fail_on("write", folder + "/" + name, EISDIR);
  remove_abandoned(parent);
  Temporary temporary(parent);
  for (const auto& [name, content] : files) temporary.write(name, content, folder + "/" + name);
  if (!is_new || !temporary.become(folder)) {
    MadeFolders none(folder);  // a file that stands there is an error; a folder may have come meanwhile
    move_files(temporary, folder, files);
  }
  parents.keep();
}

}  // namespace fusec
