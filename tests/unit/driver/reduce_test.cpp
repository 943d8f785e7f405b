#include "driver/reduce.h"

#include <algorithm>

#include "catch.h"
#include "parser/read_graph.h"

using namespace fusec;

namespace {

std::optional<Graph> parsed(const std::string& text) {
  Diagnostics diagnostics;
  return read_graph(SourceText("g.fusion.json", text), {}, diagnostics);
}

const Op* find_op(const Graph& graph, OpKind kind) {
  const auto it = std::find_if(graph.ops.begin(), graph.ops.end(), [&](const Op& op) { return op.kind == kind; });
  return it == graph.ops.end() ? nullptr : &*it;
}

// v0 → … → v39, a sum of v20 in the middle, and a shape that a reshape takes apart.
std::string long_graph() {
  std::string ops;
  for (int i = 0; i < 40; ++i)
    ops += R"({"op": ")" + std::string(i % 3 == 0 ? "neg" : "exp") + R"(", "in": [")" + (i == 0 ? "x" : "v" + std::to_string(i - 1)) +
           R"("], "note": "n", "out": "v)" + std::to_string(i) + "\"},\n";
  return R"({"version": 1, "name": "long", "doc": "words", "dims": {"R": {"size": 12, "dynamic": true, "max": 64}, "unused": 3},
 "inputs": [{"name": "x", "dtype": "f32", "shape": ["R", 768], "init": "uniform"}, {"name": "b", "dtype": "f32", "shape": [24, 32]}],
 "ops": [)" +
         ops + R"({"op": "reshape", "in": ["b"], "shape": [768], "out": "flat"},
 {"op": "add", "in": ["v20", "flat"], "out": "biased"},
 {"op": "sum", "in": ["biased"], "dims": [1], "keepdim": true, "out": "s"},
 {"op": "mul", "in": ["s", 3.5], "out": "t"}],
 "outputs": ["v39", "t", {"value": "v10", "alias": "x"}, "s"]})";
}

}  // namespace

TEST_CASE("a graph shrinks to the op that shows the fault") {
  const auto is_bad = [](const std::string& text) { return text.find("\"sum\"") != std::string::npos; };
  std::string kept;
  ReduceOptions options;
  options.keep = [&](const std::string& text) { kept = text; };
  const Reduction reduced = reduce_graph(long_graph(), is_bad, options);
  INFO(reduced.text);
  CHECK(reduced.ops_before == 44);
  CHECK(reduced.ops_after == 1);
  CHECK(reduced.tries < 200);
  CHECK(kept == reduced.text);
  const auto graph = parsed(reduced.text);
  REQUIRE(graph);
  CHECK(graph->inputs.size() == 1);
  CHECK(graph->outputs.size() == 1);
  CHECK(graph->symbols.empty());
  for (const char* gone : {"note", "doc", "unused", "init", "alias", "keepdim"}) CHECK(reduced.text.find(gone) == std::string::npos);
}

TEST_CASE("sizes shrink as far as the fault allows, through a reshape too") {
  // The row that is summed has at least ten elements, and the reshape is there.
  const auto is_bad = [](const std::string& text) {
    const auto graph = parsed(text);
    const Op* sum = graph ? find_op(*graph, OpKind::kSum) : nullptr;
    if (!sum || !find_op(*graph, OpKind::kReshape)) return false;
    const Size& row = (*graph)[sum->in[0].value].shape.back();
    return row.is_constant() && row.value() >= 10;
  };
  const Reduction reduced = reduce_graph(long_graph(), is_bad, {});
  INFO(reduced.text);
  CHECK(reduced.ops_after <= 3);
  const auto graph = parsed(reduced.text);
  REQUIRE(graph);
  CHECK((*graph)[find_op(*graph, OpKind::kSum)->in[0].value].shape.back().value() < 20);
}

TEST_CASE("a graph that breaks the rules loses parts, too") {
  const std::string text = R"({"version": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": [4]}, 7, {"name": 3}],
 "ops": [{"op": "neg", "in": ["x"], "out": "y"}, {"op": "nge", "in": ["y"], "out": "z"}, "op"], "outputs": ["z", "y", 1, {"value": 2}]})";
  const Reduction reduced = reduce_graph(text, [](const std::string& t) { return t.find("nge") != std::string::npos; }, {});
  INFO(reduced.text);
  CHECK(reduced.ops_after == 1);
  CHECK(reduced.text.find("\"outputs\": []") != std::string::npos);
  CHECK_THROWS_AS(reduce_graph("[1]", [](const std::string&) { return true; }, {}), Failure);
}

TEST_CASE("reducing ends when its tries are used up, and tries nothing twice") {
  std::vector<std::string> tried;
  ReduceOptions options;
  options.max_tries = 10;
  const Reduction reduced = reduce_graph(
      long_graph(),
      [&](const std::string& text) {
        CHECK(std::find(tried.begin(), tried.end(), text) == tried.end());
        tried.push_back(text);
        return text.find("v20") != std::string::npos;
      },
      options);
  CHECK(reduced.tries == 10);
  CHECK(tried.size() == 10);
}
