// The pointwise schedule: any set of elementwise ops, views and creations, as one kernel.
// Each distinct shape that is stored becomes a part (a range of blocks) whose iteration space is that shape, its dimensions split
// where views ask for it and merged where no access tells them apart.
#pragma once

#include <functional>

#include "kernel/kernel.h"
#include "lower/trace.h"
#include "segment/segmentation.h"
#include "segment/target.h"

namespace fusec {

struct PointwiseInput {
  const Graph& graph;
  const Target& target;
  const IdVec<ValueId, bool>& computed;  // values that the segment computes
  std::function<Place(ValueId)> place;   // of values it reads
  struct Stored {
    ValueId value;
    BufferId buffer;
    std::vector<Size> strides;
  };
  std::vector<Stored> stores;
};

// Adds the parts to the kernel and sets its block size. `kernel.buffers` is complete.
void lower_pointwise(const PointwiseInput& input, Kernel& kernel);

}  // namespace fusec
