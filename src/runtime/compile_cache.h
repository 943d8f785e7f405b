// The compile cache: one file per compiled text, published by renaming. A missing, damaged or foreign file is a miss.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fusec {

struct CacheEntry {
  std::string ptx, cubin, log;
  bool operator==(const CacheEntry&) const = default;
};

class CompileCache {
 public:
  static constexpr int64_t kMaxBytes = int64_t{512} << 20;

  explicit CompileCache(std::string folder, int64_t max_bytes = kMaxBytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  // $FUSEC_CACHE_DIR, else $XDG_CACHE_HOME/fusec, else ~/.cache/fusec; nothing when none of them names an absolute folder.
  static std::optional<CompileCache> from_environment();

  // A hash of everything that decides the result.
  static std::string key(const std::string& source, const std::vector<std::string>& options, const std::string& compiler);
  std::optional<CacheEntry> load(const std::string& key) const;
  // Drops the entries used longest ago when the cache outgrows its limit. Returns why the entry could not be stored, or "".
  std::string store(const std::string& key, const CacheEntry& entry) const;

  const std::string& folder() const { return folder_; }
  struct Usage {
    int64_t entries = 0, bytes = 0;
  };
  Usage usage() const;

 private:
  void drop_oldest() const;
  std::string folder_;
  int64_t max_bytes_;
};

}  // namespace fusec
