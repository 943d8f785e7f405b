// Scans and sorts: what is stored with their results, and how many launches they take.
#include "lower/lines.h"

#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

std::string line(const std::string& dtype, const std::string& shape, const std::string& ops, const std::string& outputs) {
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": ")" + dtype + R"(", "shape": )" + shape +
         R"(}, {"name": "w", "dtype": "f32", "shape": )" + shape + R"(}], "ops": [)" + ops + R"(], "outputs": [)" + outputs + "]}";
}

std::string scan(const std::string& dtype, const std::string& shape) {
  return line(dtype, shape, R"({"op": "mul", "in": ["x", 2], "out": "a"}, {"op": "cumsum", "in": ["a"], "dim": 1, "out": "s"},
    {"op": "cast", "in": ["s"], "dtype": "f32", "out": "f"}, {"op": "mul", "in": ["f", "w"], "out": "y"})",
              R"("y")");
}

}  // namespace

TEST_CASE("what comes before and after a scan is in its kernel, for rows of any length") {
  for (const char* shape : {"[3000, 100]", "[300, 2000]", "[300, 20000]"}) {
    CAPTURE(shape);
    for (const char* dtype : {"f32", "i32"}) {
      const Program p = lowered(scan(dtype, shape));
      REQUIRE(p.launches.size() == 1);
      CHECK(p.workspace.empty());
    }
  }
}

TEST_CASE("few long rows: integers look back in one launch, floats leave their totals first") {
  const Program integers = lowered(scan("i32", "[2, 100000]"));
  REQUIRE(integers.launches.size() == 1);
  CHECK(integers.workspace.empty());
  CHECK(integers.launches[0].grid[0].elems.is(2 * 25));
  CHECK(has(integers, "fs_look_back_scan<1>("));
  CHECK(has(integers, "unsigned long long g_s0_published[50];"));
  CHECK(has(lowered(scan("i64", "[2, 100000]")), "unsigned long long g_s0_published[100];"));
  const Program floats = lowered(scan("f32", "[2, 100000]"));
  CHECK(floats.launches.size() == 2);
  CHECK_FALSE(has(floats, "_published"));
}

TEST_CASE("an open number of rows has no place for what chunks publish") {
  std::string text = scan("i32", R"(["N", 100000])");
  text.insert(text.find("\"inputs\""), R"("dims": {"N": {"size": 2, "dynamic": true}}, )");
  const Program p = lowered(text);
  CHECK(p.launches.size() == 2);
  CHECK_FALSE(has(p, "_published"));
}

TEST_CASE("both results of a sort go on where they are stored; one that is read as it is is stored too") {
  const std::string ops = R"({"op": "topk", "in": ["x"], "k": 1, "dim": 1, "out": ["v", "i"]}, {"op": "neg", "in": ["v"], "out": "n"},
    {"op": "cast", "in": ["i"], "dtype": "i32", "out": "c"})";
  for (const char* shape : {"[3000, 20]", "[30, 900]", "[2, 9000]"}) {
    CAPTURE(shape);
    const Program p = lowered(line("f32", shape, ops, R"("n", "c")"));
    CHECK(p.launches.size() == (std::string(shape) == "[2, 9000]" ? 2 : 1));  // (the first one clears counters)
    CHECK(lowered(line("f32", shape, ops, R"("n", "c", "v")")).launches.size() == p.launches.size());
  }
}

TEST_CASE("a reshape behind the last op leaves it in its place") {
  const Program p =
      lowered(line("i32", "[300, 2000]", R"({"op": "cumsum", "in": ["x"], "dim": 1, "out": "s"}, {"op": "neg", "in": ["s"], "out": "n"},
    {"op": "reshape", "in": ["n"], "shape": [150, 4000], "out": "y"}, {"op": "reshape", "in": ["s"], "shape": [600000], "out": "z"})",
                   R"("y", "z")"));
  CHECK(p.launches.size() == 1);
  CHECK(p.workspace.empty());
}

TEST_CASE("what a scan's result is added to may be overwritten where it stands; what is scanned may not") {
  auto added = [](const char* alias) {
    return lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "i32", "shape": [300, 2000]},
      {"name": "b", "dtype": "i32", "shape": [300, 2000]}], "ops": [{"op": "cumsum", "in": ["x"], "dim": 1, "out": "s"},
      {"op": "add", "in": ["s", "b"], "out": "y"}], "outputs": [{"value": "y", "alias": ")" +
                   std::string(alias) + R"("}]})");
  };
  CHECK(added("b").launches.size() == 1);
  CHECK(added("x").launches.size() == 2);  // (a copy)
}
