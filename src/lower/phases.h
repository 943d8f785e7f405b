// Kernels that each are little work → one kernel of one block: what were kernels are phases with barriers between them, and what only they
// pass on stays in shared memory. Launches are made after this; workspace is placed after it.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "kernel/program.h"
#include "segment/target.h"

namespace fusec {

// Joins kernels that follow each other within a segment, where one block is no slower than the launches that go. `copies` are what is
// launched after all kernels. Workspace that nothing reaches any more is dropped.
void join_phases(const Graph& graph, const Target& target, Program& program, std::vector<Kernel>& kernels, std::vector<Launch>& copies);

}  // namespace fusec
