#include "segment/segment.h"

#include <algorithm>
#include <queue>

#include "segment/bind_together.h"
#include "segment/cast_groups.h"
#include "segment/clusters.h"
#include "segment/explain.h"
#include "segment/materialize.h"
#include "segment/merge.h"
#include "support/check.h"

namespace fusec {

const char* name_of(SegmentKind kind) {
  constexpr const char* names[] = {"pointwise", "transpose", "reduction", "persistent", "scan", "sort", "scatter", "library"};
  return names[static_cast<size_t>(kind)];
}

namespace {

// Kernels that write each value, and that read it.
struct Traffic {
  explicit Traffic(const Facts& facts, const std::vector<PlannedKernel>& kernels)
      : writer(facts.graph.values.size(), UINT32_MAX), readers(facts.graph.values.size()) {
    for (size_t k = 0; k < kernels.size(); ++k) {
      for (ValueId v : kernels[k].writes) writer[v] = static_cast<uint32_t>(k);
      for (ValueId v : kernels[k].reads) readers[v].push_back(static_cast<uint32_t>(k));
    }
  }
  IdVec<ValueId, uint32_t> writer;
  IdVec<ValueId, std::vector<uint32_t>> readers;
};

// Launch order: topological; of those that are ready the one with the lowest rank. A kernel that overwrites an input waits for the
// input's other readers where that closes no cycle.
std::vector<uint32_t> launch_order(const Facts& facts, const std::vector<PlannedKernel>& kernels, const Traffic& traffic) {
  std::vector<std::vector<uint32_t>> next(kernels.size());
  std::vector<uint32_t> waiting(kernels.size());
  auto edge = [&](uint32_t from, uint32_t to) {
    next[from].push_back(to);
    ++waiting[to];
  };
  for (size_t k = 0; k < kernels.size(); ++k)
    for (ValueId v : kernels[k].reads)
      if (traffic.writer[v] != UINT32_MAX) edge(traffic.writer[v], static_cast<uint32_t>(k));
  auto reaches = [&](uint32_t from, uint32_t to) {
    std::vector<uint8_t> seen(kernels.size());
    std::vector<uint32_t> stack{from};
    while (!stack.empty()) {
      const uint32_t at = stack.back();
      stack.pop_back();
      if (at == to) return true;
      if (seen[at]) continue;
      seen[at] = 1;
      stack.insert(stack.end(), next[at].begin(), next[at].end());
    }
    return false;
  };
  for (const Output& o : facts.graph.outputs) {
    const uint32_t writer = o.alias ? traffic.writer[o.value] : UINT32_MAX;
    if (writer == UINT32_MAX) continue;
    for (uint32_t reader : traffic.readers[facts.graph.inputs[*o.alias].value])
      if (reader != writer && !reaches(writer, reader)) edge(reader, writer);
  }
  using Ready = std::pair<uint32_t, uint32_t>;  // rank, kernel
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  // The first op that the kernel alone stores something of: recomputed ops would give it another kernel's rank.
  auto rank_of = [&](uint32_t k) {
    uint32_t rank = UINT32_MAX;
    for (ValueId v : kernels[k].writes) rank = std::min(rank, facts.rank(facts.graph[v].def));
    return rank;
  };
  for (uint32_t k = 0; k < kernels.size(); ++k)
    if (waiting[k] == 0) ready.push({rank_of(k), k});
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t k = ready.top().second;
    ready.pop();
    order.push_back(k);
    for (uint32_t n : next[k])
      if (--waiting[n] == 0) ready.push({rank_of(n), n});
  }
  FUSEC_CHECK(order.size() == kernels.size(), "the kernels form a cycle");
  return order;
}

std::vector<Segment> make_segments(const Facts& facts, Clusters& clusters, const std::vector<PlannedKernel>& kernels) {
  // An op is at home in the kernel that it was merged into, if that still evaluates it; else in the first that does.
  IdVec<OpId, uint32_t> home(facts.graph.ops.size(), UINT32_MAX);
  for (uint32_t k = 0; k < kernels.size(); ++k)
    for (OpId op : kernels[k].ops)
      if (clusters.floating().is_node(op) && clusters.of(op) == clusters.root(kernels[k].cluster)) home[op] = k;
  for (uint32_t k = 0; k < kernels.size(); ++k)
    for (OpId op : kernels[k].ops)
      if (home[op] == UINT32_MAX) home[op] = k;
  std::vector<Segment> segments;
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    Segment s;
    s.kind = kernels[k].plan.kind;
    for (OpId op : kernels[k].ops) (home[op] == k ? s.ops : s.recomputed).push_back(op);
    s.inputs = kernels[k].reads;
    s.outputs = kernels[k].writes;
    segments.push_back(std::move(s));
  }
  return segments;
}

std::vector<Edge> make_edges(Explainer& explainer, const std::vector<PlannedKernel>& kernels, const Traffic& traffic) {
  std::vector<Edge> edges;
  for (uint32_t k = 0; k < kernels.size(); ++k)
    for (ValueId v : kernels[k].writes) {
      if (traffic.readers[v].empty()) continue;
      Edge e{v, k, traffic.readers[v], "", ""};
      std::vector<std::string> reasons;
      for (uint32_t to : e.to) {
        Refusal reason = explainer.why_crosses(v, kernels[k].cluster, kernels[to].cluster);
        if (e.rule.empty()) e.rule = name_of(reason.rule);
        if (std::find(reasons.begin(), reasons.end(), reason.words) == reasons.end()) reasons.push_back(std::move(reason.words));
        if (reasons.size() == 3) break;
      }
      for (const std::string& r : reasons) e.why += (e.why.empty() ? "" : "; ") + r;
      edges.push_back(std::move(e));
    }
  return edges;
}

}  // namespace

Segmentation segment(const Graph& graph, const Target& target) { return segment(graph, target, {}).segmentation; }

ForcedSegmentation segment(const Graph& graph, const Target& target, const Forced& forced) {
  const Facts facts(graph);
  Clusters clusters(facts, target, forced.apart, forced.stored);
  ForcedSegmentation result;
  for (const std::vector<OpId>& set : forced.together) result.together.push_back(bind_together(clusters, set));
  MergeSearch search(clusters);
  const std::vector<CastGroup> groups = find_cast_groups(facts);
  search.merge_groups(groups, !forced.random_seed);
  if (forced.random_seed) {
    search.merge_at_random(*forced.random_seed);
  } else {
    search.merge_chains();
    search.merge_neighbours();
    search.merge_unrelated();
  }
  std::vector<PlannedKernel> kernels = materialize(clusters);
  const std::vector<uint32_t> order = launch_order(facts, kernels, Traffic(facts, kernels));
  std::vector<PlannedKernel> ordered;
  for (uint32_t k : order) ordered.push_back(std::move(kernels[k]));
  const Traffic traffic(facts, ordered);
  Explainer explainer(clusters, forced.random_seed.has_value());
  Segmentation& made = result.segmentation;
  made.segments = make_segments(facts, clusters, ordered);
  made.edges = make_edges(explainer, ordered, traffic);
  made.cast_groups = explainer.settle_groups(groups, made.segments, ordered);
  return result;
}

}  // namespace fusec
