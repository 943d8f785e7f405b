// Values that need fewer bits than their type has.
#pragma once

#include "graph/graph.h"

namespace fusec {

// Per op: true for an f32 exp that is only seen rounded to 16 bits or fewer, after products, quotients and sums of exponentials alone, all
// of which keep its relative error; for a quotient of such a value; and for an f32 erf to which only numbers of at least 1 are added. A
// property of the graph: how it is cut changes nothing.
IdVec<OpId, bool> find_coarse_ops(const Graph& graph);

}  // namespace fusec
