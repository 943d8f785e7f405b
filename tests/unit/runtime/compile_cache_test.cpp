#include "runtime/compile_cache.h"

#include <sys/wait.h>

#include "catch.h"
#include "scratch.h"

using namespace fusec;
namespace fs = std::filesystem;

namespace {
const CacheEntry kEntry = {"ptx text",
                           std::string("\x7f"
                                       "ELF\0cubin",
                                       10),
                           "ptxas info"};

std::string only_file(const fs::path& folder) {
  std::string name;
  for (const auto& file : fs::directory_iterator(folder)) {
    REQUIRE(name.empty());
    name = file.path().filename().string();
  }
  return name;
}
}  // namespace

TEST_CASE("an entry comes back as it was stored") {
  const ScratchFolder scratch;
  const CompileCache cache((scratch.path / "not" / "yet").string());
  CHECK_FALSE(cache.load("key"));
  CHECK(cache.store("key", kEntry).empty());
  CHECK(cache.load("key") == kEntry);
  CHECK_FALSE(cache.load("other"));
  CHECK(cache.usage().entries == 1);
}

TEST_CASE("every damage of an entry is a miss") {
  const ScratchFolder scratch;
  const CompileCache cache(scratch.path.string());
  REQUIRE(cache.store("key", kEntry).empty());
  const std::string name = only_file(scratch.path), whole = scratch.read(name);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    scratch.write(name, damaged);
    CHECK_FALSE(cache.load("key"));
    scratch.write(name, whole.substr(0, at));
    CHECK_FALSE(cache.load("key"));
  }
  scratch.write(name, whole + "x");
  CHECK_FALSE(cache.load("key"));
  // And the next store mends it.
  CHECK(cache.store("key", kEntry).empty());
  CHECK(cache.load("key") == kEntry);
  fs::remove(scratch.path / name);
  fs::create_directory(scratch.path / name);
  CHECK_FALSE(cache.load("key"));
}

TEST_CASE("processes that publish one entry at a time leave a whole one") {
  const ScratchFolder scratch;
  const CompileCache cache(scratch.path.string());
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      CacheEntry big = {std::string(200000, static_cast<char>('a' + i)), "", ""};
      bool good = true;
      for (int n = 0; n < 30; ++n) {
        good = cache.store("key", big).empty() && good;
        const auto seen = cache.load("key");
        good = good && seen && seen->ptx.size() == big.ptx.size();
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(cache.load("key").has_value());
  only_file(scratch.path);  // no temporary file is left
}

TEST_CASE("the cache drops what was used longest ago") {
  const ScratchFolder scratch;
  const CompileCache cache(scratch.path.string(), 3500);
  const CacheEntry kilobyte = {std::string(1000, 'x'), "", ""};
  auto age = [&](const std::string& key, int hours) {
    fs::last_write_time(scratch.path / (key + ".entry"), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (const char* key : {"a", "b", "c"}) REQUIRE(cache.store(key, kilobyte).empty());
  age("a", 3), age("b", 2), age("c", 1);
  CHECK(cache.load("a").has_value());  // used now
  REQUIRE(cache.store("d", kilobyte).empty());
  CHECK(cache.load("a").has_value());
  CHECK_FALSE(cache.load("b").has_value());
  CHECK(cache.load("d").has_value());
  CHECK(cache.usage().bytes <= 3500);
}

TEST_CASE("a cache that cannot be written says why") {
  const ScratchFolder scratch;
  scratch.write("file", "");
  CHECK(CompileCache((scratch.path / "file").string()).store("key", kEntry).find("file") != std::string::npos);
}

TEST_CASE("the key holds everything that decides the result") {
  const std::string key = CompileCache::key("source", {"-arch=sm_90"}, "nvrtc 13.0");
  CHECK(key == CompileCache::key("source", {"-arch=sm_90"}, "nvrtc 13.0"));
  CHECK(key != CompileCache::key("source ", {"-arch=sm_90"}, "nvrtc 13.0"));
  CHECK(key != CompileCache::key("source", {"-arch=sm_90a"}, "nvrtc 13.0"));
  CHECK(key != CompileCache::key("source", {"-arch=sm_90", ""}, "nvrtc 13.0"));
  CHECK(key != CompileCache::key("source", {"-arch=sm_90"}, "nvrtc 13.1"));
}
