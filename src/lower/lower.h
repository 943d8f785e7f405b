// Segmentation → kernels and the launches that run them: one kernel per segment.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "kernel/program.h"
#include "segment/segmentation.h"
#include "segment/target.h"

namespace fusec {

struct Lowered {
  Program program;              // its text still empty
  std::vector<Kernel> kernels;  // one per segment that launches one
};

// `graph` is verified, without composites, and every op has a lowering.
Lowered lower(const Graph& graph, const Segmentation& segmentation, const Target& target);

}  // namespace fusec
