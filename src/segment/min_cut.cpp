#include "segment/min_cut.h"

#include <algorithm>

namespace fusec {

namespace {
constexpr double kEpsilon = 1e-9;
}

uint32_t MinCut::add_node() {
  out_.emplace_back();
  return static_cast<uint32_t>(out_.size() - 1);
}

void MinCut::add_edge(uint32_t from, uint32_t to, double capacity) {
  out_[from].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  out_[to].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::find_levels(uint32_t source, uint32_t sink) {
  level_.assign(out_.size(), -1);
  level_[source] = 0;
  std::vector<uint32_t> queue{source};
  for (size_t n = 0; n < queue.size(); ++n)
    for (uint32_t e : out_[queue[n]])
      if (edges_[e].capacity > kEpsilon && level_[edges_[e].to] < 0) {
        level_[edges_[e].to] = level_[queue[n]] + 1;
        queue.push_back(edges_[e].to);
      }
  return level_[sink] >= 0;
}

double MinCut::push(uint32_t node, uint32_t sink, double limit) {
  if (node == sink) return limit;
  for (size_t& n = next_[node]; n < out_[node].size(); ++n) {
    Edge& edge = edges_[out_[node][n]];
    if (edge.capacity <= kEpsilon || level_[edge.to] != level_[node] + 1) continue;
    const double flow = push(edge.to, sink, std::min(limit, edge.capacity));
    if (flow <= 0) continue;
    edge.capacity -= flow;
    edges_[out_[node][n] ^ 1].capacity += flow;
    return flow;
  }
  return 0;
}

double MinCut::solve(uint32_t source, uint32_t sink) {
  double total = 0;
  while (total < kInfinite / 2 && find_levels(source, sink)) {
    next_.assign(out_.size(), 0);
    while (const double flow = push(source, sink, kInfinite)) total += flow;
  }
  // What cannot reach the sink any more lies on the source's side.
  std::vector<uint8_t> reaches(out_.size());
  std::vector<uint32_t> queue{sink};
  reaches[sink] = 1;
  for (size_t n = 0; n < queue.size(); ++n)
    for (uint32_t e : out_[queue[n]])
      if (edges_[e ^ 1].capacity > kEpsilon && !reaches[edges_[e].to]) {
        reaches[edges_[e].to] = 1;
        queue.push_back(edges_[e].to);
      }
  source_side_.resize(out_.size());
  for (size_t n = 0; n < out_.size(); ++n) source_side_[n] = !reaches[n];
  return total;
}

}  // namespace fusec
