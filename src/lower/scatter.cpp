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

bool is_widened(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  return info(op.kind).category == OpCategory::kScatter && graph.attrs(op).accumulate != Accumulate::kNone &&
         bytes_of(graph[op.out[0]].dtype) <= 2;
}

// A new op on `in` whose result is `like` in another dtype.
OpId add_op(Graph& graph, OpKind kind, std::vector<Operand> in, const Value& like, const std::string& suffix, DType dtype) {
  Op op;
  op.kind = kind;
  op.in = std::move(in);
  Value value = like;
  value.name += suffix;
  value.dtype = dtype;
  value.def = OpId(graph.ops.size());
  value.result = 0;
  op.at = like.at;
  op.out = {graph.values.push(std::move(value))};
  return graph.ops.push(std::move(op));
}

// On bool, add and max are or; mul and min are and.
bool is_or(Accumulate how) { return how == Accumulate::kAdd || how == Accumulate::kMax; }

// The ops that take its place, the last of them under its own id.
std::vector<OpId> widen(Graph& graph, OpId id) {
  const Op op = graph[id];
  const DType narrow = graph[op.out[0]].dtype, accumulating = is_float(narrow) ? DType::kF32 : DType::kI32;
  const std::string suffix = is_float(narrow) ? ".f32" : ".i32";
  auto wide = [&](const Operand& o) { return add_op(graph, OpKind::kCast, {o}, Value(graph[o.value]), suffix, accumulating); };
  std::vector<OpId> ops{wide(op.in[0])};
  std::vector<Operand> in = op.in;
  in[0].value = graph[ops.back()].out[0];
  if (op.in[2].is_value()) {
    ops.push_back(wide(op.in[2]));
    in[2].value = graph[ops.back()].out[0];
  }
  const Operand before = in[0];
  ops.push_back(add_op(graph, op.kind, std::move(in), Value(graph[op.out[0]]), suffix, accumulating));
  Attrs& attrs = graph.make_attrs(graph.ops[ops.back()]);
  attrs = graph.attrs(op);
  if (narrow == DType::kBool) attrs.accumulate = is_or(attrs.accumulate) ? Accumulate::kMax : Accumulate::kMin;
  graph.ops[ops.back()].origin = op.origin.empty() ? graph.name_of(id) : op.origin;
  auto last = [&] { return Operand{graph[ops.back()].out[0], std::nullopt}; };
  OpKind kind = OpKind::kCast;
  if (narrow == DType::kF8E5M2) {
    // A cast saturates infinities; what no update has changed keeps its bits.
    const Operand total = last();
    auto step = [&](OpKind step_kind, std::vector<Operand> step_in, const char* name, DType dtype) {
      ops.push_back(add_op(graph, step_kind, std::move(step_in), Value(graph[op.out[0]]), name, dtype));
      return last();
    };
    const Operand rounded = step(OpKind::kCast, {total}, ".rounded", narrow);
    const Operand bits_before = step(OpKind::kBitcast, {before}, ".bits_before", DType::kI32);
    const Operand bits_after = step(OpKind::kBitcast, {total}, ".bits_after", DType::kI32);
    const Operand same = step(OpKind::kEq, {bits_after, bits_before}, ".same", DType::kBool);  // (-0 and +0 are not)
    const Operand old_bits = step(OpKind::kBitcast, {op.in[0]}, ".old_bits", DType::kU8);
    const Operand new_bits = step(OpKind::kBitcast, {rounded}, ".new_bits", DType::kU8);
    step(OpKind::kWhere, {same, old_bits, new_bits}, ".bits", DType::kU8);
    kind = OpKind::kBitcast;
  }
  graph.ops[id].kind = kind;
  graph.ops[id].in = {last()};
  graph.ops[id].attrs = {};
  ops.push_back(id);
  return ops;
}

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
  if (part.table) return part.table->cached ? "cached" : "shared";
  return part.stores[0].joins ? "warp" : "direct";
}

}  // namespace

std::string only_direct(const Graph& graph, OpId id, const std::vector<Size>& strides) {
  const Op& op = graph[id];
  if (graph.attrs(op).accumulate == Accumulate::kNone) return "plain stores do not add up";
  if (strides != row_major_strides(graph[op.in[0].value].shape)) return "the target has strides";
  return "";
}

void widen_scatters(Graph& graph, Segmentation& segmentation) {
  for (Segment& segment : segmentation.segments)
    for (auto* list : {&segment.ops, &segment.recomputed}) {
      std::vector<OpId> ops;
      for (OpId id : *list) {
        if (!is_widened(graph, id)) ops.push_back(id);
        else
          for (OpId made : widen(graph, id)) ops.push_back(made);
      }
      *list = std::move(ops);
    }
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
