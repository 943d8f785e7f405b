// Graphs for the segmentation tests: from JSON text, and random ones.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "catch.h"
#include "graph/builder.h"
#include "parser/read_graph.h"
#include "segment/segment.h"

namespace fusec::testing {

inline Graph read(const std::string& json) {
  const SourceText source("test.fusion.json", json);
  Diagnostics diagnostics;
  auto graph = read_graph(source, {}, diagnostics);
  INFO(render(diagnostics, source, false));
  REQUIRE(graph.has_value());
  return *graph;
}

// "inputs" and "ops" as JSON lists, outputs by name.
inline Graph graph(const std::string& inputs, const std::string& ops, const std::string& outputs) {
  return read(R"({"version": 1, "name": "g", "inputs": [)" + inputs + R"(], "ops": [)" + ops + R"(], "outputs": [)" + outputs + "]}");
}

inline OpId op(const Graph& g, const std::string& name) {
  for (size_t i = 0; i < g.ops.size(); ++i)
    if (g.name_of(OpId(i)) == name) return OpId(i);
  FAIL("no op " + name);
  return {};
}

inline std::set<std::string> names(const Graph& g, const std::vector<OpId>& ops) {
  std::set<std::string> set;
  for (OpId id : ops) set.insert(g.name_of(id));
  return set;
}

inline std::set<std::string> edge_names(const Graph& g, const Segmentation& s) {
  std::set<std::string> set;
  for (const Edge& e : s.edges) set.insert(g[e.value].name);
  return set;
}

// Segmented for an H200, and verified.
inline Segmentation segment_h200(const Graph& g) {
  Segmentation s = segment(g, target_for("sm_90"));
  verify(g, s);
  return s;
}

// The same graph with its ops in another topological order.
inline Graph shuffled(const Graph& g, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<size_t> left(g.ops.size()), ready, order;
  for (size_t i = 0; i < g.ops.size(); ++i) {
    for (const Operand& o : g.ops[OpId(i)].in) left[i] += o.is_value() && g[o.value].def.valid();
    if (left[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const size_t pick = random() % ready.size();
    const size_t at = ready[pick];
    ready.erase(ready.begin() + static_cast<long>(pick));
    order.push_back(at);
    for (size_t i = 0; i < g.ops.size(); ++i)
      for (const Operand& o : g.ops[OpId(i)].in)
        if (o.is_value() && g[o.value].def == OpId(at) && --left[i] == 0) ready.push_back(i);
  }
  Graph out = g;
  for (size_t n = 0; n < order.size(); ++n) {
    out.ops[OpId(n)] = g.ops[OpId(order[n])];
    for (ValueId v : out.ops[OpId(n)].out)
      if (v.valid()) out.values[v].def = OpId(n);
  }
  return out;
}

// A random graph of casts, arithmetic, views, reductions, scans and scatters over a few axes.
Graph random_graph(unsigned seed, size_t ops);

}  // namespace fusec::testing
