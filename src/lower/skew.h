// Rows that do not start on a vector's boundary, or not all of them: row-major tensors with an odd number of columns. Vectors that keep to
// memory's alignment serve them as well as others, but for the first and the last of a row:
//   x[i · 5003 + j], j < 5003   →   x[8 · ((i · 5003) / 8 + v) + lane], j = 8 · v + lane − (i · 5003) mod 8
// Where a block takes rows in turns, for sums of columns, all of them start alike: its turns are a number of rows that fills whole vectors.
// Operands that start elsewhere, such as weights that all rows share, are shifted into place out of the aligned pieces that hold them.
#pragma once

#include "kernel/kernel.h"

namespace fusec {

// Gives the sweep of an unscheduled part such vectors of `width` elements. False, and nothing changes, where an access along the row
// would be left without vectors.
bool skew_rows(const Graph& graph, Part& part, const Kernel& kernel, int width);

}  // namespace fusec
