// Stages of scans and sorts.
#include <algorithm>
#include <set>

#include "graph/updates.h"
#include "lower/lines.h"
#include "lower/lowering.h"
#include "lower/radix.h"
#include "lower/schedule.h"

namespace fusec {

void Lowering::lower_line_stage(uint32_t id, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted) {
  if (sorts_by_digits(graph_, op)) return lower_long_sort(id, computed, op, wanted);
  ScanChunks chunks = plan_chunks(graph_, target_, op);
  const bool twice = chunks.count > 1 && !chunks.looks_back;
  if (twice) store_unless_cheap(id, computed, graph_[op].in[0].value, wanted);
  const Followed followed = take_what_follows(id, computed, op, wanted);
  const KernelArg totals = twice ? new_workspace(chunk_totals_bytes(op, chunks), id, id) : KernelArg{};
  for (chunks.first = twice;; chunks.first = false) {
    Draft draft;
    draft.kernel.segment = id;
    const KernelInput input = input_for(id, computed, draft, chunks.first ? std::vector<Destination>{} : followed.own);
    if (twice) {
      const Value& x = graph_[graph_[op].in[0].value];
      Buffer b{totals, scan_dtype(x.dtype), "totals"};
      b.read = !chunks.first, b.written = chunks.first;
      chunks.totals = draft.kernel.buffers.push(std::move(b));
    }
    lower_line(input, op, chunks, draft.kernel);
    add_kernel(std::move(draft.kernel));
    if (!chunks.first) break;
  }
  settle_line(computed, op, followed);
}

bool Lowering::is_computed(const IdVec<ValueId, bool>& computed, OpId op) const {
  return std::any_of(graph_[op].out.begin(), graph_[op].out.end(), [&](ValueId v) { return v.valid() && computed[v]; });
}

void Lowering::lower_long_sort(uint32_t id, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted) {
  const ValueId x = graph_[op].in[0].value;
  store_unless_cheap(id, computed, x, wanted);
  const Followed followed = take_what_follows(id, computed, op, wanted);
  const Radix radix = plan_radix(graph_, target_, op);
  const Size word(bytes_of(DType::kI32));
  const KernelArg state = new_workspace(radix_state_words(graph_, op, radix) * word, id, id);
  auto buffer = [](Draft& draft, const KernelArg& arg, DType dtype, const char* name) {
    Buffer b{arg, dtype, name};
    b.read = b.written = true;
    return draft.kernel.buffers.push(std::move(b));
  };
  Draft clear;
  clear.kernel.segment = id;
  add_zeros(buffer(clear, state, DType::kI32, "state"), radix_state_words(graph_, op, radix), Part(graph_.symbols), clear.kernel);
  schedule_parts(graph_, target_, clear.kernel);
  add_kernel(std::move(clear.kernel));
  Draft draft;
  draft.kernel.segment = id;
  const KernelInput input = input_for(id, computed, draft, followed.own);
  Radix placed = radix;
  placed.state = buffer(draft, state, DType::kI32, "state");
  placed.flags = buffer(draft, new_workspace(radix_flag_words(graph_, op, radix) * word, id, id), DType::kI32, "flags");
  const Size elems = element_count(graph_[x].shape);
  for (int i = 0; i < radix_buffers(radix); ++i) {
    const DType key = graph_[x].dtype;
    placed.keys[i] = buffer(draft, new_workspace(elems * Size(bytes_of(key)), id, id), key, "keys");
    placed.from[i] = buffer(draft, new_workspace(elems * word, id, id), DType::kI32, "from");
  }
  lower_radix(input, op, std::move(placed), draft.kernel);
  add_kernel(std::move(draft.kernel));
  settle_line(computed, op, followed);
}

Lowering::Followed Lowering::take_what_follows(uint32_t id, const IdVec<ValueId, bool>& computed, OpId op,
                                               std::vector<Destination>& wanted) {
  Followed followed;
  for (ValueId v : values_of(wanted)) {
    const ValueId stored = before_reshapes(computed, v, wanted);
    if (!follows_in_place(computed, stored, op)) continue;
    followed.values.push_back(v);
    for (const Destination& d : wanted)
      if (d.value == v) followed.own.push_back({stored, d.arg, stored == v ? d.strides : row_major_strides(graph_[stored].shape)});
    std::erase_if(wanted, [&](const Destination& d) { return d.value == v; });
  }
  IdVec<ValueId, bool> after = computed;
  for (ValueId v : followed.values) after[v] = false;
  for (ValueId v : graph_[op].out)
    if (v.valid() && after[v] && is_read(after, wanted, v)) followed.own.push_back(workspace_for(id, v));
  return followed;
}

ValueId Lowering::before_reshapes(const IdVec<ValueId, bool>& computed, ValueId v, const std::vector<Destination>& wanted) const {
  const std::vector<Size> strides = row_major_strides(graph_[v].shape);
  for (const Destination& d : wanted)
    if (d.value == v && d.strides != strides) return v;
  for (ValueId next = v; computed[next]; next = graph_[graph_[next].def].in[0].value) {
    v = next;
    const OpKind kind = graph_[graph_[v].def].kind;
    if (kind != OpKind::kReshape && kind != OpKind::kSqueeze && kind != OpKind::kUnsqueeze) break;
  }
  return v;
}

void Lowering::settle_line(IdVec<ValueId, bool>& computed, OpId op, const Followed& followed) const {
  for (ValueId v : graph_[op].out)
    if (v.valid()) computed[v] = false;
  for (ValueId v : followed.values) computed[v] = false;
}

Size Lowering::chunk_totals_bytes(OpId op, const ScanChunks& chunks) const {
  return line_rows(graph_, op) * Size(chunks.count) * Size(bytes_of(DType::kI64));
}

void Lowering::store_unless_cheap(uint32_t id, IdVec<ValueId, bool>& computed, ValueId x, std::vector<Destination>& wanted) {
  const bool is_wanted = std::any_of(wanted.begin(), wanted.end(), [&](const Destination& d) { return d.value == x; });
  if (!computed[x] || (!is_wanted && is_cheap(computed, x))) return;
  std::vector<Destination> own;
  take(id, wanted, x, own);
  lower_values(id, computed, std::move(own));
  computed[x] = false;
}

bool Lowering::is_cheap(const IdVec<ValueId, bool>& computed, ValueId v) const {
  constexpr int kMostCost = 16, kMostLoads = 2;
  int cost = 0;
  std::set<ValueId> loads;
  for (OpId op : ops_before(computed, {{v, {}, {}}})) {
    const OpKind kind = graph_[op].kind;
    if (!is_pointwise(kind) && !is_view(kind) && kind != OpKind::kFull && kind != OpKind::kIota) return false;
    cost += info(kind).cost;
    for (const Operand& o : graph_[op].in)
      if (o.is_value() && !computed[o.value]) loads.insert(o.value);
  }
  return cost <= kMostCost && loads.size() <= kMostLoads;
}

bool Lowering::follows_in_place(const IdVec<ValueId, bool>& computed, ValueId v, OpId sort) const {
  std::set<ValueId> after;
  for (ValueId out : graph_[sort].out)
    if (out.valid()) after.insert(out);
  if (after.contains(v)) return true;
  const Shape& shape = graph_[*after.begin()].shape;
  for (OpId id : ops_before(computed, {{v, {}, {}}})) {
    if (id == sort) continue;
    const Op& op = graph_[id];
    const bool scatters =
        sorts_by_digits(graph_, sort) && id == graph_[v].def && op.kind == OpKind::kScatter && stores_permutation(graph_, op);
    const bool follows = std::any_of(op.in.begin(), op.in.end(), [&](const Operand& o) { return o.is_value() && after.contains(o.value); });
    if (!scatters && (is_stage(op.kind) || info(op.kind).category == OpCategory::kReduction)) return false;
    if (!follows) continue;
    if ((!scatters && !is_pointwise(op.kind)) || !(graph_[op.out[0]].shape == shape)) return false;
    after.insert(op.out[0]);
  }
  return after.contains(v);
}

bool Lowering::is_read(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted, ValueId v) const {
  if (std::any_of(wanted.begin(), wanted.end(), [&](const Destination& d) { return d.value == v; })) return true;
  for (OpId op : ops_before(computed, wanted))
    for (const Operand& o : graph_[op].in)
      if (o.value == v) return true;
  return false;
}

}  // namespace fusec
