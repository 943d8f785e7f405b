// Scatters: the elements of src go through atomic updates to where the indices say. What they start from lies there already.
#pragma once

#include "lower/kernel_input.h"
#include "lower/lower.h"

namespace fusec {

// The updates of `op` as a part of `kernel`, into `target`, and in kernel.scatter how they are spread. `replicas`: `target` is copies of
// it.
void lower_scatter(const KernelInput& input, OpId op, BufferId target, const std::vector<Size>& strides, ScatterSchedule schedule,
                   const std::optional<Replicas>& replicas, Kernel& kernel);

// Why no schedule but direct updates can serve `op`, whose result has these strides; empty where one may.
std::string only_direct(const Graph& graph, OpId op, const std::vector<Size>& strides);

}  // namespace fusec
