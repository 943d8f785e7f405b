#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "catch.h"
#include "cli/console.h"

using namespace fusec;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a bug of ours leaves the graph, the command and the message", "[cli]") {
  char name[] = "/tmp/fusec-reproducer-XXXXXX";
  REQUIRE(mkdtemp(name));
  const fs::path before = fs::current_path();
  fs::current_path(name);
  std::ofstream("g.fusion.json") << "{}";
  std::string words[] = {"fusec", "compile", "g.fusion.json", "--dim", "a b"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data()};
  const std::string first = write_reproducer(5, argv, "pass X: node Y"), second = write_reproducer(5, argv, "again");
  fs::current_path(before);
  CHECK(fs::path(first).filename() == "fusec-bug-1");
  CHECK(fs::path(second).filename() == "fusec-bug-2");
  CHECK(content(fs::path(first) / "g.fusion.json") == "{}");
  CHECK(content(fs::path(first) / "command.txt") == "fusec compile g.fusion.json --dim 'a b'\n");
  CHECK(content(fs::path(first) / "message.txt").find("pass X: node Y") != std::string::npos);
  fs::remove_all(name);
}
