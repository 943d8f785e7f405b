// Sorts of rows that exceed shared memory, by their digits: one launch that clears counters, one that sorts. What the op reads is
// computed as it is loaded, and what is stored at a result's own position is made from it where the last digit puts it.
#pragma once

#include "lower/kernel_input.h"

namespace fusec {

// True for rows too long for a block.
bool sorts_by_digits(const Graph& graph, OpId op);

// A sort's tiles and turns; buffers are still to be set.
Radix plan_radix(const Graph& graph, const Target& target, OpId op);
Size radix_state_words(const Graph& graph, OpId op, const Radix& radix);
Size radix_flag_words(const Graph& graph, OpId op, const Radix& radix);
// Buffers of keys, and of where they come from.
int radix_buffers(const Radix& radix);

// `input.stores`: results of `op`, values that depend on them at their own position alone, or scatters of such by a permutation.
void lower_radix(const KernelInput& input, OpId op, Radix radix, Kernel& kernel);

}  // namespace fusec
