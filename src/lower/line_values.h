// What a scan or a sort reads at a position, and what becomes of its results there.
#pragma once

#include "lower/kernel_input.h"

namespace fusec {

// Sets the operand of the part's line `op` and its stores: of results of the op, of pointwise ops on them, and of scatters by a
// permutation. `indices`: of a position, in the part's variables.
void trace_line(const KernelInput& input, OpId op, const std::vector<Index>& indices, Part& part, Kernel& kernel);

}  // namespace fusec
