// `run --device cpu`, and what `run --verify` compares with: the reference on a graph as it was read.
#pragma once

#include <vector>

#include "data/tensor.h"
#include "graph/graph.h"

namespace fusec {

// `graph` is bound. Expands composites and evaluates; one tensor per output, in order.
std::vector<Tensor> run_on_cpu(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace fusec
