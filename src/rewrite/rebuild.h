// Takes a graph apart, op by op in order, and puts the next one together. What stays as it was is moved, not copied.
#pragma once

#include "graph/graph.h"

namespace fusec {

class Rebuild {
 public:
  // `to` starts with everything but ops and outputs.
  explicit Rebuild(Graph graph);

  Graph from;  // ops from the next one on; values that were moved are hollow
  Graph to;

  // The value of `to` that stands for a value of `from`.
  ValueId mapped(ValueId value) const;
  Operand mapped(const Operand& operand) const { return operand.is_value() ? Operand{mapped(operand.value), {}} : operand; }
  void map(ValueId value, ValueId to_value) { map_[value] = to_value; }
  // The op as it was, on mapped operands; of its results only the wanted ones, when given.
  OpId move(OpId id, const IdVec<ValueId, char>* wanted = nullptr);
  // Sets the outputs and hands the graph over.
  Graph finish();

 private:
  IdVec<ValueId, ValueId> map_;
};

}  // namespace fusec
