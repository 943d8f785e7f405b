// A topological order of ops that keeps the file's order wherever the data allow it, and the cycles that prevent one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fusec {

class OpOrder {
 public:
  explicit OpOrder(size_t ops) : users_(ops), waits_for_(ops, 0) {}
  // `user` reads a result of `producer`; repeated edges are allowed.
  void add_edge(uint32_t producer, uint32_t user);
  // Always the first op of the file whose operands are there; without the ops on cycles and those behind them.
  const std::vector<uint32_t>& sorted();
  // One cycle of each knot: op i reads a result of op i + 1, the last one of the first.
  std::vector<std::vector<uint32_t>> cycles();

 private:
  std::vector<std::vector<uint32_t>> users_;
  std::vector<uint32_t> waits_for_;
  std::vector<uint32_t> sorted_;
  bool done_ = false;
};

}  // namespace fusec
