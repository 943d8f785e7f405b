// What passes through a kernel once need not stay in the L2 cache, where a later launch looks for what was stored between them.
#pragma once

#include <vector>

#include "kernel/kernel.h"
#include "kernel/program.h"
#include "segment/target.h"

namespace fusec {

// Sets Buffer::streamed while values in workspace wait for a later launch that the L2 cache can hold, of typical sizes.
void mark_streams(const Program& program, const Symbols& symbols, const Target& target, std::vector<Kernel>& kernels);

}  // namespace fusec
