#include "lower/columns.h"

#include <algorithm>

namespace fusec {

namespace {

// Reduces leading dims only, to a state of one word.
bool reduces_rows(const Graph& graph, const Op& op) {
  switch (op.kind) {
    case OpKind::kSum:
    case OpKind::kMean:
    case OpKind::kProd:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kAll:
    case OpKind::kAny:
      break;
    default:
      return false;
  }
  const auto& dims = graph.attrs(op).dims;
  if (dims.empty() || dims.size() >= graph[op.in[0].value].shape.size()) return false;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != static_cast<int64_t>(d)) return false;
  return true;
}

Size elems(const Graph& graph, ValueId v) { return element_count(graph[v].shape); }

}  // namespace

ColumnPlan plan_columns(const Graph& graph, const Segment& segment, const IdVec<ValueId, bool>& computed,
                        const std::vector<ValueId>& roots) {
  ColumnPlan plan;
  std::vector<OpId> ops = segment.ops;
  ops.insert(ops.end(), segment.recomputed.begin(), segment.recomputed.end());
  std::sort(ops.begin(), ops.end());
  for (OpId id : segment.ops)
    if (reduces_rows(graph, graph[id])) plan.columns.push_back(id);
  if (plan.columns.empty()) return plan;
  const Op& first = graph[plan.columns[0]];
  const Shape& shape = graph[first.in[0].value].shape;
  const bool alike = std::all_of(plan.columns.begin(), plan.columns.end(), [&](OpId id) {
    return graph[graph[id].in[0].value].shape == shape && graph.attrs(graph[id]).dims == graph.attrs(first).dims;
  });
  if (!alike || element_count(shape).is(0)) return {};
  // What depends on a column: only values of its results' size.
  IdVec<ValueId, bool> after(graph.values.size(), false);
  const Size size = elems(graph, first.out[0]);
  bool other_reductions = false;
  for (OpId id : ops) {
    const Op& op = graph[id];
    const bool is_column = std::find(plan.columns.begin(), plan.columns.end(), id) != plan.columns.end();
    const bool depends =
        std::any_of(op.in.begin(), op.in.end(), [&](const Operand& o) { return o.is_value() && computed[o.value] && after[o.value]; });
    if (depends && (is_column || info(op.kind).category == OpCategory::kReduction || !(elems(graph, op.out[0]) == size))) return {};
    if (!is_column && info(op.kind).category == OpCategory::kReduction) other_reductions = true;
    for (ValueId v : op.out)
      if (v.valid()) after[v] = depends || is_column;
  }
  bool whole = false;
  Size rows = 1;
  for (int64_t d : graph.attrs(first).dims) rows *= shape[static_cast<size_t>(d)];
  for (ValueId v : roots) {
    if (!after[v] && !(elems(graph, v) == element_count(shape)) && !(elems(graph, v) == rows)) return {};
    (after[v] ? plan.column_roots : plan.row_roots).push_back(v);
    whole = whole || (!after[v] && elems(graph, v) == element_count(shape));
  }
  // Without anything else to do, the columns have better schedules.
  if (!whole && !other_reductions) return {};
  return plan;
}

}  // namespace fusec
