// Which inputs of a graph are indices, and into how much.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/graph.h"

namespace fusec {

// For each value that feeds nothing but index operands (through views, copies and integer casts, too): the least extent that it indexes.
IdVec<ValueId, std::optional<int64_t>> index_ranges(const Graph& bound_graph);

}  // namespace fusec
