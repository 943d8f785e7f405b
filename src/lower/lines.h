// Scans and sorts: kernels that take a row's positions in order. What the op reads is computed as they load it.
#pragma once

#include "lower/kernel_input.h"

namespace fusec {

constexpr int64_t kBlockSortedRow = 4096;            // its keys and their order fill the 48 KiB of shared memory a block has unasked
constexpr int64_t kMaxSortedRow = int64_t{1} << 24;  // by digits, radix.h

// Blocks that share a row of a scan, in two launches: the first leaves what each of them sees in `totals`. Integers, exact in any order,
// take one launch, in which blocks look back at those before them.
struct ScanChunks {
  int64_t count = 1;  // of a row; 1: none
  int64_t elems = 0;
  bool looks_back = false;
  BufferId totals;
  bool first = false;
};
// Chunks for rows that are few and long.
ScanChunks plan_chunks(const Graph& graph, const Target& target, OpId op);

// `input.stores`: results of `op`, one or more times each.
void lower_line(const KernelInput& input, OpId op, const ScanChunks& chunks, Kernel& kernel);

// Rows of a scan or sort.
Size line_rows(const Graph& graph, OpId op);
// One variable for each dim of more than one position: that of the line becomes `part.line->position`, the others the part's dims.
std::vector<Index> line_indices(Part& part, const Shape& shape, size_t dim);

}  // namespace fusec
