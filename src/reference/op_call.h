// One op of a graph with its operands' values: what the evaluators of the op categories take.
#pragma once

#include <string>
#include <vector>

#include "data/tensor.h"
#include "graph/graph.h"
#include "reference/view.h"

namespace fusec::reference {

struct OpCall {
  const Graph& graph;
  const Op& op;
  const Attrs& attrs;
  std::vector<const Tensor*> in;  // null for literals and absent operands

  // The dtype and extents of result `i`, which must be needed.
  DType dtype(size_t i = 0) const { return graph[op.out[i]].dtype; }
  Extents shape(size_t i = 0) const;
  // "'T5' (scatter)", for messages.
  std::string name() const;
};

// Extents of a shape without symbols.
Extents extents_of(const Shape& shape);

// Each returns the op's results in order; results that nobody needs may be empty tensors.
std::vector<Tensor> evaluate_elementwise(const OpCall& call);
std::vector<Tensor> evaluate_conversion(const OpCall& call);
std::vector<Tensor> evaluate_shape(const OpCall& call);
std::vector<Tensor> evaluate_creation(const OpCall& call);
std::vector<Tensor> evaluate_reduction(const OpCall& call);
std::vector<Tensor> evaluate_scan(const OpCall& call);
std::vector<Tensor> evaluate_sort(const OpCall& call);
std::vector<Tensor> evaluate_gather(const OpCall& call);
std::vector<Tensor> evaluate_scatter(const OpCall& call);

}  // namespace fusec::reference
