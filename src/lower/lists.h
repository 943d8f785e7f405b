// Updates of rows by lists: each row of a scatter's target has a list of its updates, which the kernel that stores the row sums up. No
// atomic operation is on a value, and the target is written once.
#pragma once

#include "lower/kernel_input.h"

namespace fusec {

// True if `op` adds rows, as floats, that are many enough for a thread each to follow their lists.
bool can_list(const Graph& graph, OpId op);
// True if that is likely faster: the lists are short.
bool should_list(const Graph& graph, OpId op);

// first[row] = -1 for all rows.
void lower_list_starts(const KernelInput& input, OpId op, BufferId first, Kernel& kernel);
// Each update becomes the first of its row's list, and the one before it its next.
void lower_list_links(const KernelInput& input, OpId op, const ListPlace& list, Kernel& kernel);

}  // namespace fusec
