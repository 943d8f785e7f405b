#include "runtime/compile_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/sha256.h"
#include "support/version.h"

namespace fusec {

namespace fs = std::filesystem;

namespace {

// The file: magic, three lengths (u64, little endian), the SHA-256 of the contents in hex, the contents.
constexpr std::string_view kMagic = "fusec-cache-1\n";
constexpr std::string_view kSuffix = ".entry";
constexpr size_t kHeaderBytes = kMagic.size() + 3 * 8 + 64;
// A temporary file this old was left by a process that was killed.
constexpr auto kStale = std::chrono::hours(1);

std::string encode(const CacheEntry& entry) {
  std::string file(kMagic);
  for (const std::string* part : {&entry.ptx, &entry.cubin, &entry.log})
    for (int i = 0; i < 8; ++i) file += static_cast<char>(uint64_t{part->size()} >> (8 * i));
  const std::string contents = entry.ptx + entry.cubin + entry.log;
  return file + sha256_hex(contents) + contents;
}

std::optional<CacheEntry> decode(const std::string& file) {
  if (file.size() < kHeaderBytes || !file.starts_with(kMagic)) return std::nullopt;
  uint64_t lengths[3] = {}, left = file.size() - kHeaderBytes;
  for (size_t part = 0; part < 3; ++part) {
    for (size_t i = 0; i < 8; ++i) lengths[part] |= uint64_t{static_cast<unsigned char>(file[kMagic.size() + 8 * part + i])} << (8 * i);
    if (lengths[part] > left) return std::nullopt;
    left -= lengths[part];
  }
  const std::string_view contents = std::string_view(file).substr(kHeaderBytes);
  if (left != 0 || file.compare(kHeaderBytes - 64, 64, sha256_hex(contents)) != 0) return std::nullopt;
  CacheEntry entry;
  entry.ptx = contents.substr(0, lengths[0]);
  entry.cubin = contents.substr(lengths[0], lengths[1]);
  entry.log = contents.substr(lengths[0] + lengths[1]);
  return entry;
}

// Writes everything or nothing; "" or the reason.
std::string write_new(const std::string& path, const std::string& bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return std::strerror(errno);
  size_t done = 0;
  std::string why;
  while (done < bytes.size() && why.empty()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n >= 0) done += static_cast<size_t>(n);
    else if (errno != EINTR) why = std::strerror(errno);
  }
  if (::close(fd) != 0 && why.empty()) why = std::strerror(errno);
  if (!why.empty()) ::unlink(path.c_str());
  return why;
}

struct Stored {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes = 0;
};

// The entries of a cache folder; temporary files left behind long ago go away.
std::vector<Stored> entries_in(const std::string& folder) {
  std::vector<Stored> entries;
  std::error_code none;
  for (fs::directory_iterator it(folder, none), end; !none && it != end; it.increment(none)) {
    const std::string name = it->path().filename().string();
    std::error_code gone;
    const auto used = fs::last_write_time(it->path(), gone);
    const auto bytes = fs::file_size(it->path(), gone);
    if (gone) continue;
    if (name.ends_with(kSuffix)) entries.push_back({it->path(), used, static_cast<int64_t>(bytes)});
    else if (name.find(".entry.tmp") != std::string::npos && fs::file_time_type::clock::now() - used > kStale) fs::remove(it->path(), gone);
  }
  return entries;
}

}  // namespace

std::optional<CompileCache> CompileCache::from_environment() {
  constexpr std::pair<const char*, const char*> kPlaces[] = {
      {"FUSEC_CACHE_DIR", ""}, {"XDG_CACHE_HOME", "/fusec"}, {"HOME", "/.cache/fusec"}};
  for (const auto& [variable, below] : kPlaces)
    // A relative folder would be another one in every working directory; the XDG rule is to ignore it.
    if (const char* value = std::getenv(variable); value && value[0] == '/') return CompileCache(std::string(value) + below);
  return std::nullopt;
}

std::string CompileCache::key(const std::string& source, const std::vector<std::string>& options, const std::string& compiler) {
  Sha256 hash;
  hash.add_field(kMagic);
  hash.add_field(kVersion);
  hash.add_field(compiler);
  for (const std::string& option : options) hash.add_field(option);
  hash.add_field(source);
  return hash.hex();
}

std::optional<CacheEntry> CompileCache::load(const std::string& key) const {
  const std::string path = folder_ + "/" + key + std::string(kSuffix);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;  // a folder opens, and fails when it is read
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto entry = decode(bytes);
  if (entry) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now
  return entry;
}

std::string CompileCache::store(const std::string& key, const CacheEntry& entry) const {
  std::error_code error;
  if (!fs::exists(folder_, error)) {
    fs::create_directories(folder_, error);
    if (error) return folder_ + ": " + error.message();
    ::chmod(folder_.c_str(), 0700);
  }
  const std::string path = folder_ + "/" + key + std::string(kSuffix);
  const std::string temporary = path + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(reinterpret_cast<uintptr_t>(&error));
  ::unlink(temporary.c_str());
  if (const std::string why = write_new(temporary, encode(entry)); !why.empty()) return temporary + ": " + why;
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    ::unlink(temporary.c_str());
    return path + ": " + why;
  }
  drop_oldest();
  return "";
}

void CompileCache::drop_oldest() const {
  std::vector<Stored> entries = entries_in(folder_);
  int64_t bytes = 0;
  for (const Stored& entry : entries) bytes += entry.bytes;
  if (bytes <= max_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Stored& a, const Stored& b) { return a.used < b.used; });
  for (const Stored& entry : entries) {
    if (bytes <= max_bytes_) return;
    std::error_code gone;
    fs::remove(entry.path, gone);
    bytes -= entry.bytes;
  }
}

CompileCache::Usage CompileCache::usage() const {
  Usage usage;
  for (const Stored& entry : entries_in(folder_)) ++usage.entries, usage.bytes += entry.bytes;
  return usage;
}

}  // namespace fusec
