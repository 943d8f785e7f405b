// The inputs of a run: taken from a file by name, generated per `init` where the file has none; and dims bound from their shapes.
#pragma once

#include <optional>
#include <vector>

#include "data/tensor.h"
#include "graph/graph.h"

namespace fusec {

// Symbol values: from the given tensors' shapes, else the symbols' typical sizes. Failure(kBadInput) when shapes disagree
// with the graph or with each other, or a promise (multiple_of, max, constraints) is broken.
SymbolValues bind_symbols(const Graph& graph, const NamedTensors& given);

// One tensor per graph input, in order. `graph` is bound (no symbols). Generated data depends on (seed, input name) alone.
std::vector<Tensor> make_inputs(const Graph& graph, const NamedTensors& given, uint64_t seed);

}  // namespace fusec
