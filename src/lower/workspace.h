// Workspace buffers: when they are needed, and their offsets. Those whose lifetimes do not meet share memory.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/program.h"

namespace fusec {

// The first and the last kernel that names a buffer of the workspace; copies come after all kernels.
struct WorkspaceSpan {
  size_t first = std::numeric_limits<size_t>::max(), last = 0;
  void add(size_t k) { first = std::min(first, k), last = std::max(last, k); }
};

// Of each buffer. What phases keep in shared memory has none.
std::vector<WorkspaceSpan> spans_of_workspace(const Program& program, const std::vector<Kernel>& kernels,
                                              const std::vector<Launch>& copies);

// Sets offset, workspace_bytes and workspace_is_static. Offsets are multiples of 256.
void place_workspace(Program& program);

}  // namespace fusec
