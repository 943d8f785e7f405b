#include "lower/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "lower/pointwise.h"
#include "lower/workspace.h"
#include "support/check.h"

namespace fusec {

namespace {

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
    Kernel kernel;
    kernel.name = program_.name + "_s" + std::to_string(id);
    kernel.segment = id;
    IdVec<ValueId, bool> computed(graph_.values.size(), false);
    for (const auto* ops : {&segment.ops, &segment.recomputed})
      for (OpId op : *ops)
        for (ValueId v : graph_[op].out)
          if (v.valid()) computed[v] = true;

    std::map<ValueId, BufferId> reads;
    auto place = [&](ValueId v) {
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
    PointwiseInput input{graph_, target_, computed, place, stores_of(id, segment, kernel)};
    lower_pointwise(input, kernel);
    protect_aliases(id, kernel);
    drop_unused(kernel);
    if (std::all_of(kernel.parts.begin(), kernel.parts.end(), [](const Part& p) { return p.stores.empty(); })) return;
    add_launch(kernel);
    kernels_.push_back(std::move(kernel));
  }

  // Values that segment `id` stores, with a buffer for each place that needs them.
  std::vector<PointwiseInput::Stored> stores_of(uint32_t id, const Segment& segment, Kernel& kernel) {
    std::vector<PointwiseInput::Stored> stored;
    auto add = [&](ValueId v, KernelArg arg, std::vector<Size> strides) {
      Buffer b{arg, graph_[v].dtype, graph_[v].name};
      b.written = true;
      stored.push_back({v, kernel.buffers.push(std::move(b)), std::move(strides)});
    };
    std::vector<ValueId> values = segment.outputs;
    if (id == 0)  // outputs that are inputs: any kernel may copy them
      for (const Output& o : graph_.outputs)
        if (!graph_[o.value].def.valid() && std::find(values.begin(), values.end(), o.value) == values.end()) values.push_back(o.value);
    for (ValueId v : values) {
      for (uint32_t k : outputs_of_[v]) {
        add(v, {KernelArg::kOutput, k}, strides_of(graph_, graph_.outputs[k]));
        if (graph_[v].def.valid()) locations_.try_emplace(v, Location{{KernelArg::kOutput, k}, strides_of(graph_, graph_.outputs[k])});
      }
      if (!outputs_of_[v].empty()) continue;
      const std::vector<Size> strides = row_major_strides(graph_[v].shape);
      const KernelArg arg = new_workspace(element_count(graph_[v].shape) * Size(bytes_of(graph_[v].dtype)), id, last_reader_[v]);
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
  void protect_aliases(uint32_t id, Kernel& kernel) {
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      Buffer& out = kernel.buffers[BufferId(b)];
      if (out.arg.kind != KernelArg::kOutput || !out.written) continue;
      const Output& output = graph_.outputs[out.arg.index];
      if (!output.alias) continue;
      const ValueId old = graph_.inputs[*output.alias].value;
      if (last_reader_[old] > id || reads_elsewhere(kernel, BufferId(b), *output.alias)) {
        const Size bytes = span(graph_[output.value].shape, strides_of(graph_, output)) * Size(bytes_of(out.dtype));
        const KernelArg from = out.arg;
        out.arg = new_workspace(bytes, id, UINT32_MAX);
        if (auto it = locations_.find(output.value);
            it != locations_.end() && it->second.arg.kind == KernelArg::kOutput && it->second.arg.index == from.index)
          it->second.arg = out.arg;
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

  // True if the kernel reads the aliased input anywhere but where the same thread then writes.
  bool reads_elsewhere(const Kernel& kernel, BufferId out, uint32_t input) const {
    for (const Part& part : kernel.parts) {
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
        if (staged || !stored_here(n.index)) return true;
      }
    }
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

  // Parameters that no node or store mentions.
  static void drop_unused(Kernel& kernel) {
    std::vector<BufferId> moved(kernel.buffers.size());
    std::set<BufferId> used;
    for (const Part& part : kernel.parts) {
      for (const Node& n : part.nodes)
        if (n.buffer.valid()) used.insert(n.buffer);
      for (const Store& s : part.stores) used.insert(s.buffer);
    }
    IdVec<BufferId, Buffer> kept;
    for (BufferId b : used) moved[b.index] = kept.push(kernel.buffers[b]);
    for (Part& part : kernel.parts) {
      for (Node& n : part.nodes)
        if (n.buffer.valid()) n.buffer = moved[n.buffer.index];
      for (Store& s : part.stores) s.buffer = moved[s.buffer.index];
    }
    kernel.buffers = std::move(kept);
  }

  void add_launch(const Kernel& kernel) {
    Launch launch;
    launch.segment = kernel.segment;
    launch.kernel = kernel.name;
    launch.block = static_cast<uint32_t>(kernel.block);
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
    launch.schedule = {{"vector", largest->vector}, {"unroll", largest->unroll}};
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
};

}  // namespace

Lowered lower(const Graph& graph, const Segmentation& segmentation, const Target& target) {
  return Lowering(graph, segmentation, target).run();
}

}  // namespace fusec
