#include "lower/scatter.h"

#include <cmath>

#include "graph/updates.h"
#include "kernel/visit.h"
#include "lower/schedule.h"
#include "lower/split_dims.h"
#include "lower/table.h"

namespace fusec {

namespace {

constexpr int64_t kWarp = 32;

// The positions of the updates.
Shape update_shape(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kScatter) return graph[op.in[1].value].shape;
  Shape shape = graph[op.in[0].value].shape;
  shape[static_cast<size_t>(graph.attrs(op).dim)] = graph[op.in[1].value].shape[0];
  return shape;
}

Store trace_update(const KernelInput& input, OpId id, const std::vector<Size>& strides, Part& part, const std::vector<Index>& indices) {
  const Op& op = input.graph[id];
  const Attrs& attrs = input.graph.attrs(op);
  const Shape& shape = input.graph[op.in[0].value].shape;
  const size_t dim = static_cast<size_t>(attrs.dim);
  Tracer tracer(input.graph, input.computed, input.place, input.check, part);
  Store store;
  store.update = !stores_permutation(input.graph, op);
  store.accumulate = attrs.accumulate;
  const OpId base = input.graph[op.in[0].value].def;
  store.looks =
      !base.valid() || input.graph[base].kind != OpKind::kFull || std::isnan(input.graph.attrs(input.graph[base]).value.as_double());
  const std::vector<Index> of_index = op.kind == OpKind::kScatter ? indices : std::vector<Index>{indices[dim]};
  std::vector<Index> to = indices;
  const Index at = tracer.index_at(id, op.in[1].value, of_index, shape.empty() ? Size(1) : shape[dim], store.guard);
  if (!to.empty()) to[dim] = at;
  for (size_t d = 0; d < to.size(); ++d) store.index = store.index + to[d] * strides[d];
  store.index = part.space.simplify(std::move(store.index));
  store.value =
      op.in[2].is_value() ? tracer.value_at(op.in[2].value, indices) : tracer.literal(*op.in[2].literal, input.graph[op.in[0].value].dtype);
  return store;
}

// True if a warp takes several updates, or one whose neighbours are not beside it.
bool may_meet_in_warp(const Part& part) {
  const AtomId inner = part.dims.back();
  const Index& index = part.stores[0].index;
  if (inside_atom(part.space, index, inner)) return true;
  const Size extent = part.space.extent(inner);
  const bool is_long = part.dims.size() == 1 || (extent.is_constant() && extent.value() % kWarp == 0);
  return !is_long || !index.coefficient(inner).is(part.lane.valid() ? part.vector : 1);
}

// Spreads the kernel's updates, which are traced and scheduled. Returns why not as is asked.
std::string spread(const KernelInput& input, OpId op, ScatterSchedule schedule, Kernel& kernel) {
  const Size elements = element_count(input.graph[input.graph[op].in[0].value].shape);
  Part& part = kernel.parts[0];
  if (part.dims.empty()) return "there is one update";
  if (schedule == ScatterSchedule::kWarp) {
    if (!may_meet_in_warp(part)) return "a warp's updates are side by side in one row";
    part.stores[0].joins = true;
    return "";
  }
  return make_table(input.target, elements, schedule, kernel);
}

std::string schedule_of(const Part& part) {
  if (part.replicas) return "replicas";
  if (part.table) return part.table->whole > 0 ? "shared" : "cached";
  return part.stores[0].joins ? "warp" : "direct";
}

}  // namespace

std::string only_direct(const Graph& graph, OpId id, const std::vector<Size>& strides) {
  const Op& op = graph[id];
  if (graph.attrs(op).accumulate == Accumulate::kNone) return "plain stores do not add up";
  if (strides != row_major_strides(graph[op.in[0].value].shape)) return "the target has strides";
  return "";
}

void lower_scatter(const KernelInput& input, OpId op, BufferId target, const std::vector<Size>& strides, ScatterSchedule schedule,
                   const std::optional<Replicas>& replicas, Kernel& kernel) {
  const Shape shape = update_shape(input.graph, input.graph[op]);
  for (const Size& extent : shape)
    if (extent.is(0)) return;
  SplitDims dims(shape);
  while (true) {
    Part part(input.graph.symbols);
    std::vector<SplitDims::Factor> origin;
    const std::vector<Index> indices = dims.make(part, "i", part.dims, origin);
    Store store = trace_update(input, op, strides, part, indices);
    store.buffer = target;
    part.stores.push_back(std::move(store));
    if (const auto& split = part.space.wanted_split()) {
      dims.split(origin[split->variable.index], split->inner);
      continue;
    }
    merge_dims(part);
    kernel.parts.push_back(std::move(part));
    break;
  }
  schedule_parts(input.graph, input.target, kernel);
  kernel.parts[0].replicas = replicas;
  if (replicas) kernel.parts[0].stores[0].looks = false;  // (no NaN lies in a copy but those of updates)
  std::string why = only_direct(input.graph, op, strides);
  const bool chooses =
      schedule != ScatterSchedule::kDirect && schedule != ScatterSchedule::kReplicas && schedule != ScatterSchedule::kLists;
  if (why.empty() && chooses) why = spread(input, op, schedule, kernel);
  const bool asked = schedule != ScatterSchedule::kAuto && schedule != ScatterSchedule::kDirect;
  kernel.scatter = {schedule_of(kernel.parts[0]), asked ? why : ""};
}

}  // namespace fusec
