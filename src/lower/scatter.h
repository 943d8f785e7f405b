// Scatters: the elements of src go through atomic updates to where the indices say. What they start from lies there already.
#pragma once

#include "lower/kernel_input.h"
#include "lower/lower.h"
#include "segment/segmentation.h"

namespace fusec {

// An accumulating scatter on f8, f16, bf16 → cast, scatter on f32, cast: it accumulates in f32 and rounds once. On bool and integers of
// 8 and 16 bits likewise through i32: no atomic operation takes less than a word. The ops that this adds stand at the end of the graph
// and, in order, in the segments.
void widen_scatters(Graph& graph, Segmentation& segmentation);

// The updates of `op` as a part of `kernel`, into `target`, and in kernel.scatter how they are spread. `replicas`: `target` is copies of
// it.
void lower_scatter(const KernelInput& input, OpId op, BufferId target, const std::vector<Size>& strides, ScatterSchedule schedule,
                   const std::optional<Replicas>& replicas, Kernel& kernel);

// Why no schedule but direct updates can serve `op`, whose result has these strides; empty where one may.
std::string only_direct(const Graph& graph, OpId op, const std::vector<Size>& strides);

}  // namespace fusec
