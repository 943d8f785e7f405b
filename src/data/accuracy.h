// How exactly a graph's outputs are determined: what `run --verify` allows between two correct executions.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace fusec {

struct Accuracy {
  // No op on the way may round differently: the results are the same bit for bit.
  bool exact = true;
  // Steps of inexact ops and sums on the longest way.
  int depth = 0;
  // The least exact float type to which an inexact value is rounded on the way: a difference in the last bit of an f32 may become one of a
  // bf16.
  DType roughest = DType::kF64;
};

// One per output, in order. `graph` is bound and without composites. With `contract` also products and sums may round differently.
std::vector<Accuracy> accuracy_of_outputs(const Graph& graph, bool contract);

// Of two float types the one with fewer bits of precision.
DType rougher(DType a, DType b);

}  // namespace fusec
