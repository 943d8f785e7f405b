// Updates of rows by lists: each row of a scatter's target has slots for the numbers of its updates, which the kernel that stores the row
// sums up. No atomic operation is on a value, and the target is written once. Rows with more updates than slots get the sum of the rest
// from a kernel in between, so that no thread follows a long list.
#pragma once

#include "lower/kernel_input.h"

namespace fusec {

// True if `op` adds rows, of a number and size known now.
bool can_list(const Graph& graph, OpId op);
// True if that is likely faster: rows are long enough for a thread each to read the same slots, and few updates meet in one, or most in
// the rest, where those that meet are side by side.
bool should_list(const Graph& graph, OpId op);
// Chooses the numbers of a list: slots of each row for twice as many updates as come on average.
void size_list(const Graph& graph, const Target& target, OpId op, ListPlace& list);

// No row has updates, and nothing is left over.
void lower_list_starts(const KernelInput& input, OpId op, const ListPlace& list, Kernel& kernel);
// Each update claims a slot.
void lower_list_claims(const KernelInput& input, OpId op, const ListPlace& list, Kernel& kernel);
// Those that found none are added up.
void lower_list_rest(const KernelInput& input, OpId op, const ListPlace& list, Kernel& kernel);

}  // namespace fusec
