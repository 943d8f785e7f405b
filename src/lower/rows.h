// Reductions by rows: a row's positions are swept once for each reduction that waits for another, and what depends on a result of the
// row is computed and stored in the sweep after it. One kernel, whatever stands before, between and after the reductions.
#pragma once

#include <string>

#include "lower/kernel_input.h"

namespace fusec {

struct RowParts {
  std::vector<Part> parts;  // each a kernel of its own
  OpId refused;             // a reduction whose result other rows need, or one over other positions than the row's
};

// Parts that store `input.stores`, some of which need reductions; those that need none are left to the caller in `pointwise`.
RowParts trace_rows(const KernelInput& input, std::vector<KernelInput::Stored>& pointwise, bool known_means);

// One part that stores `input.stores` and reduces the operands of `columns` over its rows: these are ops over the same leading dims of
// operands of one shape. Refuses as above.
RowParts trace_rows_with_columns(const KernelInput& input, const std::vector<OpId>& columns);

// True where the rows keep too few multiprocessors busy: reductions whose blocks share a row, one kernel each, are faster.
bool too_few_rows(const Part& part, const Target& target);

// Chooses threads, vectors and what is held, for the one part of a kernel. `scratch` as in KernelInput. `across_block`: threads of a block
// that takes neighbouring rows, which then share no row with another block; 0 leaves both open.
void schedule_rows(const Graph& graph, const Target& target, const std::function<KernelArg(const Size&)>& scratch, Kernel& kernel,
                   int across_block = 0);

// The same for a part with columns; false where a thread cannot keep the states of its positions.
bool schedule_columns(const Graph& graph, const Target& target, const std::function<KernelArg(const Size&)>& scratch, Kernel& kernel);

}  // namespace fusec
