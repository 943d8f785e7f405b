#include "lower/streams.h"

#include <algorithm>

#include "kernel/visit.h"

namespace fusec {

namespace {

constexpr int64_t kLeastShare = 4;  // of the L2 cache: what fills less of it stays there anyway

bool is_read_after(const std::vector<Kernel>& kernels, size_t at, const Buffer& buffer) {
  return std::any_of(kernels.begin() + static_cast<std::ptrdiff_t>(at) + 1, kernels.end(), [&](const Kernel& k) {
    return std::any_of(k.buffers.begin(), k.buffers.end(), [&](const Buffer& b) { return b.read && b.arg == buffer.arg; });
  });
}

// Bytes in workspace that a kernel writes for later ones, or that wait while it runs, or that it reads.
int64_t waiting_bytes(const Program& program, const std::vector<Kernel>& kernels, size_t at, const SymbolValues& typical) {
  int64_t bytes = 0;
  for (uint32_t w = 0; w < program.workspace.size(); ++w) {
    size_t first = kernels.size(), last = 0;
    for (size_t k = 0; k < kernels.size(); ++k)
      for (const Buffer& b : kernels[k].buffers)
        if (b.arg.kind == KernelArg::kWorkspace && b.arg.index == w) first = std::min(first, k), last = std::max(last, k);
    if (first < last && first <= at && at <= last) bytes += evaluate(program.workspace[w].bytes, typical);
  }
  return bytes;
}

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

void mark_streams(const Program& program, const Target& target, std::vector<Kernel>& kernels) {
  if (kernels.size() < 2) return;
  for (size_t k = 0; k < kernels.size(); ++k) {
    Kernel& kernel = kernels[k];
    if (kernel.parts.empty()) continue;
    const int64_t waiting = waiting_bytes(program, kernels, k, typical_values(kernel.parts[0].space.symbols()));
    if (waiting * kLeastShare < target.l2_bytes || waiting > target.l2_bytes) continue;
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      Buffer& buffer = kernel.buffers[BufferId(b)];
      const bool is_data =
          buffer.arg.kind == KernelArg::kInput || buffer.arg.kind == KernelArg::kOutput || buffer.arg.kind == KernelArg::kWorkspace;
      buffer.streamed = is_data && !buffer.may_overlap && buffer.shared_elems == 0 && !is_read_after(kernels, k, buffer) &&
                        passes_once(kernel, BufferId(b));
    }
  }
}

}  // namespace fusec
