// The CPU reference: evaluates a graph op by op, exactly as the format says. The oracle of every test and `run --device cpu`.
// It shares nothing with lowering but the op table.
#pragma once

#include <vector>

#include "data/tensor.h"
#include "graph/graph.h"

namespace fusec {

// `graph` has no symbols; inputs in the graph's order. Returns one tensor per graph output, in order.
// Failure(kRefused) for an index out of range, naming op, position, index and range.
std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace fusec
