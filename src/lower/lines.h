// Scans and sorts: kernels that take a row's positions in order. What the op reads is computed as they load it.
#pragma once

#include <optional>

#include "lower/kernel_input.h"

namespace fusec {

constexpr int64_t kBlockSortedRow = 4096;            // its keys and their order fill the 48 KiB of shared memory a block has unasked
constexpr int64_t kMaxSortedRow = int64_t{1} << 24;  // merged from such pieces in as many launches as it doubles

// One launch of a sort that takes several: pieces (run 0), then merges of runs of length `run`.
struct SortStep {
  int64_t run = 0;
  BufferId source, target;  // the orders before and after; none before the first and after the last
};

// True for rows that take several launches.
bool needs_merges(const Graph& graph, OpId op);

// `input.stores`: results of `op`, one or more times each.
void lower_line(const KernelInput& input, OpId op, Kernel& kernel, const std::optional<SortStep>& step = {});

}  // namespace fusec
