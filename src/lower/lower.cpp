#include "lower/lower.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "graph/updates.h"
#include "kernel/visit.h"
#include "lower/coarse.h"
#include "lower/columns.h"
#include "lower/launch.h"
#include "lower/lines.h"
#include "lower/lists.h"
#include "lower/online.h"
#include "lower/phases.h"
#include "lower/pointwise.h"
#include "lower/radix.h"
#include "lower/replicas.h"
#include "lower/rows.h"
#include "lower/scatter.h"
#include "lower/schedule.h"
#include "lower/streams.h"
#include "lower/workspace.h"
#include "support/check.h"

namespace fusec {

namespace {

// States that the blocks of one kernel leave for the next, `parts` of them for each result.
struct Partial {
  KernelArg arg;
  DType dtype = DType::kF32;
  Size parts;
};

// Memory that holds a value between launches.
struct Location {
  KernelArg arg;
  std::vector<Size> strides;
};

// A place that waits for a value.
struct Destination {
  ValueId value;
  KernelArg arg;
  std::vector<Size> strides;
};

// A kernel whose parameters are still being found.
struct Draft {
  Kernel kernel;
  std::map<ValueId, BufferId> reads;
  BufferId record;
};

bool is_stage(OpKind kind) {
  const OpCategory category = info(kind).category;
  return category == OpCategory::kScatter || category == OpCategory::kScan || category == OpCategory::kSort;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const Segmentation& segmentation, const Target& target, const LowerOptions& options)
      : graph_(graph),
        segmentation_(segmentation),
        target_(target),
        options_(options),
        coarse_(find_coarse_ops(graph)),
        last_reader_(graph.values.size(), 0),
        outputs_of_(graph.values.size()) {
    program_.name = graph.name;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const Input& in = graph.inputs[i];
      locations_[in.value] = {{in.scalar ? KernelArg::kScalar : KernelArg::kInput, static_cast<uint32_t>(i)}, strides_of(graph, in)};
    }
    for (size_t k = 0; k < graph.outputs.size(); ++k) outputs_of_[graph.outputs[k].value].push_back(static_cast<uint32_t>(k));
    for (size_t s = 0; s < segmentation.segments.size(); ++s)
      for (ValueId v : segmentation.segments[s].inputs) last_reader_[v] = static_cast<uint32_t>(s);
  }

  Lowered run() {
    const size_t count = std::max<size_t>(segmentation_.segments.size(), 1);  // a graph of copies alone still needs a kernel
    for (size_t s = 0; s < count; ++s)
      lower_segment(static_cast<uint32_t>(s), s < segmentation_.segments.size() ? segmentation_.segments[s] : Segment{});
    if (options_.phases) join_phases(graph_, target_, program_, kernels_, copies_);
    mark_streams(program_, graph_, target_, kernels_);
    // From here on kernels and workspace are what they will be.
    for (const Kernel& kernel : kernels_) program_.launches.push_back(launch_of(graph_, kernel));
    for (Launch& copy : copies_) program_.launches.push_back(std::move(copy));
    check_lifetimes();
    place_workspace(program_);
    return {std::move(program_), std::move(kernels_), {}};
  }

 private:
  // Outside of its lifetime a buffer's place belongs to others.
  void check_lifetimes() const {
    for (const Kernel& kernel : kernels_)
      for (size_t b = 0; b < kernel.buffers.size(); ++b) {
        const Buffer& buffer = kernel.buffers[BufferId(b)];
        if (buffer.arg.kind != KernelArg::kWorkspace || buffer.shared_elems > 0) continue;
        const WorkspaceBuffer& w = program_.workspace[buffer.arg.index];
        FUSEC_CHECK(w.first_segment <= kernel.segment && kernel.segment <= w.last_segment,
                    "'" + buffer.value + "' in workspace is used by segment " + std::to_string(kernel.segment) + ", after it was given up");
      }
  }

  void lower_segment(uint32_t id, const Segment& segment) {
    IdVec<ValueId, bool> computed(graph_.values.size(), false);
    for (const auto* ops : {&segment.ops, &segment.recomputed})
      for (OpId op : *ops)
        for (ValueId v : graph_[op].out)
          if (v.valid()) computed[v] = true;
    const size_t first = kernels_.size();
    std::vector<Destination> wanted = destinations_of(id, roots_of(id, segment));
    for (OpId op : ops_before(computed, wanted))
      if (is_stage(graph_[op].kind) && is_computed(computed, op)) lower_stage(id, segment, computed, op, wanted);
    const bool staged = std::any_of(segment.ops.begin(), segment.ops.end(), [&](OpId op) { return is_stage(graph_[op].kind); });
    if (!staged && (lower_columns(id, segment, computed, wanted) ||
                    (settle_rows_before_columns(id, segment, computed, wanted) && lower_columns(id, segment, computed, wanted))))
      wanted.clear();
    lower_values(id, computed, std::move(wanted));
    for (size_t k = first; k < kernels_.size(); ++k) protect_aliases(id, k);
  }

  // Stores values: in as few kernels as can hold them, else the reductions before first, whose results alone are stored in between.
  void lower_values(uint32_t id, IdVec<ValueId, bool>& computed, std::vector<Destination> wanted) {
    if (wanted.empty() || lower_fused(id, computed, wanted, false)) return;
    for (std::vector<OpId> ops = next_reductions(computed, wanted); !ops.empty(); ops = next_reductions(computed, wanted))
      settle(id, computed, ops, wanted);
    lower_fused(id, computed, wanted, true);
  }

  // Stores the results of reductions, with those of the same rows in one kernel.
  void settle(uint32_t id, IdVec<ValueId, bool>& computed, const std::vector<OpId>& ops, std::vector<Destination>& wanted) {
    std::vector<Destination> own;
    for (OpId op : ops)
      for (ValueId v : graph_[op].out)
        if (v.valid()) take(id, wanted, v, own);
    lower_fused(id, computed, own, true);
    for (const Destination& d : own) computed[d.value] = false;
  }

  // The reductions on the way to the wanted values that wait for no other one.
  std::vector<OpId> next_reductions(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) const {
    std::vector<OpId> next;
    std::set<ValueId> waits;  // for a reduction
    for (OpId op : ops_before(computed, wanted)) {
      const auto& in = graph_[op].in;
      const bool later = std::any_of(in.begin(), in.end(), [&](const Operand& o) { return o.is_value() && waits.contains(o.value); });
      const bool reduces = info(graph_[op].kind).category == OpCategory::kReduction;
      if (reduces && !later) next.push_back(op);
      if (reduces || later) waits.insert(graph_[op].out.begin(), graph_[op].out.end());
    }
    return next;
  }

  // Where rows are too wide for one block to keep the states of all their columns: the reductions of rows come first.
  bool settle_rows_before_columns(uint32_t id, const Segment& segment, IdVec<ValueId, bool>& computed, std::vector<Destination>& wanted) {
    const ColumnPlan plan = plan_columns(graph_, segment, computed, values_of(wanted));
    if (plan.columns.empty()) return false;
    bool any = false;
    while (true) {
      std::vector<OpId> ops = next_reductions(computed, wanted);
      std::erase_if(ops, [&](OpId op) { return std::find(plan.columns.begin(), plan.columns.end(), op) != plan.columns.end(); });
      if (ops.empty()) return any;
      settle(id, computed, ops, wanted);
      any = true;
    }
  }

  static std::vector<ValueId> values_of(const std::vector<Destination>& places) {
    std::vector<ValueId> values;
    for (const Destination& d : places)
      if (std::find(values.begin(), values.end(), d.value) == values.end()) values.push_back(d.value);
    return values;
  }

  std::vector<OpId> reductions_before(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) const {
    std::vector<OpId> ops = ops_before(computed, wanted);
    std::erase_if(ops, [&](OpId op) { return info(graph_[op].kind).category != OpCategory::kReduction; });
    return ops;
  }

  // The ops that a segment still evaluates on the way to the wanted values, operands first.
  std::vector<OpId> ops_before(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) const {
    std::vector<OpId> order;
    std::set<OpId> seen;
    std::vector<std::pair<OpId, size_t>> open;  // and the next operand to look at
    auto visit = [&](ValueId v) {
      if (v.valid() && computed[v] && seen.insert(graph_[v].def).second) open.emplace_back(graph_[v].def, 0);
    };
    for (const Destination& d : wanted) {
      visit(d.value);
      while (!open.empty()) {
        auto& [op, next] = open.back();
        if (next < graph_[op].in.size()) {
          visit(graph_[op].in[next++].value);
        } else {
          order.push_back(op);
          open.pop_back();
        }
      }
    }
    return order;
  }

  // Moves the destinations of a value from one list to another; a value that has none gets workspace.
  void take(uint32_t id, std::vector<Destination>& from, ValueId v, std::vector<Destination>& to) {
    const size_t before = to.size();
    for (const Destination& d : from)
      if (d.value == v) to.push_back(d);
    std::erase_if(from, [&](const Destination& d) { return d.value == v; });
    if (to.size() == before) to.push_back(workspace_for(id, v));
  }

  // Whoever reads the value from now on finds it here: it lives as long as the value's last reader, also where it is made for this segment.
  Destination workspace_for(uint32_t id, ValueId v) {
    const std::vector<Size> strides = row_major_strides(graph_[v].shape);
    const Size bytes = element_count(graph_[v].shape) * Size(bytes_of(graph_[v].dtype));
    const KernelArg arg = new_workspace(bytes, id, std::max(id, last_reader_[v]));
    locations_[v] = {arg, strides};
    return {v, arg, strides};
  }

  // --- stages: ops whose result is in memory before anything reads it

  void lower_stage(uint32_t id, const Segment& segment, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted) {
    const size_t first = info(graph_[op].kind).category == OpCategory::kScatter ? 1 : 0;  // (what it starts from is stored first)
    for (size_t i = first; i < graph_[op].in.size(); ++i)
      if (const Operand& o = graph_[op].in[i]; o.is_value()) settle_reductions(id, computed, o.value, wanted);
    if (first > 0) lower_scatter_stage(id, segment, computed, op, wanted);
    else lower_line_stage(id, computed, op, wanted);
  }

  void lower_line_stage(uint32_t id, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted) {
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

  bool is_computed(const IdVec<ValueId, bool>& computed, OpId op) const {
    return std::any_of(graph_[op].out.begin(), graph_[op].out.end(), [&](ValueId v) { return v.valid() && computed[v]; });
  }

  // Counters are cleared, then one kernel sorts, and stores what it can make of its results at their own positions.
  void lower_long_sort(uint32_t id, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted) {
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

  // What the kernel of a scan or a sort stores, and the wanted values that are there then.
  struct Followed {
    std::vector<Destination> own;
    std::vector<ValueId> values;
  };

  // Of the wanted values those that follow in place, also where a reshape only counts them anew, and results that others still read.
  Followed take_what_follows(uint32_t id, const IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted) {
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

  // The value of the same elements in the same order that reshapes make this one of; itself where a place for it has other strides.
  ValueId before_reshapes(const IdVec<ValueId, bool>& computed, ValueId v, const std::vector<Destination>& wanted) const {
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

  void settle_line(IdVec<ValueId, bool>& computed, OpId op, const Followed& followed) const {
    for (ValueId v : graph_[op].out)
      if (v.valid()) computed[v] = false;
    for (ValueId v : followed.values) computed[v] = false;
  }

  Size chunk_totals_bytes(OpId op, const ScanChunks& chunks) const {
    return line_rows(graph_, op) * Size(chunks.count) * Size(bytes_of(DType::kI64));
  }

  // A value that two kernels, or one twice, are to read: stored first, where that costs less than to compute it again.
  void store_unless_cheap(uint32_t id, IdVec<ValueId, bool>& computed, ValueId x, std::vector<Destination>& wanted) {
    const bool is_wanted = std::any_of(wanted.begin(), wanted.end(), [&](const Destination& d) { return d.value == x; });
    if (!computed[x] || (!is_wanted && is_cheap(computed, x))) return;
    std::vector<Destination> own;
    take(id, wanted, x, own);
    lower_values(id, computed, std::move(own));
    computed[x] = false;
  }

  // Cheaper to compute twice than to store.
  bool is_cheap(const IdVec<ValueId, bool>& computed, ValueId v) const {
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

  // True for results of a sort, and for what each position of a result gives by itself: pointwise ops, and a scatter by a permutation.
  bool follows_in_place(const IdVec<ValueId, bool>& computed, ValueId v, OpId sort) const {
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
      const bool follows =
          std::any_of(op.in.begin(), op.in.end(), [&](const Operand& o) { return o.is_value() && after.contains(o.value); });
      if (!scatters && (is_stage(op.kind) || info(op.kind).category == OpCategory::kReduction)) return false;
      if (!follows) continue;
      if ((!scatters && !is_pointwise(op.kind)) || !(graph_[op.out[0]].shape == shape)) return false;
      after.insert(op.out[0]);
    }
    return after.contains(v);
  }

  // True if an op on the way to the wanted values needs this one, or it is wanted itself.
  bool is_read(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted, ValueId v) const {
    if (std::any_of(wanted.begin(), wanted.end(), [&](const Destination& d) { return d.value == v; })) return true;
    for (OpId op : ops_before(computed, wanted))
      for (const Operand& o : graph_[op].in)
        if (o.value == v) return true;
    return false;
  }

  // An operand that needs reductions is stored before.
  void settle_reductions(uint32_t id, IdVec<ValueId, bool>& computed, ValueId v, std::vector<Destination>& wanted) {
    if (reductions_before(computed, {{v, {}, {}}}).empty()) return;
    std::vector<Destination> own;
    take(id, wanted, v, own);
    lower_values(id, computed, std::move(own));
    computed[v] = false;
  }

  // What it starts from is stored where the result is to be, unless it lies there already; then the updates.
  void lower_scatter_stage(uint32_t id, const Segment& segment, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted) {
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

  BufferId add_target(OpId op, const Destination& to, bool read, Draft& draft) const {
    const Value& v = graph_[graph_[op].out[0]];
    Buffer target{to.arg, v.dtype, v.name};
    target.read = read, target.written = true;
    return draft.kernel.buffers.push(std::move(target));
  }

  // Copies of the target are cleared and updated; then it takes what they have collected.
  void lower_replicated(uint32_t id, const IdVec<ValueId, bool>& computed, OpId op, const Destination& to, const Replicas& replicas) {
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

  // Why lists of updates do not suit; empty where they do: whatever comes after is computed where their sums are.
  std::string why_no_lists(const IdVec<ValueId, bool>& computed, OpId op, const std::vector<Destination>& wanted) const {
    const bool chooses = options_.scatter == ScatterSchedule::kAuto;
    if (!chooses && options_.scatter != ScatterSchedule::kLists) return "another schedule is asked for";
    if (!can_list(graph_, op)) return "lists are for rows of f32, of sizes that are known, to which index_put adds";
    if (chooses && !should_list(graph_, op)) return "rows are short, or many updates go to each";
    const ValueId v = graph_[op].out[0];
    auto in_place = [&](const Destination& d) {
      return d.value == v && d.arg.kind == KernelArg::kOutput && graph_.outputs[d.arg.index].alias.has_value();
    };
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

  // The lists; what reads their sums comes with the values still wanted.
  void lower_listed(uint32_t id, const IdVec<ValueId, bool>& computed, OpId op) {
    const Shape& shape = graph_[graph_[op].in[0].value].shape;
    const Size rows = shape[static_cast<size_t>(graph_.attrs(graph_[op]).dim)], updates = graph_[graph_[op].in[1].value].shape[0];
    const Size bytes(bytes_of(DType::kI32));
    ListPlace sizes;
    size_list(graph_, op, sizes);
    lists_[op] = {new_workspace(rows * bytes, id, id), new_workspace(rows * Size(sizes.slots) * bytes, id, id),
                  new_workspace((updates + 1) * bytes, id, id), new_workspace(element_count(shape) * Size(sizes.copies) * bytes, id, id)};
    for (const auto& lower_step : {lower_list_starts, lower_list_claims, lower_list_rest}) {
      Draft draft;
      draft.kernel.segment = id;
      const KernelInput input = input_for(id, computed, draft, {});
      lower_step(input, op, list_place(op, draft, true), draft.kernel);
      draft.kernel.scatter.schedule = "lists";
      add_kernel(std::move(draft.kernel));
    }
  }

  ListPlace list_place(OpId op, Draft& draft, bool written) const {
    auto buffer = [&](const KernelArg& arg, DType dtype, const char* name) {
      Buffer b{arg, dtype, name};
      b.read = true, b.written = written;
      return draft.kernel.buffers.push(std::move(b));
    };
    const std::array<KernelArg, 4>& at = lists_.at(op);
    ListPlace list{buffer(at[0], DType::kI32, "counts"), buffer(at[1], DType::kI32, "slots"), buffer(at[2], DType::kI32, "rest"),
                   buffer(at[3], DType::kF32, "sums")};
    size_list(graph_, op, list);
    return list;
  }

  Destination scatter_destination(uint32_t id, const Segment& segment, OpId op, const std::vector<Destination>& wanted) {
    const ValueId v = graph_[op].out[0];
    if (const auto it = scatter_places_.find(v); it != scatter_places_.end()) return it->second;
    return scatter_places_.emplace(v, choose_scatter_destination(id, segment, op, wanted)).first->second;
  }

  // An output of its own, best the one that lies over an input; else where the scatter lies that alone goes on from here.
  Destination choose_scatter_destination(uint32_t id, const Segment& segment, OpId op, const std::vector<Destination>& wanted) {
    const ValueId v = graph_[op].out[0];
    const Destination* best = nullptr;
    for (const Destination& d : wanted)
      if (d.value == v && (!best || (d.arg.kind == KernelArg::kOutput && graph_.outputs[d.arg.index].alias))) best = &d;
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

  // True if the output lies over x and nothing else needs x from then on.
  bool updates_in_place(uint32_t id, const Segment& segment, OpId op, const Destination& to) const {
    const ValueId x = graph_[op].in[0].value;
    if (to.arg.kind != KernelArg::kOutput || !graph_.outputs[to.arg.index].alias) return false;
    if (graph_.inputs[*graph_.outputs[to.arg.index].alias].value != x || last_reader_[x] > id) return false;
    const std::vector<ValueId> roots = roots_of(id, segment);
    int readers = static_cast<int>(std::count(roots.begin(), roots.end(), x));
    for (const auto* ops : {&segment.ops, &segment.recomputed})
      for (OpId user : *ops)
        for (const Operand& o : graph_[user].in) readers += o.value == x;
    return readers == 1;
  }

  KernelInput input_for(uint32_t id, const IdVec<ValueId, bool>& computed, Draft& draft, const std::vector<Destination>& wanted) {
    auto place = [this, &draft](ValueId v) {
      const auto at = locations_.find(v);
      FUSEC_CHECK(at != locations_.end(), "'" + graph_[v].name + "' is read before any segment stored it");
      const auto [it, is_new] = draft.reads.try_emplace(v, BufferId());
      if (is_new) {
        Buffer b{at->second.arg, graph_[v].dtype, graph_[v].name};
        b.read = true;
        it->second = draft.kernel.buffers.push(std::move(b));
      }
      return Place{it->second, at->second.strides, at->second.arg.kind == KernelArg::kScalar};
    };
    auto check = [this, &draft](OpId op) { return check_place(op, draft); };
    auto scratch = [this, id](const Size& bytes) { return new_workspace(bytes, id, id); };
    KernelInput input{graph_, target_, computed, place, check, scratch, {}};
    input.list = [this, &draft](OpId op) { return list_place(op, draft, false); };
    for (const Destination& d : wanted) {
      Buffer b{d.arg, graph_[d.value].dtype, graph_[d.value].name};
      b.written = true;
      input.stores.push_back({d.value, draft.kernel.buffers.push(std::move(b)), d.strides});
    }
    return input;
  }

  CheckPlace check_place(OpId op, Draft& draft) {
    if (!options_.check_indices) return {};
    if (!draft.record.valid()) {
      Buffer b{{KernelArg::kErrorFlag, 0}, DType::kI64, "index_error"};
      b.read = b.written = true;
      draft.record = draft.kernel.buffers.push(std::move(b));
    }
    const auto [it, is_new] = check_numbers_.try_emplace(op, static_cast<uint32_t>(program_.checks.size() + 1));
    if (is_new) {
      const Op& o = graph_[op];
      const std::string& name = o.origin.empty() ? graph_.name_of(op) : o.origin;
      program_.checks.push_back(
          {"'" + name + "' (" + std::string(name_of(o.kind)) + ")", graph_[o.in[o.kind == OpKind::kEmbedding ? 0 : 1].value].shape});
    }
    return {draft.record, it->second};
  }

  // Reductions over the leading dims that one pass over the rows of their operands can serve beside what is stored of these rows. What
  // waits for their results comes in a second kernel. False, and nothing done, where there are none.
  bool lower_columns(uint32_t id, const Segment& segment, const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) {
    const ColumnPlan plan = plan_columns(graph_, segment, computed, values_of(wanted));
    if (plan.columns.empty()) return false;
    auto part_of = [&](const std::vector<ValueId>& values) {
      std::vector<Destination> some;
      for (const Destination& d : wanted)
        if (std::find(values.begin(), values.end(), d.value) != values.end()) some.push_back(d);
      return some;
    };
    const size_t workspace_before = program_.workspace.size();
    Draft draft;
    draft.kernel.segment = id;
    KernelInput input = input_for(id, computed, draft, part_of(plan.row_roots));
    RowParts rows = trace_rows_with_columns(input, plan.columns);
    Kernel& kernel = draft.kernel;
    if (!rows.refused.valid()) {
      kernel.parts = std::move(rows.parts);
      keep_order(kernel);
      if (schedule_columns(graph_, target_, input.scratch, kernel)) {
        const Sweep& sweep = *kernel.parts[0].sweep;
        std::map<OpId, Partial> partials;
        for (size_t c = 0; c < plan.columns.size(); ++c) {
          const Accumulator& a = sweep.columns[c].accumulator;
          partials[plan.columns[c]] = {kernel.buffers[a.partials].arg, a.dtype, Size(sweep.blocks)};
        }
        add_kernel(std::move(kernel));
        FUSEC_CHECK(lower_fused(id, computed, part_of(plan.column_roots), true, partials), "the results of columns have no kernel");
        return true;
      }
    }
    program_.workspace.resize(workspace_before);
    return false;
  }

  // Kernels that compute the wanted values and store them: one for each part that sweeps over rows, one for all that does not. False,
  // and nothing done, when a reduction is refused.
  bool lower_fused(uint32_t id, const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted, bool alone,
                   const std::map<OpId, Partial>& partials = {}) {
    const size_t workspace_before = program_.workspace.size();
    Draft draft;
    Kernel& kernel = draft.kernel;
    kernel.segment = id;
    KernelInput input = input_for(id, computed, draft, wanted);
    for (const auto& [op, partial] : partials) {
      Buffer b{partial.arg, partial.dtype, "partial"};
      b.read = true;
      input.reduced_before[op] = {kernel.buffers.push(std::move(b)), partial.dtype, partial.parts};
    }
    const auto& scratch = input.scratch;
    std::vector<KernelInput::Stored> pointwise;
    RowParts rows = trace_rows(input, pointwise, true);
    const bool few = std::any_of(rows.parts.begin(), rows.parts.end(), [&](const Part& p) { return too_few_rows(p, target_); });
    if (!alone && (rows.refused.valid() || few)) return false;
    FUSEC_CHECK(!rows.refused.valid(), "no schedule for '" + (rows.refused.valid() ? graph_.name_of(rows.refused) : "") + "'");
    std::vector<Kernel> swept = schedule_parts_by_rows(rows, kernel, scratch);
    // Where a row cannot be held, a sweep less is worth more arithmetic.
    auto reschedule = [&] {
      program_.workspace.resize(workspace_before);
      swept = schedule_parts_by_rows(rows, kernel, scratch);
    };
    if (std::any_of(swept.begin(), swept.end(), reads_for_deviations)) {
      pointwise.clear();
      rows = trace_rows(input, pointwise, false);
      reschedule();
    }
    bool online = false;
    for (size_t k = 0; k < rows.parts.size(); ++k)
      if (!swept[k].parts[0].sweep->held) online = make_online(graph_, rows.parts[k]) || online;
    if (online) reschedule();
    for (Kernel& one : swept) add_kernel(std::move(one));
    input.stores = std::move(pointwise);
    lower_pointwise(input, kernel);
    add_kernel(std::move(kernel));
    return true;
  }

  std::vector<Kernel> schedule_parts_by_rows(const RowParts& rows, const Kernel& kernel,
                                             const std::function<KernelArg(const Size&)>& scratch) {
    std::vector<Kernel> kernels;
    for (const Part& part : rows.parts) {
      kernels.push_back(kernel);
      kernels.back().parts.push_back(part);
      keep_order(kernels.back());
      schedule_rows(graph_, target_, scratch, kernels.back());
    }
    return kernels;
  }

  static bool reads_for_deviations(const Kernel& kernel) {
    const Part& part = kernel.parts[0];
    const bool stores_rows = std::any_of(part.stores.begin(), part.stores.end(),
                                         [&, along = along_row(part)](const Store& s) { return is_along(part, along, s); });
    return !part.sweep->held && (part.sweep->staged.empty() || !stores_rows) &&
           std::any_of(part.sweep->accumulators.begin(), part.sweep->accumulators.end(),
                       [](const Accumulator& a) { return a.kind == Accumulator::kDeviations; });
  }

  // What may overwrite an input waits until the row has been read.
  void keep_order(Kernel& kernel) const {
    for (Store& s : kernel.parts[0].stores) {
      const KernelArg& arg = kernel.buffers[s.buffer].arg;
      s.last = arg.kind == KernelArg::kOutput && graph_.outputs[arg.index].alias.has_value();
    }
  }

  void add_kernel(Kernel kernel) {
    if (std::all_of(kernel.parts.begin(), kernel.parts.end(), [](const Part& p) {
          return p.stores.empty() && (!p.sweep || p.sweep->columns.empty()) && !(p.line && p.line->sums_chunks);
        }))
      return;
    kernel.name = program_.name + "_s" + std::to_string(kernel.segment);
    int& count = kernels_of_segment_[kernel.segment];
    if (count++ > 0) kernel.name += std::string("_") + std::to_string(count);
    drop_unused_buffers(kernel);
    for (Part& part : kernel.parts)
      for (Node& n : part.nodes) n.coarse = n.kind == Node::kOp && n.dtype == DType::kF32 && coarse_[n.op];
    kernels_.push_back(std::move(kernel));
  }

  // Values that segment `id` stores.
  std::vector<ValueId> roots_of(uint32_t id, const Segment& segment) const {
    std::vector<ValueId> values = segment.outputs;
    if (id == 0)  // outputs that are inputs: any kernel may copy them
      for (const Output& o : graph_.outputs)
        if (!graph_[o.value].def.valid() && std::find(values.begin(), values.end(), o.value) == values.end()) values.push_back(o.value);
    return values;
  }

  // Each place that needs one of the values, which segment `id` stores.
  std::vector<Destination> destinations_of(uint32_t id, const std::vector<ValueId>& values) {
    std::vector<Destination> places;
    for (ValueId v : values) {
      for (uint32_t k : outputs_of_[v]) {
        const std::vector<Size> strides = strides_of(graph_, graph_.outputs[k]);
        places.push_back({v, {KernelArg::kOutput, k}, strides});
        if (graph_[v].def.valid()) locations_.try_emplace(v, Location{{KernelArg::kOutput, k}, strides});
      }
      if (outputs_of_[v].empty()) places.push_back(workspace_for(id, v));
    }
    return places;
  }

  KernelArg new_workspace(const Size& bytes, uint32_t first, uint32_t last) {
    program_.workspace.push_back({bytes, first, last, 0});
    return {KernelArg::kWorkspace, static_cast<uint32_t>(program_.workspace.size() - 1)};
  }

  // In-place updates: where the old value is still needed, elsewhere or at another index, the new one goes to a temporary and is
  // copied over when everything has run.
  void protect_aliases(uint32_t id, size_t at) {
    Kernel& kernel = kernels_[at];
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      Buffer& out = kernel.buffers[BufferId(b)];
      if (out.arg.kind != KernelArg::kOutput || !out.written) continue;
      const Output& output = graph_.outputs[out.arg.index];
      if (!output.alias) continue;
      const ValueId old = graph_.inputs[*output.alias].value;
      if (last_reader_[old] > id || read_later(at, *output.alias) || reads_elsewhere(kernel, BufferId(b), *output.alias)) {
        const Size bytes = span(graph_[output.value].shape, strides_of(graph_, output)) * Size(bytes_of(out.dtype));
        const KernelArg from = out.arg;
        out.arg = new_workspace(bytes, id, UINT32_MAX);
        if (auto it = locations_.find(output.value);
            it != locations_.end() && it->second.arg.kind == KernelArg::kOutput && it->second.arg.index == from.index)
          it->second.arg = out.arg;
        for (size_t k = at + 1; k < kernels_.size(); ++k)
          for (Buffer& later : kernels_[k].buffers)
            if (later.read && later.arg.kind == from.kind && later.arg.index == from.index) later.arg = out.arg;
        Launch copy;
        copy.kind = Launch::kCopy;
        copy.segment = id;
        copy.args = {out.arg, from};
        copy.arg_dtypes = {out.dtype, out.dtype};
        copy.copy_bytes = bytes;
        copies_.push_back(std::move(copy));
      } else {
        out.may_overlap = true;
        for (Buffer& in : kernel.buffers)
          if (in.arg.kind == KernelArg::kInput && in.arg.index == *output.alias) in.may_overlap = true;
      }
    }
  }

  // True if a kernel after this one, of the same segment, reads the input.
  bool read_later(size_t at, uint32_t input) const {
    for (size_t k = at + 1; k < kernels_.size(); ++k)
      for (const Buffer& b : kernels_[k].buffers)
        if (b.read && b.arg.kind == KernelArg::kInput && b.arg.index == input) return true;
    return false;
  }

  // Elements from the first to the last that a layout touches.
  static Size span(const Shape& shape, const std::vector<Size>& strides) {
    Size last = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d].is(0)) return 0;
      last += (shape[d] - 1) * strides[d];
    }
    return last;
  }

  const Graph& graph_;
  const Segmentation& segmentation_;
  const Target& target_;
  const LowerOptions& options_;
  const IdVec<OpId, bool> coarse_;
  Program program_;
  std::vector<Kernel> kernels_;
  std::map<ValueId, Location> locations_;
  IdVec<ValueId, uint32_t> last_reader_;  // segment
  IdVec<ValueId, std::vector<uint32_t>> outputs_of_;
  std::vector<Launch> copies_;
  std::map<uint32_t, int> kernels_of_segment_;
  std::map<OpId, uint32_t> check_numbers_;
  std::map<ValueId, Destination> scatter_places_;
  std::map<OpId, std::array<KernelArg, 4>> lists_;  // as in ListPlace
};

}  // namespace

Lowered lower(const Graph& graph, const Segmentation& segmentation, const Target& target, const LowerOptions& options) {
  Lowered lowered;
  lowered.graph = graph;
  Segmentation widened = segmentation;
  widen_scatters(lowered.graph, widened);
  Lowered made = Lowering(lowered.graph, widened, target, options).run();
  lowered.program = std::move(made.program);
  lowered.kernels = std::move(made.kernels);
  return lowered;
}

}  // namespace fusec
