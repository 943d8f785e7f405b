#include "lower/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/updates.h"
#include "kernel/visit.h"
#include "lower/block_work.h"
#include "lower/bulk_stores.h"
#include "lower/coarse.h"
#include "lower/launch.h"
#include "lower/lowering.h"
#include "lower/online.h"
#include "lower/phases.h"
#include "lower/pointwise.h"
#include "lower/rows.h"
#include "lower/scatter.h"
#include "lower/schedule.h"
#include "lower/streams.h"
#include "lower/widen.h"
#include "lower/workspace.h"
#include "support/check.h"

namespace fusec {

Lowering::Lowering(const Graph& graph, const Segmentation& segmentation, const Target& target, const LowerOptions& options)
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

Lowered Lowering::run() {
  const size_t count = std::max<size_t>(segmentation_.segments.size(), 1);  // a graph of copies alone still needs a kernel
  for (size_t s = 0; s < count; ++s)
    lower_segment(static_cast<uint32_t>(s), s < segmentation_.segments.size() ? segmentation_.segments[s] : Segment{});
  if (options_.phases) join_phases(graph_, target_, program_, kernels_, copies_);
  mark_streams(program_, graph_, target_, kernels_);
  for (Kernel& kernel : kernels_) gather_bulk_stores(target_, kernel);
  // From here on kernels and workspace are what they will be.
  for (const Kernel& kernel : kernels_) program_.launches.push_back(launch_of(graph_, kernel));
  for (Launch& copy : copies_) program_.launches.push_back(std::move(copy));
  check_lifetimes();
  place_workspace(program_);
  return {std::move(program_), std::move(kernels_), {}};
}

void Lowering::check_lifetimes() const {
  for (const Kernel& kernel : kernels_)
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      const Buffer& buffer = kernel.buffers[BufferId(b)];
      if (buffer.arg.kind != KernelArg::kWorkspace || buffer.shared_elems > 0) continue;
      const WorkspaceBuffer& w = program_.workspace[buffer.arg.index];
      FUSEC_CHECK(w.first_segment <= kernel.segment && kernel.segment <= w.last_segment,
                  "'" + buffer.value + "' in workspace is used by segment " + std::to_string(kernel.segment) + ", after it was given up");
    }
}

void Lowering::lower_segment(uint32_t id, const Segment& segment) {
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
  auto plan = [&] { return plan_columns(graph_, segment, computed, values_of(wanted)); };
  if (const ColumnPlan columns = staged ? ColumnPlan() : plan(); !columns.columns.empty() && !columns_come_apart(columns, computed)) {
    if (lower_columns(id, columns, computed, wanted) ||
        (settle_rows_before_columns(id, columns, computed, wanted) && lower_columns(id, plan(), computed, wanted)))
      wanted.clear();
  }
  lower_values(id, computed, std::move(wanted));
  for (size_t k = first; k < kernels_.size(); ++k) protect_aliases(id, k);
}

void Lowering::lower_values(uint32_t id, IdVec<ValueId, bool>& computed, std::vector<Destination> wanted) {
  if (wanted.empty() || lower_fused(id, computed, wanted, false)) return;
  for (std::vector<OpId> ops = next_reductions(computed, wanted); !ops.empty(); ops = next_reductions(computed, wanted))
    settle(id, computed, ops, wanted);
  lower_fused(id, computed, wanted, true);
}

void Lowering::settle(uint32_t id, IdVec<ValueId, bool>& computed, const std::vector<OpId>& ops, std::vector<Destination>& wanted) {
  std::vector<Destination> own;
  for (OpId op : ops)
    for (ValueId v : graph_[op].out)
      if (v.valid()) take(id, wanted, v, own);
  lower_fused(id, computed, own, true);
  for (const Destination& d : own) computed[d.value] = false;
}

std::vector<OpId> Lowering::next_reductions(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) const {
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

bool Lowering::settle_rows_before_columns(uint32_t id, const ColumnPlan& plan, IdVec<ValueId, bool>& computed,
                                          std::vector<Destination>& wanted) {
  bool any = false;
  while (true) {
    std::vector<OpId> ops = next_reductions(computed, wanted);
    std::erase_if(ops, [&](OpId op) { return std::find(plan.columns.begin(), plan.columns.end(), op) != plan.columns.end(); });
    if (ops.empty()) return any;
    settle(id, computed, ops, wanted);
    any = true;
  }
}

std::vector<ValueId> Lowering::values_of(const std::vector<Destination>& places) {
  std::vector<ValueId> values;
  for (const Destination& d : places)
    if (std::find(values.begin(), values.end(), d.value) == values.end()) values.push_back(d.value);
  return values;
}

std::vector<OpId> Lowering::reductions_before(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) const {
  std::vector<OpId> ops = ops_before(computed, wanted);
  std::erase_if(ops, [&](OpId op) { return info(graph_[op].kind).category != OpCategory::kReduction; });
  return ops;
}

std::vector<OpId> Lowering::ops_before(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) const {
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

void Lowering::take(uint32_t id, std::vector<Destination>& from, ValueId v, std::vector<Destination>& to) {
  const size_t before = to.size();
  for (const Destination& d : from)
    if (d.value == v) to.push_back(d);
  std::erase_if(from, [&](const Destination& d) { return d.value == v; });
  if (to.size() == before) to.push_back(workspace_for(id, v));
}

Destination Lowering::workspace_for(uint32_t id, ValueId v) {
  const std::vector<Size> strides = row_major_strides(graph_[v].shape);
  const Size bytes = element_count(graph_[v].shape) * Size(bytes_of(graph_[v].dtype));
  const KernelArg arg = new_workspace(bytes, id, std::max(id, last_reader_[v]));
  locations_[v] = {arg, strides};
  return {v, arg, strides};
}

void Lowering::lower_stage(uint32_t id, const Segment& segment, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted) {
  const size_t first = info(graph_[op].kind).category == OpCategory::kScatter ? 1 : 0;  // (what it starts from is stored first)
  for (size_t i = first; i < graph_[op].in.size(); ++i)
    if (const Operand& o = graph_[op].in[i]; o.is_value()) settle_reductions(id, computed, o.value, wanted);
  if (first > 0) lower_scatter_stage(id, segment, computed, op, wanted);
  else lower_line_stage(id, computed, op, wanted);
}

void Lowering::settle_reductions(uint32_t id, IdVec<ValueId, bool>& computed, ValueId v, std::vector<Destination>& wanted) {
  if (reductions_before(computed, {{v, {}, {}}}).empty()) return;
  std::vector<Destination> own;
  take(id, wanted, v, own);
  lower_values(id, computed, std::move(own));
  computed[v] = false;
}

KernelInput Lowering::input_for(uint32_t id, const IdVec<ValueId, bool>& computed, Draft& draft, const std::vector<Destination>& wanted) {
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

CheckPlace Lowering::check_place(OpId op, Draft& draft) {
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

namespace {

// Of the states that a part's groups leave.
PartLayout layout_of_columns(const Part& part) {
  const Sweep& sweep = *part.sweep;
  PartLayout layout{Size(sweep.blocks), iterations(part, sweep.dims) * Size(int64_t{part.vector})};
  if (sweep.skew) layout.first = sweep.skew->first, layout.each = sweep.skew->each, layout.vector = part.vector;
  return layout;
}

}  // namespace

bool Lowering::lower_columns(uint32_t id, const ColumnPlan& plan, const IdVec<ValueId, bool>& computed,
                             const std::vector<Destination>& wanted) {
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
        partials[plan.columns[c]] = {kernel.buffers[a.partials].arg, a.dtype, layout_of_columns(kernel.parts[0])};
      }
      add_kernel(std::move(kernel));
      FUSEC_CHECK(lower_fused(id, computed, part_of(plan.column_roots), true, partials), "the results of columns have no kernel");
      return true;
    }
  }
  program_.workspace.resize(workspace_before);
  return false;
}

bool Lowering::columns_come_apart(const ColumnPlan& plan, const IdVec<ValueId, bool>& computed) const {
  const Op& column = graph_[plan.columns[0]];
  const SymbolValues typical = typical_values(graph_.symbols);
  const int64_t elems = evaluate(element_count(graph_[column.in[0].value].shape), typical);
  const int64_t columns = evaluate(element_count(graph_[column.out[0]].shape), typical);
  return reads_columns_again(target_, elems / std::max<int64_t>(columns, 1), elems) &&
         std::all_of(plan.columns.begin(), plan.columns.end(),
                     [&](OpId op) { return reductions_before(computed, {{graph_[op].in[0].value, {}, {}}}).empty(); });
}

bool Lowering::lower_fused(uint32_t id, const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted, bool alone,
                           const std::map<OpId, Partial>& partials) {
  const size_t workspace_before = program_.workspace.size();
  Draft draft;
  Kernel& kernel = draft.kernel;
  kernel.segment = id;
  KernelInput input = input_for(id, computed, draft, wanted);
  for (const auto& [op, partial] : partials) {
    Buffer b{partial.arg, partial.dtype, "partial"};
    b.read = true;
    input.reduced_before[op] = {kernel.buffers.push(std::move(b)), partial.dtype, partial.layout};
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
  if (std::optional<Kernel> joined = side_by_side(rows, kernel, swept, scratch)) add_kernel(std::move(*joined));
  else
    for (Kernel& one : swept) add_kernel(std::move(one));
  input.stores = std::move(pointwise);
  lower_pointwise(input, kernel);
  add_kernel(std::move(kernel));
  return true;
}

std::vector<Kernel> Lowering::schedule_parts_by_rows(const RowParts& rows, const Kernel& kernel,
                                                     const std::function<KernelArg(const Size&)>& scratch) const {
  std::vector<Kernel> kernels;
  for (const Part& part : rows.parts) kernels.push_back(schedule_by_rows(part, kernel, scratch));
  return kernels;
}

Kernel Lowering::schedule_by_rows(const Part& part, Kernel kernel, const std::function<KernelArg(const Size&)>& scratch,
                                  int across_block) const {
  kernel.parts.push_back(part);
  keep_order(kernel);
  schedule_rows(graph_, target_, scratch, kernel, across_block);
  return kernel;
}

std::optional<Kernel> Lowering::side_by_side(const RowParts& rows, const Kernel& draft, const std::vector<Kernel>& kernels,
                                             const std::function<KernelArg(const Size&)>& scratch) const {
  constexpr int64_t kThreads = 2560;  // a multiprocessor: hardly more than run at once
  auto stands_alone = [](const Kernel& k) {
    const Sweep& sweep = *k.parts[0].sweep;
    return sweep.split > 1 || (sweep.across && sweep.held) || k.dynamic_bytes > 0 || k.blocks_resident > 0 ||
           !k.parts[0].grid.elems.is_constant();
  };
  const auto along = std::find_if(kernels.begin(), kernels.end(), [](const Kernel& k) { return !k.parts[0].sweep->across; });
  if (kernels.size() < 2 || along == kernels.end() || std::any_of(kernels.begin(), kernels.end(), stands_alone)) return std::nullopt;
  // (what lies over an input may be written before another part has read that)
  if (std::any_of(draft.buffers.begin(), draft.buffers.end(), [&](const Buffer& b) { return b.written && lies_over_input(b.arg); }))
    return std::nullopt;
  Kernel all = *along;
  all.parts.clear();
  int64_t blocks = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const bool across = kernels[k].parts[0].sweep->across;
    const Kernel kernel = across ? schedule_by_rows(rows.parts[k], draft, scratch, all.block) : kernels[k];
    if (kernel.block != all.block || stands_alone(kernel)) return std::nullopt;
    blocks += kernel.parts[0].grid.blocks();
    all.parts.push_back(kernel.parts[0]);
  }
  if (blocks * all.block > target_.multiprocessors * kThreads || own_shared_bytes(graph_, all) > kStaticSharedBytes) return std::nullopt;
  return all;
}

bool Lowering::reads_for_deviations(const Kernel& kernel) {
  const Part& part = kernel.parts[0];
  const bool stores_rows = std::any_of(part.stores.begin(), part.stores.end(),
                                       [&, along = along_row(part)](const Store& s) { return is_along(part, along, s); });
  return !part.sweep->held && (part.sweep->staged.empty() || !stores_rows) &&
         std::any_of(part.sweep->accumulators.begin(), part.sweep->accumulators.end(),
                     [](const Accumulator& a) { return a.kind == Accumulator::kDeviations; });
}

bool Lowering::lies_over_input(const KernelArg& arg) const {
  return arg.kind == KernelArg::kOutput && graph_.outputs[arg.index].alias.has_value();
}

void Lowering::keep_order(Kernel& kernel) const {
  for (Store& s : kernel.parts[0].stores) s.last = lies_over_input(kernel.buffers[s.buffer].arg);
}

void Lowering::add_kernel(Kernel kernel) {
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

std::vector<ValueId> Lowering::roots_of(uint32_t id, const Segment& segment) const {
  std::vector<ValueId> values = segment.outputs;
  if (id == 0)  // outputs that are inputs: any kernel may copy them
    for (const Output& o : graph_.outputs)
      if (!graph_[o.value].def.valid() && std::find(values.begin(), values.end(), o.value) == values.end()) values.push_back(o.value);
  return values;
}

std::vector<Destination> Lowering::destinations_of(uint32_t id, const std::vector<ValueId>& values) {
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

KernelArg Lowering::new_workspace(const Size& bytes, uint32_t first, uint32_t last) {
  program_.workspace.push_back({bytes, first, last, 0});
  return {KernelArg::kWorkspace, static_cast<uint32_t>(program_.workspace.size() - 1)};
}

void Lowering::protect_aliases(uint32_t id, size_t at) {
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

bool Lowering::read_later(size_t at, uint32_t input) const {
  for (size_t k = at + 1; k < kernels_.size(); ++k)
    for (const Buffer& b : kernels_[k].buffers)
      if (b.read && b.arg.kind == KernelArg::kInput && b.arg.index == input) return true;
  return false;
}

Size Lowering::span(const Shape& shape, const std::vector<Size>& strides) {
  Size last = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is(0)) return 0;
    last += (shape[d] - 1) * strides[d];
  }
  return last;
}

Lowered lower(const Graph& graph, const Segmentation& segmentation, const Target& target, const LowerOptions& options) {
  Lowered lowered;
  lowered.graph = graph;
  Segmentation widened = segmentation;
  widen_scatters(lowered.graph, widened, options.scatter);
  Lowered made = Lowering(lowered.graph, widened, target, options).run();
  lowered.program = std::move(made.program);
  lowered.kernels = std::move(made.kernels);
  return lowered;
}

}  // namespace fusec
