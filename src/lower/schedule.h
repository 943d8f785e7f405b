// How the parts of a pointwise kernel are spread over the machine: merged dimensions, vector lanes, repeated work per thread,
// transposes through shared memory. Each step rewrites the part's indices; what is computed never changes.
#pragma once

#include <string>
#include <utility>

#include "kernel/kernel.h"
#include "segment/target.h"

namespace fusec {

// Merges neighbouring dimensions (of the part's, or of its sweep's) that every access walks as one.
void merge_dims(Part& part, std::vector<AtomId>& dims);
inline void merge_dims(Part& part) { merge_dims(part, part.dims); }

// Vector width by the accesses whose index runs with `v`, one element a step; 1 when there are none.
int preferred_vector(const Part& part, const Kernel& kernel, AtomId v);
// True if `width` neighbouring values of `v` answer every guard alike.
bool guards_uniform(const Part& part, AtomId v, int width);
// The last of `dims` becomes a variable that counts vectors of `width`, and a lane.
void apply_vector(Part& part, std::vector<AtomId>& dims, int width);

// In every index, `v` becomes outer · inner_extent + inner, which divides its extent: { outer, inner }, for the caller to put among the
// dims.
std::pair<AtomId, AtomId> split_variable(Part& part, AtomId v, int inner_extent, const std::string& inner_name);

// True when the innermost extent forbids wide vectors that the row-major order of all elements would allow.
bool wants_linear(const Part& part, const Kernel& kernel);

// The blocks of `block` threads that cover a part's vectors. (With a tail, grid.elems counts its elements already.)
GridTerm grid_of(const Part& part, int block);

// A part that sets so many elements to one value.
void add_fill(BufferId buffer, const Size& extent, const Literal& value, Part part, Kernel& kernel);
// So many 32-bit integers to 0.
void add_zeros(BufferId buffer, const Size& extent, Part part, Kernel& kernel);

// Chooses vector width, unrolling, tiles, index width and the grid of every part, and the block size.
void schedule_parts(const Graph& graph, const Target& target, Kernel& kernel);

}  // namespace fusec
