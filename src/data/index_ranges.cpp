#include "data/index_ranges.h"

#include <algorithm>

namespace fusec {

namespace {

// The extent that operand `at` of `op` indexes, if it is an index operand.
std::optional<int64_t> indexed_extent(const Graph& graph, const Op& op, size_t at) {
  auto extent = [&](size_t operand, size_t dim) -> std::optional<int64_t> {
    if (!op.in[operand].is_value()) return std::nullopt;
    const Shape& shape = graph[op.in[operand].value].shape;
    return shape.empty() ? 1 : shape[dim].value();
  };
  const auto dim = static_cast<size_t>(graph.attrs(op).dim);
  switch (op.kind) {
    case OpKind::kGather:
    case OpKind::kTakeAlongAxis:
    case OpKind::kIndexSelect:
    case OpKind::kScatter:
    case OpKind::kIndexPut:
      return at == 1 ? extent(0, dim) : std::nullopt;
    case OpKind::kEmbedding:
      return at == 0 ? extent(1, 0) : std::nullopt;
    // Classes stand last, before or after the expansion of the op.
    case OpKind::kCrossEntropy:
      return at == 1 ? extent(0, graph[op.in[0].value].shape.size() - 1) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Ops whose result holds the operand's integers.
bool passes_on(const Graph& graph, const Op& op) {
  if (!op.out[0].valid() || !is_integer(graph[op.out[0]].dtype)) return false;
  if (op.kind == OpKind::kPad || op.kind == OpKind::kCat || op.kind == OpKind::kStack) return false;
  return is_view(op.kind) || op.kind == OpKind::kCopy || op.kind == OpKind::kCast;
}

}  // namespace

IdVec<ValueId, std::optional<int64_t>> index_ranges(const Graph& graph) {
  IdVec<ValueId, std::optional<int64_t>> ranges(graph.values.size());
  IdVec<ValueId, char> other_use(graph.values.size(), 0);
  for (const Output& output : graph.outputs) other_use[output.value] = 1;
  // Users stand after their operands: backwards, a value's range is final when its op is reached.
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph[OpId(i)];
    for (const ValueId v : op.out)
      if (v.valid() && other_use[v]) ranges[v].reset();
    for (size_t at = 0; at < op.in.size(); ++at) {
      if (!op.in[at].is_value()) continue;
      const ValueId v = op.in[at].value;
      std::optional<int64_t> range = indexed_extent(graph, op, at);
      if (!range && passes_on(graph, op)) range = ranges[op.out[0]];
      if (!range) other_use[v] = 1;
      else ranges[v] = std::min(*range, ranges[v].value_or(*range));
    }
  }
  for (const Input& input : graph.inputs)
    if (other_use[input.value]) ranges[input.value].reset();
  return ranges;
}

}  // namespace fusec
