// What every pass does: walk the ops of one graph in order and build the next.
#pragma once

#include "graph/graph.h"

namespace fusec {

class Rebuild {
 public:
  // `to` starts with everything but ops and outputs.
  explicit Rebuild(const Graph& graph);

  const Graph& from;
  Graph to;

  // The value of `to` that stands for a value of `from`.
  ValueId mapped(ValueId value) const { return map_[value]; }
  Operand mapped(const Operand& operand) const;
  void map(ValueId value, ValueId to_value) { map_[value] = to_value; }
  // An op as it was, on mapped operands; of its results only the wanted ones, when given.
  OpId copy(OpId id, const IdVec<ValueId, char>* wanted = nullptr);
  // Sets the outputs and hands the graph over.
  Graph finish();

 private:
  IdVec<ValueId, ValueId> map_;
};

}  // namespace fusec
