// Stages of scatters: direct, over replicas, or by lists of updates.
#include <algorithm>
#include <set>

#include "graph/updates.h"
#include "lower/lists.h"
#include "lower/lowering.h"
#include "lower/replicas.h"
#include "lower/scatter.h"

namespace fusec {

void Lowering::lower_scatter_stage(uint32_t id, const Segment& segment, IdVec<ValueId, bool>& computed, OpId op,
                                   std::vector<Destination>& wanted) {
  std::string why = why_no_lists(computed, op, wanted);
  if (why.empty()) return lower_listed(id, computed, op);
  const ValueId x = graph_[op].in[0].value, v = graph_[op].out[0];
  const Destination to = scatter_destination(id, segment, op, wanted);
  const auto at = locations_.find(x);
  const bool there = !computed[x] && at != locations_.end() && (at->second.arg == to.arg || updates_in_place(id, segment, op, to));
  const bool overwritten = stores_permutation(graph_, graph_[op]);
  if (!there && !overwritten) lower_values(id, computed, {{x, to.arg, to.strides}});
  std::optional<Replicas> replicas;
  if (options_.scatter == ScatterSchedule::kReplicas) {
    why = only_direct(graph_, op, to.strides);
    if (why.empty()) replicas = plan_replicas(graph_, op, why);
  }
  if (replicas) {
    lower_replicated(id, computed, op, to, *replicas);
  } else {
    Draft draft;
    draft.kernel.segment = id;
    const BufferId buffer = add_target(op, to, !overwritten, draft);
    lower_scatter(input_for(id, computed, draft, {}), op, buffer, to.strides, options_.scatter, {}, draft.kernel);
    if (options_.scatter == ScatterSchedule::kReplicas || options_.scatter == ScatterSchedule::kLists) draft.kernel.scatter.why = why;
    add_kernel(std::move(draft.kernel));
  }
  locations_[v] = {to.arg, to.strides};
  computed[v] = false;
  std::erase_if(wanted, [&](const Destination& d) { return d.value == v && d.arg == to.arg; });
}

BufferId Lowering::add_target(OpId op, const Destination& to, bool read, Draft& draft) const {
  const Value& v = graph_[graph_[op].out[0]];
  Buffer target{to.arg, v.dtype, v.name};
  target.read = read, target.written = true;
  return draft.kernel.buffers.push(std::move(target));
}

void Lowering::lower_replicated(uint32_t id, const IdVec<ValueId, bool>& computed, OpId op, const Destination& to,
                                const Replicas& replicas) {
  const Value& v = graph_[graph_[op].out[0]];
  const KernelArg copies = new_workspace(replica_elems(replicas) * Size(bytes_of(v.dtype)), id, id);
  for (int step = 0; step < 3; ++step) {
    Draft draft;
    draft.kernel.segment = id;
    Buffer b{copies, v.dtype, v.name + "_copies"};
    b.read = step > 0, b.written = step < 2;
    const BufferId buffer = draft.kernel.buffers.push(std::move(b));
    const KernelInput input = input_for(id, computed, draft, {});
    if (step == 0) lower_replica_starts(input, op, replicas, buffer, draft.kernel);
    else if (step == 1) lower_scatter(input, op, buffer, to.strides, ScatterSchedule::kReplicas, replicas, draft.kernel);
    else lower_replica_ends(input, op, replicas, buffer, add_target(op, to, true, draft), draft.kernel);
    draft.kernel.scatter.schedule = "replicas";
    add_kernel(std::move(draft.kernel));
  }
}

std::string Lowering::why_no_lists(const IdVec<ValueId, bool>& computed, OpId op, const std::vector<Destination>& wanted) const {
  const bool chooses = options_.scatter == ScatterSchedule::kAuto;
  if (!chooses && options_.scatter != ScatterSchedule::kLists) return "another schedule is asked for";
  if (!can_list(graph_, op)) return "lists are for rows of sizes that are known, to which index_put adds";
  if (chooses && !should_list(graph_, op)) return "rows are short, or many updates go to each";
  const ValueId v = graph_[op].out[0];
  auto in_place = [&](const Destination& d) { return d.value == v && lies_over_input(d.arg); };
  if (std::any_of(wanted.begin(), wanted.end(), in_place)) return "the result lies over an input";
  // An f32 result needs no rounding at the end: atomic additions of whole vectors are as fast where the rows are gathered (measured: 109
  // µs against 133).
  const bool stored = std::any_of(wanted.begin(), wanted.end(), [&](const Destination& d) { return d.value == v; });
  if (stored && chooses && graph_[op].in[2].is_value())
    for (OpId before : ops_before(computed, {{graph_[op].in[2].value, {}, {}}}))
      if (info(graph_[before].kind).category == OpCategory::kGather) return "the rows are gathered";
  std::set<ValueId> after{v};
  for (OpId user : ops_before(computed, wanted)) {
    const OpCategory category = info(graph_[user].kind).category;
    if (category == OpCategory::kReduction || (is_stage(graph_[user].kind) && user != op))
      return "'" + graph_.name_of(user) + "' in its kernel waits for the whole result";
    const auto& in = graph_[user].in;
    if (std::none_of(in.begin(), in.end(), [&](const Operand& o) { return o.is_value() && after.contains(o.value); })) continue;
    if (!is_pointwise(graph_[user].kind) || !(graph_[graph_[user].out[0]].shape == graph_[v].shape))
      return "'" + graph_.name_of(user) + "' reads the result at other places";
    after.insert(graph_[user].out[0]);
  }
  return "";
}

void Lowering::lower_listed(uint32_t id, const IdVec<ValueId, bool>& computed, OpId op) {
  const Shape& shape = graph_[graph_[op].in[0].value].shape;
  const Size rows = shape[static_cast<size_t>(graph_.attrs(graph_[op]).dim)], updates = graph_[graph_[op].in[1].value].shape[0];
  const Size bytes(bytes_of(DType::kI32));
  ListPlace sizes;
  size_list(graph_, target_, op, sizes);
  lists_[op] = {new_workspace(rows * Size(sizes.apart) * bytes, id, id), new_workspace(rows * Size(sizes.slots) * bytes, id, id),
                new_workspace((updates + Size(List::kRestBegin + List::kUsualAhead)) * bytes, id, id),
                new_workspace(element_count(shape) * Size(int64_t{sizes.copies} * bytes_of(graph_[graph_[op].out[0]].dtype)), id, id)};
  for (const auto& lower_step : {lower_list_starts, lower_list_claims, lower_list_rest}) {
    Draft draft;
    draft.kernel.segment = id;
    const KernelInput input = input_for(id, computed, draft, {});
    lower_step(input, op, list_place(op, draft, true), draft.kernel);
    draft.kernel.scatter.schedule = "lists";
    add_kernel(std::move(draft.kernel));
  }
}

ListPlace Lowering::list_place(OpId op, Draft& draft, bool written) const {
  auto buffer = [&](const KernelArg& arg, DType dtype, const char* name) {
    Buffer b{arg, dtype, name};
    b.read = true, b.written = written;
    return draft.kernel.buffers.push(std::move(b));
  };
  const std::array<KernelArg, 4>& at = lists_.at(op);
  ListPlace list{buffer(at[0], DType::kI32, "counts"), buffer(at[1], DType::kI32, "slots"), buffer(at[2], DType::kI32, "rest"),
                 buffer(at[3], graph_[graph_[op].out[0]].dtype, "sums")};
  size_list(graph_, target_, op, list);
  return list;
}

Destination Lowering::scatter_destination(uint32_t id, const Segment& segment, OpId op, const std::vector<Destination>& wanted) {
  const ValueId v = graph_[op].out[0];
  if (const auto it = scatter_places_.find(v); it != scatter_places_.end()) return it->second;
  return scatter_places_.emplace(v, choose_scatter_destination(id, segment, op, wanted)).first->second;
}

Destination Lowering::choose_scatter_destination(uint32_t id, const Segment& segment, OpId op, const std::vector<Destination>& wanted) {
  const ValueId v = graph_[op].out[0];
  const Destination* best = nullptr;
  for (const Destination& d : wanted)
    if (d.value == v && (!best || lies_over_input(d.arg))) best = &d;
  if (best) return *best;
  OpId next;
  int readers = 0;
  for (const auto* ops : {&segment.ops, &segment.recomputed})
    for (OpId user : *ops)
      for (const Operand& o : graph_[user].in)
        if (o.value == v) ++readers, next = user;
  if (readers != 1 || info(graph_[next].kind).category != OpCategory::kScatter || graph_[next].in[0].value != v)
    return workspace_for(id, v);
  const Destination shared = scatter_destination(id, segment, next, wanted);
  return {v, shared.arg, shared.strides};
}

bool Lowering::updates_in_place(uint32_t id, const Segment& segment, OpId op, const Destination& to) const {
  const ValueId x = graph_[op].in[0].value;
  if (!lies_over_input(to.arg)) return false;
  if (graph_.inputs[*graph_.outputs[to.arg.index].alias].value != x || last_reader_[x] > id) return false;
  const std::vector<ValueId> roots = roots_of(id, segment);
  int readers = static_cast<int>(std::count(roots.begin(), roots.end(), x));
  for (const auto* ops : {&segment.ops, &segment.recomputed})
    for (OpId user : *ops)
      for (const Operand& o : graph_[user].in) readers += o.value == x;
  return readers == 1;
}

}  // namespace fusec
