#include "support/publish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "catch.h"
#include "support/diag.h"
#include "support/files.h"

using namespace fusec;
namespace fs = std::filesystem;

namespace {
// The system calls that change a folder, counted; in a child process one of them kills it, as `kill -9` would.
int steps = 0, fatal_step = -1;
void step() {
  if (steps++ == fatal_step) ::raise(SIGKILL);
}
}  // namespace

extern "C" {
int rename(const char* from, const char* to) noexcept {
  step();
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlink(const char* path) noexcept {
  step();
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int mkdir(const char* path, mode_t mode) noexcept {
  step();
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
}

namespace {

struct Scratch {
  fs::path path;
  Scratch() {
    std::string name = (fs::temp_directory_path() / "fusec_publish_XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Scratch() { fs::remove_all(path); }
};

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

// Publishes in a process of its own that dies at a step. True when it did not come so far, and ended by itself.
bool publish_and_die(const std::string& folder, const NamedFiles& files, int at_step) {
  const pid_t child = ::fork();
  if (child == 0) {
    steps = 0;
    fatal_step = at_step;
    publish_files(folder, files);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status);
}

const NamedFiles kOld = {{"g.cu", "old"}, {"g.h", "old"}, {"g.manifest", "old"}};
const NamedFiles kNew = {{"g.cu", "new"}, {"g.h", "new"}, {"g.manifest", "new"}};

}  // namespace

TEST_CASE("a set with a seal is whole, whenever its writer dies") {
  bool finished = false, saw_old = false, saw_unsealed = false;
  for (int at = 0; !finished; ++at) {
    INFO("killed at step " << at);
    REQUIRE(at < 100);
    Scratch scratch;
    publish_files(scratch.path, kOld);
    finished = publish_and_die(scratch.path, kNew, at);
    if (fs::exists(scratch.path / "g.manifest")) {
      const std::string seal = read_file(scratch.path / "g.manifest");
      saw_old |= seal == "old";
      for (const auto& [name, content] : kNew) CHECK(read_file(scratch.path / name) == seal);
    } else {
      saw_unsealed = true;
    }
    // The next run mends what is half, and leaves nothing but the set.
    publish_files(scratch.path, kNew);
    for (const auto& [name, content] : kNew) CHECK(read_file(scratch.path / name) == "new");
    CHECK(names_in(scratch.path) == std::set<std::string>{"g.cu", "g.h", "g.manifest"});
  }
  CHECK(saw_old);
  CHECK(saw_unsealed);
}

TEST_CASE("a new folder appears with everything in it, or not at all") {
  bool finished = false;
  for (int at = 0; !finished; ++at) {
    INFO("killed at step " << at);
    REQUIRE(at < 100);
    Scratch scratch;
    const fs::path folder = scratch.path / "out";
    finished = publish_and_die(folder, kNew, at);
    if (fs::exists(folder)) {
      CHECK(names_in(folder) == std::set<std::string>{"g.cu", "g.h", "g.manifest"});
    }
    publish_files(folder, kNew);
    CHECK(names_in(scratch.path) == std::set<std::string>{"out"});
  }
}

TEST_CASE("temporary folders of living processes and of others stay") {
  Scratch scratch;
  const fs::path mine = scratch.path / ".fusec-1-0.tmp", link = scratch.path / ".fusec-2-0.tmp", target = scratch.path / "target";
  fs::create_directory(mine);
  fs::create_directory(target);
  write_file(target / "kept", "");
  fs::create_directory_symlink(target, link);
  {
    const Descriptor lock(::open(mine.c_str(), O_RDONLY | O_DIRECTORY));
    REQUIRE(::syscall(SYS_flock, lock.get(), 2) == 0);
    publish_files(scratch.path, kNew);
    CHECK(fs::exists(mine));
  }
  publish_files(scratch.path, kNew);
  CHECK_FALSE(fs::exists(mine));
  CHECK(fs::exists(target / "kept"));
}

TEST_CASE("a failed write leaves nothing behind") {
  Scratch scratch;
  const std::string folder = scratch.path / "new";
  CHECK_THROWS_AS(publish_files(folder, {{"x", "one"}, {"no/such/folder", "two"}}), Failure);
  CHECK(names_in(scratch.path).empty());
  fs::create_directories(scratch.path / "old" / "taken");
  CHECK_THROWS_AS(publish_files(scratch.path / "old", {{"x", "one"}, {"taken", "two"}}), Failure);
  CHECK(names_in(scratch.path / "old") == std::set<std::string>{"taken"});
  write_file(scratch.path / "file", "");
  CHECK_THROWS_AS(write_file(scratch.path / "file" / "x", ""), Failure);
  CHECK_THROWS_AS(publish_files(scratch.path / "file", kNew), Failure);
  CHECK(names_in(scratch.path) == std::set<std::string>{"file", "old"});
}
