#include "lower/gate.h"

#include <cstdio>

#include "graph/updates.h"
#include "kernel/index.h"
#include "lower/lines.h"

namespace fusec {

namespace {

// Sorts: the row must fit into the shared memory of one block.
void check_row_length(const Graph& graph, OpId id, Diagnostics& diagnostics) {
  const Op& op = graph[id];
  const Shape& shape = graph[op.in[0].value].shape;
  if (shape.empty()) return;
  const Size& extent = shape[static_cast<size_t>(graph.attrs(op).dim)];
  if (IndexSpace(graph.symbols).highest(Index(extent)) <= (extent.is_constant() ? kMaxSortedRow : kBlockSortedRow)) return;
  const std::string limit = extent.is_constant()
                                ? std::to_string(kMaxSortedRow) + " elements"
                                : std::to_string(kBlockSortedRow) + " elements where their length is a run-time size ('max' limits it)";
  Diagnostic& error = diagnostics.error("row-too-long", op.at,
                                        "'" + graph.name_of(id) + "' (" + std::string(name_of(op.kind)) +
                                            ") sorts rows that may be too long: on the GPU this version sorts rows of at most " + limit);
  if (diagnostics.error_count() == 1) error.notes.push_back({Span{}, "`fusec run --device cpu` computes it"});
}

}  // namespace

void check_lowerable(const Graph& graph, Diagnostics& diagnostics) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph[OpId(i)];
    if (info(op.kind).category == OpCategory::kSort) check_row_length(graph, OpId(i), diagnostics);
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

void check_deterministic(const Graph& graph, Diagnostics& diagnostics) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph[OpId(i)];
    if (info(op.kind).category != OpCategory::kScatter || updates_once(graph, op)) continue;
    if (graph.attrs(op).accumulate != Accumulate::kMul || !is_float(graph[op.out[0]].dtype)) continue;
    char count[32];
    std::snprintf(count, sizeof count, "%.3g", comparisons_of_updates(graph, op));
    Diagnostic& error = diagnostics.error("not-deterministic", op.at,
                                          "--deterministic: '" + graph.name_of(OpId(i)) + "' (" + std::string(name_of(op.kind)) +
                                              ") multiplies floats: to look for each element at all updates takes " + count +
                                              " comparisons; at most 2^36 (6.87e+10) are made");
    if (diagnostics.error_count() == 1)
      error.notes.push_back(
          {Span{}, "up to 2^24 updates are sorted instead, where their number is fixed; `fusec run --device cpu` takes any number"});
  }
}

}  // namespace fusec
