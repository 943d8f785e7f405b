// Segmentation → Program: one kernel per segment, as readable CUDA text, and the launches that run them.
#pragma once

#include "graph/graph.h"
#include "kernel/program.h"
#include "segment/segmentation.h"
#include "segment/target.h"

namespace fusec {

struct LowerOptions {
  bool contract = false;  // --contract: products may be contracted into fused multiply-adds
};

// `graph` is verified, without composites, and every op has a lowering.
Program lower(const Graph& graph, const Segmentation& segmentation, const Target& target, const LowerOptions& options);

}  // namespace fusec
