// The gate before lowering: refuses, by name and place, what this version has no kernel for.
#pragma once

#include "graph/graph.h"
#include "support/diag.h"

namespace fusec {

void check_lowerable(const Graph& graph, Diagnostics& diagnostics);
// With --deterministic: refuses products of floats that make_deterministic leaves in the order in which updates arrive.
void check_deterministic(const Graph& graph, Diagnostics& diagnostics);

}  // namespace fusec
