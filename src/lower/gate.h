// The gate before lowering: refuses, by name and place, what this version has no kernel for.
#pragma once

#include "graph/graph.h"
#include "support/diag.h"

namespace fusec {

void check_lowerable(const Graph& graph, Diagnostics& diagnostics);
// With --deterministic: refuses updates whose order shows in the result and is left to the machine.
void check_deterministic(const Graph& graph, Diagnostics& diagnostics);

}  // namespace fusec
