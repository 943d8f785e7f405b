// Floating ops: those that are cheaper to evaluate again in every kernel that needs them than to store once. Their operands take no more
// bytes than their result (up-casts, views, constants, products with a scalar, …), so storing it never pays. All other ops are nodes:
// they belong to one kernel, and what crosses kernels is a node's result or a graph input.
#pragma once

#include <vector>

#include "segment/facts.h"

namespace fusec {

class Floating {
 public:
  // `pinned` ops are nodes whatever they cost.
  explicit Floating(const Facts& facts, const std::vector<OpId>& pinned = {});

  bool floats(OpId op) const { return floats_[op]; }
  bool is_node(OpId op) const { return facts_.needed(op) && !floats_[op]; }
  // The nodes and all floating ops that they need, in rank order.
  std::vector<OpId> closure(const std::vector<OpId>& nodes);

 private:
  void decide(OpId op);

  struct Leaf {
    ValueId value;
    int64_t bytes;  // touched when all of the floating value is evaluated
  };
  const Facts& facts_;
  IdVec<OpId, uint8_t> floats_;
  IdVec<OpId, float> instructions_;  // an element, operands included
  IdVec<OpId, std::vector<Leaf>> leaves_;
  IdVec<OpId, uint32_t> seen_;
  uint32_t stamp_ = 0;
};

}  // namespace fusec
