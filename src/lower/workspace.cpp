#include "lower/workspace.h"

#include <algorithm>
#include <numeric>

namespace fusec {

std::vector<WorkspaceSpan> spans_of_workspace(const Program& program, const std::vector<Kernel>& kernels,
                                              const std::vector<Launch>& copies) {
  std::vector<WorkspaceSpan> spans(program.workspace.size());
  for (size_t k = 0; k < kernels.size(); ++k)
    for (const Buffer& b : kernels[k].buffers)
      if (b.arg.kind == KernelArg::kWorkspace && b.shared_elems == 0) spans[b.arg.index].add(k);
  for (const Launch& copy : copies)
    for (const KernelArg& arg : copy.args)
      if (arg.kind == KernelArg::kWorkspace) spans[arg.index].add(kernels.size());
  return spans;
}

void place_workspace(Program& program) {
  auto& buffers = program.workspace;
  program.workspace_is_static = std::all_of(buffers.begin(), buffers.end(), [](const WorkspaceBuffer& b) { return b.bytes.is_constant(); });
  program.workspace_bytes = 0;
  if (!program.workspace_is_static) return;
  auto rounded = [](const WorkspaceBuffer& b) { return (b.bytes.value() + 255) / 256 * 256; };
  std::vector<size_t> order(buffers.size()), placed;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rounded(buffers[a]) > rounded(buffers[b]); });
  for (size_t i : order) {  // largest first, each at the lowest place that is free while it lives
    int64_t offset = 0;
    for (size_t j : placed) {  // by offset
      const bool together = buffers[i].first_segment <= buffers[j].last_segment && buffers[j].first_segment <= buffers[i].last_segment;
      if (together && buffers[j].offset < offset + rounded(buffers[i]) && offset < buffers[j].offset + rounded(buffers[j]))
        offset = buffers[j].offset + rounded(buffers[j]);
    }
    buffers[i].offset = offset;
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i, [&](size_t a, size_t b) { return buffers[a].offset < buffers[b].offset; }), i);
    program.workspace_bytes = std::max(program.workspace_bytes, offset + rounded(buffers[i]));
  }
}

}  // namespace fusec
