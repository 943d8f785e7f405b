// What the L2 cache should keep. What passes through a kernel once need not stay there while a later launch looks for what was stored
// between them, nor beside a large target of updates that come in any order. Where a kernel moves more than the cache holds, what it reads
// should: then written lines leave early and in order.
#pragma once

#include <vector>

#include "kernel/kernel.h"
#include "kernel/program.h"
#include "segment/target.h"

namespace fusec {

// Sets Buffer::cache, for typical sizes: kOnce while values that the cache can hold wait in workspace for a later launch, and for what
// updates of a target are made of that would push it out.
void mark_streams(const Program& program, const Graph& graph, const Target& target, std::vector<Kernel>& kernels);

}  // namespace fusec
