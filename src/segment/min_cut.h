// Maximum flow, minimum cut (Dinic) on small graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fusec {

class MinCut {
 public:
  static constexpr double kInfinite = 1e18;

  uint32_t add_node();
  void add_edge(uint32_t from, uint32_t to, double capacity);
  // After it, on_source_side says where each node is; the cut nearest the sink is found.
  double solve(uint32_t source, uint32_t sink);
  bool on_source_side(uint32_t node) const { return source_side_[node] != 0; }

 private:
  struct Edge {
    uint32_t to;
    double capacity;
  };
  bool find_levels(uint32_t source, uint32_t sink);
  double push(uint32_t node, uint32_t sink, double limit);

  std::vector<Edge> edges_;  // edge e and its reverse e ^ 1
  std::vector<std::vector<uint32_t>> out_;
  std::vector<int> level_;
  std::vector<size_t> next_;
  std::vector<uint8_t> source_side_;
};

}  // namespace fusec
