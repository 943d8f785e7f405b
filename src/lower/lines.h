// Scans and sorts: kernels that take a row's positions in order. What the op reads is computed as they load it.
#pragma once

#include "lower/kernel_input.h"

namespace fusec {

constexpr int64_t kMaxSortedRow = 4096;  // its keys and their order fill the 48 KiB of shared memory that a block has without asking

// `input.stores`: results of `op`, one or more times each.
void lower_line(const KernelInput& input, OpId op, Kernel& kernel);

}  // namespace fusec
