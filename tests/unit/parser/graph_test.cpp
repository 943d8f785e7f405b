#include <algorithm>
#include <random>

#include "catch.h"
#include "graph/print.h"
#include "parser/op_order.h"
#include "parser/read_graph.h"
#include "parser/write_graph.h"
#include "unit/parser/samples.h"

using namespace fusec;

namespace {

Graph read(const std::string& text, const ReadOptions& options = {}) {
  const SourceText source("dir/sample-1.fusion.json", text);
  Diagnostics diagnostics;
  const auto graph = read_graph(source, options, diagnostics);
  INFO(render(diagnostics, source, false));
  REQUIRE(graph);
  return *graph;
}

// Places say where something stood, not what it is.
Graph without_places(Graph g) {
  for (Value& v : g.values) v.at = {};
  for (Op& o : g.ops) o.at = {};
  for (Input& i : g.inputs) i.at = {};
  for (Output& o : g.outputs) o.at = {};
  for (Graph::Constraint& c : g.constraints) c.at = {};
  return g;
}

const Value& value(const Graph& g, const std::string& name) {
  for (const Value& v : g.values)
    if (v.name == name) return v;
  FAIL("no value " << name);
  return g.values[ValueId(0)];
}

std::string shape(const Graph& g, const std::string& name) { return to_string(value(g, name).shape, g.symbols); }

}  // namespace

TEST_CASE("a graph is what its text says", "[parser]") {
  const Graph g = read(samples::kElementwise);
  CHECK(g.name == "mix");
  CHECK(g.inputs.size() == 5);
  CHECK(value(g, "x").dtype == DType::kBF16);
  CHECK(shape(g, "x") == "[48,4]");
  CHECK(g.inputs[2].scalar);
  CHECK(g.inputs[2].scalar_value == Literal{0.125});
  CHECK(g.inputs[3].strides == std::vector<int64_t>{4, 1});
  CHECK(g.ops[OpId(0)].kind == OpKind::kCast);  // `add` stood first and had to wait
  CHECK(g.ops[OpId(1)].kind == OpKind::kAdd);
  std::vector<std::string> outputs;
  for (const Output& o : g.outputs) outputs.push_back(o.name);
  CHECK(outputs == std::vector<std::string>{"g", "acc2", "b", "ks", "g#2", "g#3", "x"});
  CHECK(g.outputs[1].alias == 4u);
  CHECK(g.outputs[1].strides == std::vector<int64_t>{1, 64});  // the memory's own
  CHECK(g.outputs[5].strides == std::vector<int64_t>{1, 48});
}

TEST_CASE("places of ops, values and outputs point into the text", "[parser]") {
  const std::string text = samples::kElementwise;
  const Graph g = read(text);
  auto at = [&](Span s) { return text.substr(s.begin, s.end - s.begin); };
  for (const Op& op : g.ops) CHECK(at(op.at) == "\"" + std::string(name_of(op.kind)) + "\"");
  for (const Value& v : g.values) CHECK(at(v.at) == "\"" + v.name + "\"");
  for (const Output& o : g.outputs) CHECK(at(o.at) == "\"" + g[o.value].name + "\"");
}

TEST_CASE("dynamic sizes stay symbols, --dim replaces sizes", "[parser]") {
  const Graph g = read(samples::kShapes);
  CHECK(g.name == "sample_1");
  REQUIRE(g.symbols.size() >= 2);
  CHECK(g.symbols[SymbolId(0)].name == "B");
  CHECK(g.symbols[SymbolId(0)].max == 64);
  CHECK(g.symbols[SymbolId(1)].multiple_of == 16);
  CHECK(shape(g, "x") == "[B*S,8]");
  CHECK(shape(g, "p") == "[B,2,S,4]");
  const Graph h = read(samples::kShapes, {{{"S", 48}, {"D", 16}}});
  CHECK(h.symbols[SymbolId(1)].typical == 48);
  CHECK(shape(h, "p") == "[B,2,S,8]");
}

TEST_CASE("read(write(g)) is g", "[parser]") {
  for (const char* text : samples::kAll) {
    const Graph g = read(text);
    const std::string written = write_graph(g);
    INFO(written);
    const Graph back = read(written);
    CHECK(without_places(back) == without_places(g));
    CHECK(write_graph(back) == written);
  }
}

TEST_CASE("a graph is printed for people and for Graphviz", "[parser]") {
  const std::string text = print(read(samples::kElementwise));
  CHECK(text.find("  xf: f32[48,4] = cast(x)\n") != std::string::npos);
  CHECK(text.find("  c: f32[48,4] = where(m, f, nan)\n") != std::string::npos);
  CHECK(text.find("  g: f32[48,4] = gelu(c, approximate=tanh)\n") != std::string::npos);
  CHECK(text.find("  output acc2 strides [1,64] over input acc\n") != std::string::npos);
  const std::string reduce = print(read(samples::kReductions));
  CHECK(reduce.find("  s1: f64[6,1] = mean(x, dims=[1], keepdim=true, dtype=f64)\n") != std::string::npos);
  CHECK(reduce.find("  _, si: i64[6,10] = sort(x, dim=1, descending=true)\n") != std::string::npos);
  for (const char* sample : samples::kAll) {
    const std::string dot = print_dot(read(sample));
    CHECK(dot.starts_with("digraph \""));
    CHECK(std::count(dot.begin(), dot.end(), '{') == std::count(dot.begin(), dot.end(), '}'));
  }
}

TEST_CASE("ops keep the file's order wherever the data allow it", "[parser]") {
  OpOrder order(5);
  order.add_edge(4, 1);
  order.add_edge(1, 0);
  order.add_edge(1, 0);
  CHECK(order.sorted() == std::vector<uint32_t>{2, 3, 4, 1, 0});
  CHECK(order.cycles().empty());
}

TEST_CASE("each cycle is found once, without what hangs on it", "[parser]") {
  OpOrder order(8);
  order.add_edge(0, 1);  // 0 is fine, 1 → 2 → 3 → 1, 4 hangs on it; 5 reads itself; 6 ↔ 7
  order.add_edge(3, 1);
  order.add_edge(1, 2);
  order.add_edge(2, 3);
  order.add_edge(3, 4);
  order.add_edge(5, 5);
  order.add_edge(6, 7);
  order.add_edge(7, 6);
  CHECK(order.sorted() == std::vector<uint32_t>{0});
  CHECK(order.cycles() == std::vector<std::vector<uint32_t>>{{1, 3, 2}, {5}, {6, 7}});
}

TEST_CASE("the order of the ops in the file changes their order only", "[parser]") {
  const std::string text = samples::kReductions;
  const size_t begin = text.find("\"ops\": [\n") + 9, end = text.find("\n  ],\n  \"outputs\"");
  std::vector<std::string> lines;
  for (size_t at = begin; at < end;) {
    size_t stop = std::min(text.find("},\n", at), end);
    if (stop < end) ++stop;
    lines.push_back(text.substr(at, stop - at));
    at = stop + 2;
  }
  std::mt19937 random(7);
  auto printed_lines = [](const Graph& g) {
    std::vector<std::string> all;
    const std::string printed = print(g);
    for (size_t at = 0; at < printed.size();) {
      const size_t stop = printed.find('\n', at);
      all.push_back(printed.substr(at, stop - at));
      at = stop + 1;
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto expected = printed_lines(read(text));
  for (int round = 0; round < 10; ++round) {
    std::shuffle(lines.begin(), lines.end(), random);
    std::string ops;
    for (const std::string& line : lines) ops += (ops.empty() ? "" : ",\n") + line;
    CHECK(printed_lines(read(text.substr(0, begin) + ops + text.substr(end))) == expected);
  }
}
