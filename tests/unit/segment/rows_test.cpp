#include "segment/rows.h"

#include "graphs.h"
#include "segment/schedule.h"

using namespace fusec;
using namespace fusec::testing;

namespace {

// The mapping of all ops of a graph as one kernel.
RowMapping map_all(const Graph& g, const std::vector<std::string>& outer = {}) {
  const Facts facts(g);
  std::vector<uint8_t> depends;
  for (OpId id : facts.ordered()) {
    uint8_t d = 0;
    for (const Operand& o : g[id].in)
      if (o.is_value() && g[o.value].def.valid()) d |= depends[facts.rank(g[o.value].def)] | facts.is_anchor(g[o.value].def);
    depends.push_back(d);
  }
  std::vector<OpId> ids;
  for (const std::string& name : outer) ids.push_back(op(g, name));
  return RowMapper(facts).map(facts.ordered(), depends, ids);
}

Plan plan_all(const Graph& g, const Target& target = target_for("sm_90")) {
  const Facts facts(g);
  std::vector<ValueId> roots;
  for (const Output& o : g.outputs) roots.push_back(o.value);
  return Scheduler(facts, target).plan(facts.ordered(), roots);
}

const std::string kX = R"({"name": "x", "dtype": "f32", "shape": [32, 64, 128]})";

}  // namespace

TEST_CASE("softmax works on rows") {
  const Graph g =
      graph(kX, R"({"op": "max", "in": ["x"], "dims": [2], "keepdim": true, "out": "m"}, {"op": "sub", "in": ["x", "m"], "out": "z"},
    {"op": "exp", "in": ["z"], "out": "e"}, {"op": "sum", "in": ["e"], "dims": [2], "keepdim": true, "out": "t"}, {"op": "div", "in": ["e", "t"], "out": "y"})",
            R"("y")");
  const RowMapping m = map_all(g);
  CHECK(m.ok);
  CHECK(m.rows == 32 * 64);
  CHECK(plan_all(g).kind == SegmentKind::kPersistent);
}

TEST_CASE("a second reduction over a row axis leaves fewer rows") {
  const Graph g = graph(
      kX,
      R"({"op": "sum", "in": ["x"], "dims": [2], "out": "s"}, {"op": "max", "in": ["s"], "dims": [1], "keepdim": true, "out": "m"}, {"op": "sub", "in": ["s", "m"], "out": "y"})",
      R"("y")");
  CHECK(map_all(g).rows == 32);
}

TEST_CASE("rows survive a reshape that splits or joins them") {
  const std::string norm =
      R"({"op": "reshape", "in": ["x"], "shape": [2048, 128], "out": "r"}, {"op": "sum", "in": ["r"], "dims": [1], "keepdim": true, "out": "s"},
    {"op": "mul", "in": ["r", "s"], "out": "n"}, {"op": "reshape", "in": ["n"], "shape": [8, 4, 64, 128], "out": "q"}, {"op": "max", "in": ["q"], "dims": [3], "keepdim": true, "out": "t"},
    {"op": "add", "in": ["q", "t"], "out": "y"})";
  CHECK(map_all(graph(kX, norm, R"("y")")).rows == 2048);
}

TEST_CASE("meeting one's own transpose, or a neighbour's row, gives up the rows") {
  const std::string square = R"({"name": "x", "dtype": "f32", "shape": [64, 64]})";
  const std::string sum = R"({"op": "sum", "in": ["x"], "dims": [1], "out": "s"}, )";
  CHECK(map_all(graph(square,
                      sum + R"({"op": "unsqueeze", "in": ["s"], "dims": [1], "out": "a"}, {"op": "mul", "in": ["a", "s"], "out": "y"})",
                      R"("y")"))
            .rows == 1);
  CHECK(map_all(graph(square, sum + R"({"op": "flip", "in": ["s"], "dims": [0], "out": "f"}, {"op": "add", "in": ["f", "s"], "out": "y"})",
                      R"("y")"))
            .rows == 1);
  CHECK(map_all(graph(square, sum + R"({"op": "add", "in": ["s", 1.0], "out": "y"})", R"("y")")).rows == 64);
}

TEST_CASE("a reduction across rows may end a row kernel, not feed it") {
  const std::string both =
      R"({"op": "sum", "in": ["x"], "dims": [2], "keepdim": true, "out": "s"}, {"op": "mul", "in": ["x", "s"], "out": "y"},
    {"op": "sum", "in": ["y"], "dims": [0], "out": "c"})";
  const RowMapping m = map_all(graph(kX, both, R"("y", "c")"));
  CHECK(m.rows == 2048);
  CHECK(m.outer.size() == 1);
  const RowMapping fed = map_all(graph(kX, both + R"(, {"op": "sub", "in": ["y", "c"], "out": "z"})", R"("z")"));
  CHECK(fed.outer.empty());
  CHECK(fed.rows == 64);
}

TEST_CASE("refusals have names and words") {
  const std::string norm = R"({"op": "sum", "in": ["x"], "dims": [0], "out": "s"}, {"op": "mul", "in": ["x", "s"], "out": "y"})";
  const Plan long_row = plan_all(graph(R"({"name": "x", "dtype": "f32", "shape": [100000000]})", norm, R"("y")"));
  CHECK(!long_row.ok);
  CHECK(long_row.refusal.rule == Rule::kGridWide);
  CHECK(long_row.refusal.words.find("`s` is a full reduction over 100000000 elements and `y` needs it everywhere") != std::string::npos);
  const Plan wide = plan_all(graph(
      R"({"name": "x", "dtype": "f32", "shape": [512, 4000000]})",
      R"({"op": "sum", "in": ["x"], "dims": [1], "keepdim": true, "out": "s"}, {"op": "mul", "in": ["x", "s"], "out": "y"})", R"("y")"));
  CHECK(wide.refusal.rule == Rule::kRowTooLong);
  const Plan axes = plan_all(
      graph(R"({"name": "x", "dtype": "f32", "shape": [4096, 4096]}, {"name": "z", "dtype": "f32", "shape": [100, 5000, 300]})",
            R"({"op": "sum", "in": ["x"], "dims": [0], "out": "a"}, {"op": "sum", "in": ["z"], "dims": [1], "out": "b"})", R"("a", "b")"));
  CHECK(axes.parallel < 0.1);  // one block could, and cost forbids it
  const Plan product =
      plan_all(graph(R"({"name": "x", "dtype": "bf16", "shape": [64, 64]})",
                     R"({"op": "neg", "in": ["x"], "out": "n"}, {"op": "matmul", "in": ["n", "x"], "out": "y"})", R"("y")"));
  CHECK(product.refusal.rule == Rule::kLibrary);
}

TEST_CASE("each family takes its own") {
  auto kind = [](const std::string& inputs, const std::string& ops, const std::string& outputs) {
    const Plan p = plan_all(graph(inputs, ops, outputs));
    REQUIRE(p.ok);
    return p.kind;
  };
  const std::string big = R"({"name": "x", "dtype": "f32", "shape": [4096, 4096]})";
  CHECK(kind(big, R"({"op": "sum", "in": ["x"], "dims": [1], "out": "s"}, {"op": "sqrt", "in": ["s"], "out": "y"})", R"("y")") ==
        SegmentKind::kReduction);
  CHECK(kind(big, R"({"op": "neg", "in": ["x"], "out": "n"}, {"op": "cumsum", "in": ["n"], "dim": 1, "out": "s"})", R"("s")") ==
        SegmentKind::kScan);
  CHECK(kind(big, R"({"op": "argsort", "in": ["x"], "dim": 1, "out": "i"}, {"op": "floor_div", "in": ["i", 4], "out": "y"})", R"("y")") ==
        SegmentKind::kSort);
  CHECK(
      kind(
          big + R"(, {"name": "i", "dtype": "i64", "shape": [100000]}, {"name": "v", "dtype": "f32", "shape": [100000, 4096]})",
          R"({"op": "neg", "in": ["v"], "out": "n"}, {"op": "index_put", "in": ["x", "i", "n"], "dim": 0, "accumulate": "add", "out": "y"})",
          R"("y")") == SegmentKind::kScatter);
  // four elements are a loop inside a thread, whatever view follows
  CHECK(kind(R"({"name": "x", "dtype": "f32", "shape": [1000, 4, 1000]}, {"name": "z", "dtype": "f32", "shape": [1000, 2000]})",
             R"({"op": "sum", "in": ["x"], "dims": [1], "out": "s"}, {"op": "cat", "in": ["s", "z"], "dim": 1, "out": "y"})",
             R"("y")") == SegmentKind::kPointwise);
  // few elements are one block's work: sort, scan and scatter together
  CHECK(
      kind(
          R"({"name": "x", "dtype": "i64", "shape": [256]})",
          R"({"op": "argsort", "in": ["x"], "out": "p"}, {"op": "cumsum", "in": ["p"], "out": "c"}, {"op": "scatter", "in": ["x", "p", "c"], "dim": 0, "out": "y"})",
          R"("y")") == SegmentKind::kSort);
}
