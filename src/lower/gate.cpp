#include "lower/gate.h"

namespace fusec {

void check_lowerable(const Graph& graph, Diagnostics& diagnostics) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph[OpId(i)];
    if (has_lowering(op.kind)) continue;
    std::string text = "this version has no GPU kernel for '" + std::string(name_of(op.kind)) + "' (" + graph.name_of(OpId(i)) + ")";
    if (!op.origin.empty() && op.origin != graph.name_of(OpId(i))) text += ", part of '" + op.origin + "'";
    Diagnostic& error = diagnostics.error("no-kernel", op.at, text);
    // The remedy once: it is the same for all.
    if (diagnostics.error_count() == 1)
      error.notes.push_back({Span{}, has_reference(op.kind)
                                         ? "`fusec run --device cpu` computes it, `fusec compile --emit report` shows its segmentation"
                                         : "`fusec compile --emit report` shows its segmentation"});
  }
}

}  // namespace fusec
