// What a schedule is given: the values to store, and where the values that it does not compute lie.
#pragma once

#include <functional>

#include "kernel/kernel.h"
#include "lower/trace.h"
#include "segment/target.h"

namespace fusec {

struct KernelInput {
  const Graph& graph;
  const Target& target;
  const IdVec<ValueId, bool>& computed;           // values that the kernel computes
  std::function<Place(ValueId)> place;            // of values it reads
  std::function<CheckPlace(OpId)> check;          // where the indices of an op are recorded that are out of range
  std::function<KernelArg(const Size&)> scratch;  // memory of so many bytes for this kernel alone
  struct Stored {
    ValueId value;
    BufferId buffer;
    std::vector<Size> strides;
  };
  std::vector<Stored> stores;
  std::map<OpId, RowTrace::Parts> reduced_before = {};
  std::function<ListPlace(OpId)> list = {};  // of scatters that the kernel computes
};

// A store at the indices of its value, which is still to be set.
inline Store store_at(const KernelInput::Stored& stored, const std::vector<Index>& indices, IndexSpace& space) {
  Store store;
  store.buffer = stored.buffer;
  for (size_t d = 0; d < indices.size(); ++d) store.index = store.index + indices[d] * stored.strides[d];
  store.index = space.simplify(std::move(store.index));
  return store;
}

}  // namespace fusec
