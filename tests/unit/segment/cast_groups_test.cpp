#include "graphs.h"

using namespace fusec;
using namespace fusec::testing;

namespace {

std::vector<std::set<std::string>> groups(const Graph& g) {
  std::vector<std::set<std::string>> sets;
  for (const CastGroup& group : find_cast_groups(g)) sets.push_back(names(g, group.ops));
  std::sort(sets.begin(), sets.end());
  return sets;
}

const std::string kX = R"({"name": "x", "dtype": "bf16", "shape": [4096]})";
std::string cast(const std::string& from, const std::string& dtype, const std::string& to) {
  return R"({"op": "cast", "in": [")" + from + R"("], "dtype": ")" + dtype + R"(", "out": ")" + to + "\"}";
}
std::string apply(const std::string& op, const std::string& in, const std::string& to) {
  return R"({"op": ")" + op + R"(", "in": [)" + in + R"(], "out": ")" + to + "\"}";
}

}  // namespace

TEST_CASE("a cast group goes through forks, joins and double use") {
  const Graph g = graph(kX,
                        cast("x", "f32", "u") + "," + apply("neg", R"("u")", "n") + "," + apply("sin", R"("n")", "s") + "," +
                            apply("mul", R"("s", "s")", "q") + "," + apply("add", R"("q", "n")", "j") + "," + cast("j", "bf16", "d"),
                        R"("d")");
  CHECK(groups(g) == std::vector<std::set<std::string>>{{"u", "n", "s", "q", "j", "d"}});
}

TEST_CASE("a down-cast ends a group, and the next up-cast starts another") {
  const Graph g = graph(kX,
                        cast("x", "f32", "u") + "," + apply("exp", R"("u")", "e") + "," + cast("e", "bf16", "d") + "," +
                            cast("d", "f32", "v") + "," + apply("neg", R"("v")", "n") + "," + cast("n", "bf16", "y"),
                        R"("y")");
  CHECK(groups(g) == std::vector<std::set<std::string>>{{"u", "e", "d"}, {"v", "n", "y"}});
}

TEST_CASE("a sort and a scatter between casts belong to the group") {
  const Graph g = graph(kX + R"(, {"name": "i", "dtype": "i64", "shape": [4096]})",
                        cast("x", "f32", "u") + R"(, {"op": "sort", "in": ["u"], "out": ["v", null]}, )" +
                            R"({"op": "scatter", "in": ["v", "i", "u"], "accumulate": "add", "out": "s"}, )" + apply("exp", R"("s")", "e") +
                            "," + cast("e", "bf16", "d"),
                        R"("d")");
  CHECK(groups(g) == std::vector<std::set<std::string>>{{"u", "v", "s", "e", "d"}});
}

TEST_CASE("nested widths are one group: an inner down-cast that is still wide does not end it") {
  const Graph g = graph(kX,
                        cast("x", "f32", "u") + "," + cast("u", "f64", "v") + "," + apply("sin", R"("v")", "s") + "," +
                            cast("s", "f32", "w") + "," + cast("w", "bf16", "d"),
                        R"("d")");
  CHECK(groups(g) == std::vector<std::set<std::string>>{{"u", "v", "s", "w", "d"}});
}

TEST_CASE("masks and side inputs belong to the group that they serve") {
  const Graph g = graph(kX + R"(, {"name": "a", "dtype": "f32", "shape": [4096]}, {"name": "b", "dtype": "f32", "shape": [4096]})",
                        cast("x", "f32", "u") + "," + cast("u", "bool", "m") + "," + apply("add", R"("a", "b")", "side") + "," +
                            apply("where", R"("m", "u", "side")", "w") + "," + cast("w", "bf16", "d"),
                        R"("d")");
  CHECK(groups(g) == std::vector<std::set<std::string>>{{"u", "m", "side", "w", "d"}});
}

TEST_CASE("a mask cast to a float does not make narrow floats wide") {
  const Graph g = graph(kX,
                        apply("gt", R"("x", 0.5)", "m") + "," + cast("m", "f32", "mf") + "," + cast("x", "f32", "u") + "," +
                            apply("mul", R"("u", "mf")", "p") + "," + cast("p", "bf16", "d") + "," + apply("neg", R"("d")", "y"),
                        R"("y")");
  CHECK(groups(g) == std::vector<std::set<std::string>>{{"mf", "u", "p", "d"}});
}

TEST_CASE("integers and plain f32 make no group") {
  const Graph g = graph(R"({"name": "i", "dtype": "i32", "shape": [64]}, {"name": "f", "dtype": "f32", "shape": [64]})",
                        cast("i", "i64", "j") + "," + apply("tanh", R"("f")", "t"), R"("j", "t")");
  CHECK(groups(g).empty());
}
