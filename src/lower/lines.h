// Scans and sorts: kernels that take a row's positions in order. What the op reads is computed as they load it.
#pragma once

#include "lower/kernel_input.h"

namespace fusec {

constexpr int64_t kBlockSortedRow = 4096;            // its keys and their order fill the 48 KiB of shared memory a block has unasked
constexpr int64_t kMaxSortedRow = int64_t{1} << 24;  // by digits, radix.h

// `input.stores`: results of `op`, one or more times each.
void lower_line(const KernelInput& input, OpId op, Kernel& kernel);

// One variable for each dim of more than one position: that of the line becomes `part.line->position`, the others the part's dims.
std::vector<Index> line_indices(Part& part, const Shape& shape, size_t dim);

}  // namespace fusec
