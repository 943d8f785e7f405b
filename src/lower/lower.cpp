#include "lower/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernel/visit.h"
#include "lower/columns.h"
#include "lower/pointwise.h"
#include "lower/rows.h"
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

class Lowering {
 public:
  Lowering(const Graph& graph, const Segmentation& segmentation, const Target& target)
      : graph_(graph),
        segmentation_(segmentation),
        target_(target),
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
    for (Launch& copy : copies_) program_.launches.push_back(std::move(copy));
    place_workspace(program_);
    return {std::move(program_), std::move(kernels_)};
  }

 private:
  void lower_segment(uint32_t id, const Segment& segment) {
    IdVec<ValueId, bool> computed(graph_.values.size(), false);
    for (const auto* ops : {&segment.ops, &segment.recomputed})
      for (OpId op : *ops)
        for (ValueId v : graph_[op].out)
          if (v.valid()) computed[v] = true;
    const size_t first = kernels_.size();
    std::vector<ValueId> roots = roots_of(id, segment);
    if (!lower_columns(id, segment, computed, roots) && !lower_fused(id, computed, roots, false)) {
      // One kernel each for the reductions, then one for what follows: only their results are stored in between.
      for (OpId op : segment.ops) {
        if (info(graph_[op].kind).category != OpCategory::kReduction) continue;
        std::vector<ValueId> results;
        for (ValueId v : graph_[op].out)
          if (v.valid()) results.push_back(v);
        lower_fused(id, computed, results, true);
        for (ValueId v : results) {
          computed[v] = false;
          std::erase(roots, v);
        }
      }
      lower_fused(id, computed, roots, true);
    }
    for (size_t k = first; k < kernels_.size(); ++k) protect_aliases(id, k);
    for (size_t k = first; k < kernels_.size(); ++k) add_launch(kernels_[k]);
  }

  // Reductions over the leading dims that one pass over the rows of their operands can serve beside what is stored of these rows. What
  // waits for their results comes in a second kernel. False, and nothing done, where there are none.
  bool lower_columns(uint32_t id, const Segment& segment, const IdVec<ValueId, bool>& computed, const std::vector<ValueId>& roots) {
    const ColumnPlan plan = plan_columns(graph_, segment, computed, roots);
    if (plan.columns.empty()) return false;
    const size_t workspace_before = program_.workspace.size();
    Kernel kernel;
    kernel.segment = id;
    std::map<ValueId, BufferId> reads;
    KernelInput input = input_of(id, computed, plan.row_roots, kernel, reads);
    RowParts rows = trace_rows_with_columns(input, plan.columns);
    if (!rows.refused.valid()) {
      kernel.parts = std::move(rows.parts);
      keep_order(kernel);
      if (schedule_columns(graph_, target_, input.scratch, kernel)) {
        const Sweep& sweep = *kernel.parts[0].sweep;
        std::map<OpId, Partial> partials;
        for (size_t c = 0; c < plan.columns.size(); ++c) {
          const Accumulator& a = sweep.columns[c].accumulator;
          partials[plan.columns[c]] = {kernel.buffers[a.partials].arg, a.dtype, Size(int64_t{sweep.blocks} * sweep.rows)};
        }
        add_kernel(std::move(kernel));
        FUSEC_CHECK(lower_fused(id, computed, plan.column_roots, true, partials), "the results of columns have no kernel");
        return true;
      }
    }
    roll_back(workspace_before, plan.row_roots);
    return false;
  }

  // Kernels that compute `roots` and store them: one for each part that sweeps over rows, one for all that does not. False, and
  // nothing done, when a reduction is refused.
  bool lower_fused(uint32_t id, const IdVec<ValueId, bool>& computed, const std::vector<ValueId>& roots, bool alone,
                   const std::map<OpId, Partial>& partials = {}) {
    const size_t workspace_before = program_.workspace.size();
    Kernel kernel;
    kernel.segment = id;
    std::map<ValueId, BufferId> reads;
    KernelInput input = input_of(id, computed, roots, kernel, reads);
    for (const auto& [op, partial] : partials) {
      Buffer b{partial.arg, partial.dtype, "partial"};
      b.read = true;
      input.reduced_before[op] = {kernel.buffers.push(std::move(b)), partial.dtype, partial.parts};
    }
    const auto& scratch = input.scratch;
    std::vector<KernelInput::Stored> pointwise;
    RowParts rows = trace_rows(input, pointwise, true);
    const bool few = std::any_of(rows.parts.begin(), rows.parts.end(), [&](const Part& p) { return too_few_rows(p, target_); });
    if (!alone && (rows.refused.valid() || few)) {
      roll_back(workspace_before, roots);
      return false;
    }
    FUSEC_CHECK(!rows.refused.valid(), "no schedule for '" + (rows.refused.valid() ? graph_.name_of(rows.refused) : "") + "'");
    std::vector<Kernel> swept = schedule_parts_by_rows(rows, kernel, scratch);
    if (!alone && std::any_of(swept.begin(), swept.end(), reads_once_more)) {
      roll_back(workspace_before, roots);
      return false;
    }
    // A mean that is known first costs a sweep more: too dear where that reads memory again.
    if (std::any_of(swept.begin(), swept.end(), reads_for_deviations)) {
      pointwise.clear();
      rows = trace_rows(input, pointwise, false);
      swept = schedule_parts_by_rows(rows, kernel, scratch);
    }
    for (Kernel& one : swept) add_kernel(std::move(one));
    input.stores = std::move(pointwise);
    lower_pointwise(input, kernel);
    add_kernel(std::move(kernel));
    return true;
  }

  KernelInput input_of(uint32_t id, const IdVec<ValueId, bool>& computed, const std::vector<ValueId>& roots, Kernel& kernel,
                       std::map<ValueId, BufferId>& reads) {
    auto place = [this, &kernel, &reads](ValueId v) {
      const auto at = locations_.find(v);
      FUSEC_CHECK(at != locations_.end(), "'" + graph_[v].name + "' is read before any segment stored it");
      const auto [it, is_new] = reads.try_emplace(v, BufferId());
      if (is_new) {
        Buffer b{at->second.arg, graph_[v].dtype, graph_[v].name};
        b.read = true;
        it->second = kernel.buffers.push(std::move(b));
      }
      return Place{it->second, at->second.strides, at->second.arg.kind == KernelArg::kScalar};
    };
    auto scratch = [this, id](const Size& bytes) { return new_workspace(bytes, id, id); };
    return {graph_, target_, computed, place, scratch, stores_of(id, roots, kernel)};
  }

  // Undoes what input_of and schedules reserved.
  void roll_back(size_t workspace, const std::vector<ValueId>& roots) {
    program_.workspace.resize(workspace);
    for (ValueId v : roots)
      if (graph_[v].def.valid()) locations_.erase(v);
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

  // Rows that only a cluster can hold, to reduce them once: reading them again after a kernel of reductions is faster (measured: a batch
  // norm of 200,704 positions 118 µs so).
  static bool reads_once_more(const Kernel& kernel) {
    const Part& part = kernel.parts[0];
    const std::vector<int> phase = phases(part);
    return part.sweep->cluster && std::all_of(part.sweep->accumulators.begin(), part.sweep->accumulators.end(), [&](const Accumulator& a) {
             return a.kind == Accumulator::kDeviations || phase[a.operand.index] == 0;
           });
  }

  static bool reads_for_deviations(const Kernel& kernel) {
    const Sweep& sweep = *kernel.parts[0].sweep;
    return !sweep.held && sweep.staged.empty() &&
           std::any_of(sweep.accumulators.begin(), sweep.accumulators.end(),
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
    if (std::all_of(kernel.parts.begin(), kernel.parts.end(),
                    [](const Part& p) { return p.stores.empty() && (!p.sweep || p.sweep->columns.empty()); }))
      return;
    kernel.name = program_.name + "_s" + std::to_string(kernel.segment);
    int& count = kernels_of_segment_[kernel.segment];
    if (count++ > 0) kernel.name += std::string("_") + std::to_string(count);
    drop_unused(kernel);
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

  // A buffer for each place that needs one of the values, which segment `id` stores.
  std::vector<KernelInput::Stored> stores_of(uint32_t id, const std::vector<ValueId>& values, Kernel& kernel) {
    std::vector<KernelInput::Stored> stored;
    auto add = [&](ValueId v, KernelArg arg, std::vector<Size> strides) {
      Buffer b{arg, graph_[v].dtype, graph_[v].name};
      b.written = true;
      stored.push_back({v, kernel.buffers.push(std::move(b)), std::move(strides)});
    };
    for (ValueId v : values) {
      for (uint32_t k : outputs_of_[v]) {
        add(v, {KernelArg::kOutput, k}, strides_of(graph_, graph_.outputs[k]));
        if (graph_[v].def.valid()) locations_.try_emplace(v, Location{{KernelArg::kOutput, k}, strides_of(graph_, graph_.outputs[k])});
      }
      if (!outputs_of_[v].empty()) continue;
      const std::vector<Size> strides = row_major_strides(graph_[v].shape);
      const KernelArg arg =
          new_workspace(element_count(graph_[v].shape) * Size(bytes_of(graph_[v].dtype)), id, std::max(id, last_reader_[v]));
      locations_[v] = {arg, strides};
      add(v, arg, strides);
    }
    return stored;
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

  // True if the kernel reads the aliased input anywhere but where the same thread then writes.
  bool reads_elsewhere(const Kernel& kernel, BufferId out, uint32_t input) const {
    for (const Part& part : kernel.parts) {
      if (part.sweep && part.sweep->split > 1) return true;
      const std::vector<bool> along = part.sweep ? along_row(part) : std::vector<bool>();
      auto stored_here = [&](const Index& index) {
        return std::any_of(part.stores.begin(), part.stores.end(), [&](const Store& s) { return s.buffer == out && s.index == index; });
      };
      for (size_t i = 0; i < part.nodes.size(); ++i) {
        const Node& n = part.nodes[NodeId(i)];
        if (n.kind != Node::kLoad) continue;
        const KernelArg& arg = kernel.buffers[n.buffer].arg;
        if (arg.kind != KernelArg::kInput || arg.index != input) continue;
        const bool staged = part.tile && std::any_of(part.tile->staged.begin(), part.tile->staged.end(),
                                                     [&](const auto& s) { return s.load == NodeId(i); });
        // All threads of a row read what is the same along it, and threads without a row of their own read the last one's.
        const bool shared = part.sweep && ((part.sweep->group > 1 && !along[i]) || !rows_fill_blocks(part));
        if (staged || shared || !stored_here(n.index)) return true;
      }
    }
    return false;
  }

  static bool rows_fill_blocks(const Part& part) {
    const Size rows = iterations(part);
    return rows.is_constant() && rows.value() % part.sweep->rows == 0;
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

  // Parameters that no node or store mentions.
  static void drop_unused(Kernel& kernel) {
    std::vector<BufferId> moved(kernel.buffers.size());
    std::set<BufferId> used;
    for (const Part& part : kernel.parts) {
      for (const Node& n : part.nodes)
        if (n.buffer.valid()) used.insert(n.buffer);
      for (const Store& s : part.stores) used.insert(s.buffer);
      if (part.sweep)
        for (const Accumulator& a : part.sweep->accumulators)
          if (a.partials.valid()) used.insert(a.partials);
      if (part.sweep)
        for (const Column& c : part.sweep->columns) used.insert(c.accumulator.partials);
    }
    IdVec<BufferId, Buffer> kept;
    for (BufferId b : used) moved[b.index] = kept.push(kernel.buffers[b]);
    for (Part& part : kernel.parts) {
      for (Node& n : part.nodes)
        if (n.buffer.valid()) n.buffer = moved[n.buffer.index];
      for (Store& s : part.stores) s.buffer = moved[s.buffer.index];
      if (part.sweep)
        for (Accumulator& a : part.sweep->accumulators)
          if (a.partials.valid()) a.partials = moved[a.partials.index];
      if (part.sweep)
        for (Column& c : part.sweep->columns) c.accumulator.partials = moved[c.accumulator.partials.index];
    }
    kernel.buffers = std::move(kept);
  }

  void add_launch(const Kernel& kernel) {
    Launch launch;
    launch.segment = kernel.segment;
    launch.kernel = kernel.name;
    launch.block = static_cast<uint32_t>(kernel.block);
    launch.shared_bytes = static_cast<uint32_t>(kernel.dynamic_bytes);
    for (const Buffer& b : kernel.buffers) {
      launch.args.push_back(b.arg);
      launch.arg_dtypes.push_back(b.dtype);
    }
    for (size_t i = 0; i < graph_.symbols.size(); ++i) {
      launch.args.push_back({KernelArg::kSymbol, static_cast<uint32_t>(i)});
      launch.arg_dtypes.push_back(DType::kI64);
    }
    const Part* largest = nullptr;
    for (const Part& part : kernel.parts) {
      launch.grid.push_back(part.grid);
      if (!largest || part.nodes.size() > largest->nodes.size()) largest = &part;
    }
    launch.schedule = {{"vector", largest->vector}, {"unroll", largest->sweep ? largest->sweep->steps : largest->unroll}};
    if (largest->sweep) {
      launch.schedule.emplace_back("threads_per_row", largest->sweep->group);
      launch.schedule.emplace_back("rows_per_block", largest->sweep->rows);
      if (!largest->sweep->staged.empty()) launch.schedule.emplace_back("held_in_shared_memory", 1);
      if (largest->sweep->held) launch.schedule.emplace_back("held_in_registers", 1);
      if (largest->sweep->split > 1) launch.schedule.emplace_back("blocks_per_row", largest->sweep->split);
    }
    if (kernel.parts.size() > 1) launch.schedule.emplace_back("parts", static_cast<int64_t>(kernel.parts.size()));
    if (largest->tile) launch.schedule.emplace_back("tile", largest->tile->rows);
    if (largest->wide_index) launch.schedule.emplace_back("index_bits", 64);
    program_.launches.push_back(std::move(launch));
  }

  const Graph& graph_;
  const Segmentation& segmentation_;
  const Target& target_;
  Program program_;
  std::vector<Kernel> kernels_;
  std::map<ValueId, Location> locations_;
  IdVec<ValueId, uint32_t> last_reader_;  // segment
  IdVec<ValueId, std::vector<uint32_t>> outputs_of_;
  std::vector<Launch> copies_;
  std::map<uint32_t, int> kernels_of_segment_;
};

}  // namespace

Lowered lower(const Graph& graph, const Segmentation& segmentation, const Target& target) {
  return Lowering(graph, segmentation, target).run();
}

}  // namespace fusec
