#include "lower/replicas.h"

#include <algorithm>
#include <bit>

#include "graph/updates.h"
#include "lower/schedule.h"
#include "support/quantity.h"

namespace fusec {

namespace {

constexpr int64_t kMostBytes = 32 << 20;  // of all copies: what caches hold
constexpr int64_t kMostCopies = 16;
constexpr int64_t kAlign = 32;  // elements, so that vectors may be added to each copy

}  // namespace

std::optional<Replicas> plan_replicas(const Graph& graph, OpId id, std::string& why) {
  const Op& op = graph[id];
  const Value& target = graph[op.out[0]];
  const Size elems = element_count(target.shape);
  if (!elems.is_constant()) {
    why = "the target's size is open";
    return std::nullopt;
  }
  if (elems.is(0)) {
    why = "the target is empty";
    return std::nullopt;
  }
  Replicas replicas;
  replicas.elems = (elems.value() + kAlign - 1) / kAlign * kAlign;
  const int64_t most = kMostBytes / bytes_of(target.dtype) / replicas.elems;
  if (most < 2) {
    why = "two copies of the target would take more than " + std::to_string(kMostBytes >> 20) + " MiB";
    return std::nullopt;
  }
  replicas.copies = static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::min(most, kMostCopies))));
  return replicas;
}

void lower_replica_starts(const KernelInput& input, OpId id, const Replicas& replicas, BufferId copies, Kernel& kernel) {
  const Literal start = neutral_update(input.graph.attrs(input.graph[id]).accumulate, kernel.buffers[copies].dtype);
  add_fill(copies, replica_elems(replicas), start, Part(input.graph.symbols), kernel);
  schedule_parts(input.graph, input.target, kernel);
}

void lower_replica_ends(const KernelInput& input, OpId id, const Replicas& replicas, BufferId copies, BufferId target, Kernel& kernel) {
  const Op& op = input.graph[id];
  Part part(input.graph.symbols);
  part.dims = {part.space.add_variable("i0", element_count(input.graph[op.out[0]].shape))};
  const Index here = part.space.variable(part.dims[0]);
  Node joined;
  joined.kind = Node::kJoined;
  joined.dtype = kernel.buffers[target].dtype;
  joined.op = id;
  joined.accumulate = input.graph.attrs(op).accumulate;
  for (int k = -1; k < replicas.copies; ++k) {
    Node load;
    load.kind = Node::kLoad;
    load.dtype = joined.dtype;
    load.buffer = k < 0 ? target : copies;
    load.index = k < 0 ? here : part.space.simplify(here + Index(Size(k * replicas.elems)));
    joined.in.push_back(part.nodes.push(std::move(load)));
  }
  Store store;
  store.buffer = target;
  store.index = here;
  store.value = part.nodes.push(std::move(joined));
  part.stores.push_back(std::move(store));
  kernel.parts.push_back(std::move(part));
  schedule_parts(input.graph, input.target, kernel);
}

}  // namespace fusec
