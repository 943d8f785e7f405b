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

}  // namespace

void mark_streams(const Program& program, const Symbols& symbols, const Target& target, std::vector<Kernel>& kernels) {
  if (kernels.size() < 2) return;
  const Lifetimes lifetimes(program, kernels, typical_values(symbols), target.l2_bytes);
  for (size_t k = 0; k < kernels.size(); ++k) {
    Kernel& kernel = kernels[k];
    const int64_t waiting = lifetimes.waiting(k);
    if (kernel.parts.empty() || waiting * kLeastShare < target.l2_bytes || waiting > target.l2_bytes) continue;
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      Buffer& buffer = kernel.buffers[BufferId(b)];
      const bool is_data =
          buffer.arg.kind == KernelArg::kInput || buffer.arg.kind == KernelArg::kOutput || buffer.arg.kind == KernelArg::kWorkspace;
      buffer.streamed = is_data && !buffer.may_overlap && buffer.shared_elems == 0 && !lifetimes.is_read_after(k, buffer) &&
                        passes_once(kernel, BufferId(b));
    }
  }
}

}  // namespace fusec
