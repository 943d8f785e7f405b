// What crosses kernels, after merging: for each kernel the cheapest values to read, where everything behind them is recomputed. A minimum
// cut between memory and the kernel's needs: storing a value costs its bytes written and read, recomputing one costs its instructions
// and whatever it reads in turn.
#pragma once

#include <vector>

#include "segment/clusters.h"

namespace fusec {

// A kernel with everything it evaluates, recomputed ops included.
struct PlannedKernel {
  ClusterId cluster;
  std::vector<OpId> ops;        // rank order
  std::vector<ValueId> reads;   // from memory, by id
  std::vector<ValueId> writes;  // by id
  Plan plan;
  bool reads_again = false;  // rows that fit nowhere come from memory once more
};

// Kernels in a topological order; those that nobody needs any more are dropped.
std::vector<PlannedKernel> materialize(Clusters& clusters);

}  // namespace fusec
