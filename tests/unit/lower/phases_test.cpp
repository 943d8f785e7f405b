// Small kernels that follow each other: which become phases of one block, and what stays in shared memory.
#include "lower/phases.h"

#include <string>

#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

using Phases = std::vector<std::vector<std::string>>;

// How many of n items go to each of 12 places, and where each place begins.
std::string counts(const std::string& n, const std::string& outputs = R"("ends")") {
  return R"({"version": 1, "name": "g", "inputs": [{"name": "i", "dtype": "i64", "shape": [)" + n +
         R"(], "init": {"randint": [0, 12]}}], "ops": [
    {"op": "full", "shape": [12], "dtype": "i64", "value": 0, "out": "none"},
    {"op": "scatter", "in": ["none", "i", 1], "dim": 0, "accumulate": "add", "out": "counts"},
    {"op": "cumsum", "in": ["counts"], "dim": 0, "out": "ends"}], "outputs": [)" +
         outputs + "]}";
}

std::string order(const std::string& n, const std::string& more = "") {
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "i64", "shape": [)" + n + R"(]}], "ops": [
    {"op": "argsort", "in": ["x"], "out": "order"}, {"op": "full", "shape": [)" +
         n + R"(], "dtype": "i64", "value": 0, "out": "none"}, {"op": "iota", "shape": [)" + n +
         R"(], "dtype": "i64", "out": "all"}, {"op": "scatter", "in": ["none", "order", "all"], "out": "place")" + more +
         R"(}], "outputs": ["place"]})";
}

}  // namespace

TEST_CASE("what fits in one block is one launch, and what only it needs is in shared memory") {
  const Program p = lowered(counts("100"));
  REQUIRE(p.launches.size() == 1);
  CHECK(p.workspace.empty());
  CHECK(p.launches[0].phases == Phases{{"none"}, {"counts"}, {"ends"}});
  CHECK(p.launches[0].why.find("2 launches less") == 0);
  CHECK(has(p, "__shared__ __align__(16) long long counts_shared[12];"));
  CHECK(has(p, "fs_add_shared(&counts_shared["));
}

TEST_CASE("launched one by one on demand") {
  const Program p = lowered(counts("100"), false);
  CHECK(p.launches.size() == 3);
  CHECK_FALSE(has(p, "_shared[12]"));
}

TEST_CASE("an output that a later phase reads is written from shared memory, beside that phase") {
  const Program p = lowered(counts("100", R"("counts", "ends")"));
  REQUIRE(p.launches.size() == 1);
  CHECK(p.launches[0].phases == Phases{{"none"}, {"counts"}, {"ends", "counts"}});
  CHECK(has(p, "counts_out[i0] = counts_x;"));
}

TEST_CASE("work that keeps more than one multiprocessor busy keeps its launches") { CHECK(lowered(counts("1000000")).launches.size() > 1); }

TEST_CASE("an open size is no phase") {
  std::string text = counts("\"N\"");
  text.insert(text.find("\"inputs\""), R"("dims": {"N": {"size": 100, "dynamic": true}}, )");
  CHECK(lowered(text).launches.size() > 1);
}

TEST_CASE("sums of floats that would wait for each other in shared memory are added in global memory") {
  auto sums = [](const std::string& n) {
    return lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "i", "dtype": "i64", "shape": [)" + n +
                   R"(], "init": {"randint": [0, 12]}}, {"name": "x", "dtype": "f32", "shape": [)" + n + R"(]}], "ops": [
      {"op": "full", "shape": [12], "dtype": "f32", "value": 0, "out": "none"},
      {"op": "scatter", "in": ["none", "i", "x"], "dim": 0, "accumulate": "add", "out": "sums"}], "outputs": ["sums"]})");
  };
  CHECK(has(sums("24"), "fs_add_shared(&sums_shared["));
  CHECK(has(sums("480"), "fs_atomic_add(&sums_work["));
  CHECK(sums("480").launches.size() == 1);
}

TEST_CASE("the order of a sort needs no index check, and what it updates once needs no base") {
  const Program p = lowered(order("50"));
  REQUIRE(p.launches.size() == 1);
  CHECK(p.checks.empty());
  CHECK(p.launches[0].phases == Phases{{"order"}, {"place"}});
  CHECK_FALSE(has(p, "fs_store_one("));
  // A sum takes the base in.
  CHECK(lowered(order("50", R"(, "accumulate": "add")")).launches[0].phases == Phases{{"order", "none"}, {"place"}, {"place"}});
}

TEST_CASE("short rows are sorted by counting, longer ones by merging runs, the longest in pieces") {
  CHECK(has(lowered(order("128")), "fs_sort_by_counting<128, "));
  CHECK(has(lowered(order("129")), "fs_sort_by_merging<256, "));
  CHECK(has(lowered(order("4096")), "fs_sort_by_merging<4096, "));
}

TEST_CASE("a scan of floats keeps the block that decides how it adds") {
  const Program p = lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "f32", "shape": [900]}], "ops": [
    {"op": "cumsum", "in": ["x"], "out": "s"}, {"op": "flip", "in": ["s"], "dims": [0], "out": "y"}], "outputs": ["y"]})");
  REQUIRE(p.launches.size() == 1);
  CHECK(p.launches[0].block == 256);
}
