// Scatters that accumulate in a wider dtype than their own.
#pragma once

#include "graph/graph.h"
#include "lower/lower.h"
#include "segment/segmentation.h"

namespace fusec {

// An accumulating scatter on f8, f16, bf16 → cast, scatter on f32, cast: it accumulates in f32 and rounds once. On bool and integers of
// 8 and 16 bits likewise through i32: no atomic operation takes less than a word. Where the schedule is ours to choose, short rows of a
// large wide target are made as long as a sector of the L2 cache (or half, or a quarter): each update touches one sector then. The ops
// that this adds stand at the end of the graph and, in order, in the segments.
void widen_scatters(Graph& graph, Segmentation& segmentation, ScatterSchedule schedule);

}  // namespace fusec
