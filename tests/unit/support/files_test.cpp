#include "support/files.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "catch.h"
#include "support/diag.h"

using namespace fusec;
namespace fs = std::filesystem;

namespace {
struct Scratch {
  fs::path path;
  Scratch() {
    std::string name = (fs::temp_directory_path() / "fusec_files_XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Scratch() { fs::remove_all(path); }
};
}  // namespace

TEST_CASE("files are written whole and read back") {
  Scratch scratch;
  const std::string folder = scratch.path / "a" / "b";
  write_file(folder + "/x", "one");
  write_file(folder + "/y", std::string(200000, 'z'));
  CHECK(read_file(folder + "/x") == "one");
  CHECK(read_file(folder + "/y").size() == 200000);
  write_file(folder + "/x", "two");
  CHECK(read_file(folder + "/x") == "two");
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 2);
  CHECK_THROWS_AS(read_file(folder + "/y", 1000), Failure);
}

TEST_CASE("reading names the path and the reason") {
  try {
    read_file("/nonexistent/graph");
    FAIL("read what is not there");
  } catch (const Failure& failure) {
    CHECK(failure.exit == Exit::kBadInput);
    CHECK(std::string(failure.what()).find("/nonexistent/graph") != std::string::npos);
  }
  CHECK_THROWS_AS(read_file("/"), Failure);
}
