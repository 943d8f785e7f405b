// How the parts of a pointwise kernel are spread over the machine: merged dimensions, vector lanes, repeated work per thread,
// transposes through shared memory. Each step rewrites the part's indices; what is computed never changes.
#pragma once

#include "kernel/kernel.h"
#include "segment/target.h"

namespace fusec {

// Merges neighbouring dimensions that every access walks as one.
void merge_dims(Part& part);

// True when the innermost extent forbids wide vectors that the row-major order of all elements would allow.
bool wants_linear(const Part& part, const Kernel& kernel);

// Chooses vector width, unrolling, tiles, index width and the grid of every part, and the block size.
void schedule_parts(const Graph& graph, const Target& target, Kernel& kernel);

}  // namespace fusec
