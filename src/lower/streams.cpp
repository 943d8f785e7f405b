#include "lower/streams.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "kernel/visit.h"
#include "lower/workspace.h"

namespace fusec {

namespace {

constexpr int64_t kLeastShare = 4;  // of the L2 cache: what fills less of it stays there anyway

// When the launches of a program need what lies in memory.
class Lifetimes {
 public:
  // Sizes above `most` bytes count as that and one.
  Lifetimes(const Program& program, const std::vector<Kernel>& kernels, const SymbolValues& typical, int64_t most)
      : waiting_(kernels.size() + 1) {
    for (size_t k = 0; k < kernels.size(); ++k)
      for (const Buffer& b : kernels[k].buffers)
        if (b.read) last_read_[{b.arg.kind, b.arg.index}] = k;
    const std::vector<WorkspaceSpan> spans = spans_of_workspace(program, kernels, {});
    for (size_t w = 0; w < spans.size(); ++w) {
      if (spans[w].first >= spans[w].last) continue;
      const int64_t bytes = std::min(evaluate(program.workspace[w].bytes, typical), most + 1);
      waiting_[spans[w].first] += bytes;
      waiting_[spans[w].last + 1] -= bytes;
    }
    std::partial_sum(waiting_.begin(), waiting_.end(), waiting_.begin());
  }

  // Bytes in workspace that kernel `k` writes for later ones, or that wait while it runs, or that it reads.
  int64_t waiting(size_t k) const { return waiting_[k]; }

  bool is_read_after(size_t k, const Buffer& buffer) const {
    const auto it = last_read_.find({buffer.arg.kind, buffer.arg.index});
    return it != last_read_.end() && it->second > k;
  }

 private:
  std::vector<int64_t> waiting_;  // by kernel
  std::map<std::pair<KernelArg::Kind, uint32_t>, size_t> last_read_;
};

// True if no two iterations of the part touch the same element.
bool touches_each_once(const Part& part, const Index& index) {
  auto depends = [&](AtomId v) { return part.space.extent(v).is(1) || part.space.depends_on(index, v); };
  if (part.sweep && !std::all_of(part.sweep->dims.begin(), part.sweep->dims.end(), depends)) return false;
  return std::all_of(part.dims.begin(), part.dims.end(), depends) && (!part.lane.valid() || depends(part.lane)) &&
         (!part.serial.valid() || depends(part.serial));
}

// A row that is swept more than once stays with the thread that reads it.
bool sweeps_once(const Part& part, NodeId load) {
  const Sweep& sweep = *part.sweep;
  if (sweep.held || std::find(sweep.staged.begin(), sweep.staged.end(), load) != sweep.staged.end()) return true;
  const std::vector<int> phase = phases(part);
  const std::vector<bool> along = along_row(part);
  return std::all_of(sweep.accumulators.begin(), sweep.accumulators.end(), [&](const Accumulator& a) { return sweep_of(a, phase) == 0; }) &&
         std::none_of(part.stores.begin(), part.stores.end(), [&](const Store& s) { return is_along(part, along, s); });
}

bool passes_once(const Kernel& kernel, BufferId buffer) {
  int accesses = 0;
  for (const Part& part : kernel.parts) {
    if (part.line || part.table || part.list || part.tile) return false;
    for (size_t i = 0; i < part.nodes.size(); ++i) {
      const Node& n = part.nodes[NodeId(i)];
      if (n.buffer != buffer || n.kind != Node::kLoad) continue;
      if (!touches_each_once(part, n.index) || (part.sweep && !sweeps_once(part, NodeId(i)))) return false;
      ++accesses;
    }
    for (const Store& s : part.stores)
      if (s.buffer == buffer) {
        if (s.update || s.claim) return false;
        ++accesses;
      }
  }
  return accesses == 1;
}

bool is_data(const Buffer& b) {
  return b.shared_elems == 0 &&
         (b.arg.kind == KernelArg::kInput || b.arg.kind == KernelArg::kOutput || b.arg.kind == KernelArg::kWorkspace);
}

// At the typical sizes, `most` at most.
int64_t bytes_of_buffer(const Program& program, const Graph& graph, const SymbolValues& typical, const Buffer& b, int64_t most) {
  if (b.arg.kind == KernelArg::kWorkspace) return std::min(most, evaluate(program.workspace[b.arg.index].bytes, typical));
  const ValueId v = b.arg.kind == KernelArg::kInput ? graph.inputs[b.arg.index].value : graph.outputs[b.arg.index].value;
  const int64_t elems = evaluate(element_count(graph[v].shape), typical);
  return elems > most / bytes_of(b.dtype) ? most : elems * bytes_of(b.dtype);
}

// Loads and stores alone, of which no element is updated or looked for. No rows in shared memory or updated in place: only loads of their
// own are unrolled and predicated by compilers (measured: batch_norm_relu 82 µs, 85 with the hint).
bool only_passes(const Kernel& kernel) {
  const bool in_place = std::any_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& b) { return b.may_overlap; });
  return std::all_of(kernel.parts.begin(), kernel.parts.end(), [&](const Part& part) {
    return !part.line && !part.table && !part.list && !(part.sweep && (in_place || !part.sweep->staged.empty())) &&
           std::none_of(part.stores.begin(), part.stores.end(), [](const Store& s) { return s.update || s.claim || s.joins; });
  });
}

// Bytes that a kernel reads and writes at the typical sizes, of each buffer `most` at most.
struct Traffic {
  Traffic(const Program& program, const Graph& graph, const SymbolValues& typical, const Kernel& kernel, int64_t most) {
    for (const Buffer& b : kernel.buffers) {
      if (!is_data(b)) continue;
      const int64_t bytes = bytes_of_buffer(program, graph, typical, b, most);
      read += b.read ? bytes : 0;
      written += b.written ? bytes : 0;
    }
  }
  int64_t both() const { return read + written; }
  int64_t read = 0, written = 0;
};

// Loads of inputs, which somebody may read again; of what a launch has left too, where what is written would push it out. `later`: bytes
// that later launches move, in whose way those lines would be (measured: rope_mistral_nemo_bwd 46.7 µs, 44.2 without).
void mark_kept(const Traffic& traffic, int64_t later, const Target& target, Kernel& kernel) {
  const bool fits = traffic.both() <= target.l2_bytes;
  if (!fits && (traffic.written * kLeastShare < target.l2_bytes || later * kLeastShare >= target.l2_bytes)) return;
  if (!only_passes(kernel)) return;
  for (Buffer& b : kernel.buffers)
    if (is_data(b) && b.read && !b.written && !b.may_overlap && (!fits || b.arg.kind == KernelArg::kInput)) b.cache = CacheHint::kKept;
}

// Updates that come in any order to a target in memory.
const Store* update_anywhere(const Part& part) {
  if (part.stores.empty() || part.list || (part.table && part.table->whole > 0)) return nullptr;
  const Store& s = part.stores[0];
  return s.accumulates() && !s.claim ? &s : nullptr;
}

// True if the load's place follows the updates, each of which has another.
bool follows_updates(const Part& part, const Index& index) {
  return !part.dims.empty() && part.space.depends_on(index, part.dims[0]) && !part.space.reads_data(index);
}

// What updates are made of passes through beside a target that had better stay.
void mark_around_target(const Program& program, const Graph& graph, const SymbolValues& typical, const Target& target, Kernel& kernel) {
  const Store* update = kernel.parts.size() == 1 ? update_anywhere(kernel.parts[0]) : nullptr;
  if (!update) return;
  const Part& part = kernel.parts[0];
  const int64_t most = 2 * target.l2_bytes;
  int64_t moved = 0;
  for (const Buffer& b : kernel.buffers) moved += is_data(b) ? bytes_of_buffer(program, graph, typical, b, most) : 0;
  const int64_t kept = bytes_of_buffer(program, graph, typical, kernel.buffers[update->buffer], most);
  if (moved <= target.l2_bytes || kept * kLeastShare < target.l2_bytes) return;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    Buffer& buffer = kernel.buffers[BufferId(b)];
    if (!is_data(buffer) || buffer.written || buffer.may_overlap) continue;
    const auto passes = [&](const Node& n) { return n.kind != Node::kLoad || n.buffer != BufferId(b) || follows_updates(part, n.index); };
    if (std::all_of(part.nodes.begin(), part.nodes.end(), passes)) buffer.cache = CacheHint::kOnce;
  }
}

}  // namespace

void mark_streams(const Program& program, const Graph& graph, const Target& target, std::vector<Kernel>& kernels) {
  const SymbolValues typical = typical_values(graph.symbols);
  const Lifetimes lifetimes(program, kernels, typical, target.l2_bytes);
  std::vector<Traffic> traffic;
  for (const Kernel& kernel : kernels) traffic.emplace_back(program, graph, typical, kernel, 2 * target.l2_bytes);
  int64_t later = 0;
  for (size_t k = kernels.size(); k-- > 0; later += traffic[k].both()) {
    Kernel& kernel = kernels[k];
    const int64_t waiting = lifetimes.waiting(k);
    mark_around_target(program, graph, typical, target, kernel);
    if (waiting * kLeastShare < target.l2_bytes || waiting > target.l2_bytes) {
      mark_kept(traffic[k], later, target, kernel);
      continue;
    }
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      Buffer& buffer = kernel.buffers[BufferId(b)];
      if (is_data(buffer) && !buffer.may_overlap && !lifetimes.is_read_after(k, buffer) && passes_once(kernel, BufferId(b)))
        buffer.cache = CacheHint::kOnce;
    }
  }
}

}  // namespace fusec
