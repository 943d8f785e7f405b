// What every pass keeps: the invariants of the graph, the values of its outputs, and a place for every op as written.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "catch.h"
#include "data/inputs.h"
#include "reference/evaluate.h"
#include "rewrite/rewrite.h"
#include "unit/rewrite/random_graph.h"

using namespace fusec;

namespace {

struct NamedPass {
  const char* name;
  Graph (*run)(Graph, RewriteLog&);
};
constexpr NamedPass kPasses[] = {{"expand_composites", expand_composites},     {"remove_dead_ops", remove_dead_ops},
                                 {"fold_constants", fold_constants},           {"simplify", simplify},
                                 {"invert_permutations", invert_permutations}, {"share_equal_ops", share_equal_ops},
                                 {"remove_dead_ops", remove_dead_ops}};

// Every NaN as one: its sign and payload mean nothing.
std::vector<double> numbers(const Tensor& t) {
  Graph one;
  Builder builder(one);
  Shape shape;
  for (int64_t n : t.shape) shape.push_back(n);
  const ValueId x = builder.input("x", t.dtype, shape);
  builder.output(builder.value(OpKind::kCast, {operand(x)}, "y", nullptr, DType::kF64));
  const Tensor wide = evaluate(one, {t})[0];
  std::vector<double> out(wide.as<double>(), wide.as<double>() + wide.elems());
  return out;
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  const std::vector<double> x = numbers(a), y = numbers(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](double p, double q) { return std::isnan(p) ? std::isnan(q) : p == q && std::signbit(p) == std::signbit(q); });
}

std::set<std::string> names_of_ops(const Graph& graph) {
  std::set<std::string> names;
  for (size_t i = 0; i < graph.ops.size(); ++i) names.insert(graph.name_of(OpId(i)));
  return names;
}

// The same graph with its ops in another topological order.
Graph reordered(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  Graph out = graph;
  std::vector<size_t> left(graph.ops.size());
  std::iota(left.begin(), left.end(), size_t{0});
  std::vector<bool> placed(graph.ops.size());
  auto ready = [&](size_t i) {
    const Op& op = graph.ops[OpId(i)];
    return std::all_of(op.in.begin(), op.in.end(),
                       [&](const Operand& o) { return !o.is_value() || !graph[o.value].def.valid() || placed[graph[o.value].def.index]; });
  };
  for (size_t at = 0; at < graph.ops.size(); ++at) {
    std::shuffle(left.begin(), left.end(), random);
    const auto next = std::find_if(left.begin(), left.end(), ready);
    out.ops[OpId(at)] = graph.ops[OpId(*next)];
    for (ValueId v : out.ops[OpId(at)].out)
      if (v.valid()) out.values[v].def = OpId(at);
    placed[*next] = true;
    left.erase(next);
  }
  return out;
}

}  // namespace

TEST_CASE("how much is left does not depend on the order of the ops") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    Graph first = RandomGraph(seed).make(30), second = reordered(first, seed);
    RewriteLog log_of_first, log_of_second;
    for (const NamedPass& pass : kPasses) {
      first = pass.run(std::move(first), log_of_first);
      second = pass.run(std::move(second), log_of_second);
    }
    verify(second);
    REQUIRE(first.ops.size() == second.ops.size());
    REQUIRE(log_of_first.merged.size() == log_of_second.merged.size());
  }
}

TEST_CASE("passes keep what a graph computes, and account for every op") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Graph graph = RandomGraph(seed).make(4 + seed % 40);
    CAPTURE(seed);
    verify(graph);
    const std::vector<Tensor> inputs = make_inputs(graph, {}, seed), expected = evaluate(graph, inputs);
    RewriteLog log;
    std::set<std::string> needed;
    for (const NamedPass& pass : kPasses) {
      CAPTURE(pass.name);
      graph = pass.run(std::move(graph), log);
      verify(graph);
      const std::vector<Tensor> got = evaluate(graph, inputs);
      REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i) REQUIRE(same(got[i], expected[i]));
      if (needed.empty() && pass.run == remove_dead_ops) needed = names_of_ops(graph);
    }
    const std::set<std::string> left = names_of_ops(graph);
    for (const std::string& name : needed) {
      CAPTURE(name);
      REQUIRE(left.contains(log.standing_for(name)));
    }
  }
}
