// Segmentation → kernels and the launches that run them: one kernel per segment, several where one has
// to be finished before the next.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "kernel/program.h"
#include "segment/segmentation.h"
#include "segment/target.h"

namespace fusec {

// How updates that meet in one element are spread: `kDirect` by an atomic each, `kWarp` by one for all lanes of a warp that meet,
// `kShared` in tables in shared memory, `kCached` in tables that hold what comes first to each place, `kReplicas` over copies of the target
// in global memory, `kLists` by a list of updates for each row, which one thread an element sums up. A schedule that does not fit leaves
// the updates direct, and the report says why.
enum class ScatterSchedule : uint8_t { kAuto, kDirect, kWarp, kShared, kCached, kReplicas, kLists };

struct LowerOptions {
  bool check_indices = true;   // compare each index with the size that it selects from
  bool deterministic = false;  // updates of one element in one order
  bool phases = true;          // small kernels that follow each other become one of one block
  ScatterSchedule scatter = ScatterSchedule::kAuto;
};

struct Lowered {
  Program program;              // its text still empty
  std::vector<Kernel> kernels;  // those of a segment stand together, in launch order
  Graph graph;                  // whose ops the kernels name: the given one, some ops spelled out
};

// `graph` is verified, without composites, and every op has a lowering.
Lowered lower(const Graph& graph, const Segmentation& segmentation, const Target& target, const LowerOptions& options);

}  // namespace fusec
