// The invariants of a Graph, and the shape and dtype rules of every op.
#pragma once

#include "graph/graph.h"
#include "support/diag.h"

namespace fusec {

// Fills in the dtype and shape of `op`'s results from its operands and attributes, normalizes its attributes (see Attrs) and
// reports what is wrong with it. The results' Value entries must exist. Returns false when an error was reported.
bool infer_op(Graph& graph, OpId op, Diagnostics& diagnostics);

// Checks every invariant of a graph that a pass made: operand order, single assignment, dtypes and shapes as infer_op gives
// them, outputs and aliases. Failures are bugs of ours: FUSEC_CHECK.
void verify(const Graph& graph);

}  // namespace fusec
