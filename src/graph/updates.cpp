#include "graph/updates.h"

namespace fusec {

namespace {

// 0, 1, 2, … along the only dimension.
bool counts_up(const Graph& graph, ValueId value) {
  const OpId def = graph[value].def;
  if (!def.valid() || graph[def].kind != OpKind::kIota || graph[value].shape.size() != 1) return false;
  const Attrs& attrs = graph.attrs(graph[def]);
  return attrs.start == Literal{int64_t{0}} && attrs.step == Literal{int64_t{1}};
}

bool holds_positions(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

constexpr int kMostInverses = 4;  // looked through

bool is_permutation(const Graph& graph, ValueId value, size_t dim, int inverses);

bool stores_permutation(const Graph& graph, const Op& op, int inverses) {
  const Attrs& attrs = graph.attrs(op);
  if (info(op.kind).category != OpCategory::kScatter || attrs.accumulate != Accumulate::kNone) return false;
  const Shape &shape = graph[op.in[0].value].shape, &index = graph[op.in[1].value].shape;
  const size_t dim = static_cast<size_t>(attrs.dim);
  if (shape.empty() || index.empty()) return false;
  if (op.kind == OpKind::kScatter) return index == shape && is_permutation(graph, op.in[1].value, dim, inverses);
  return index.size() == 1 && index[0] == shape[dim] && is_permutation(graph, op.in[1].value, 0, inverses);
}

bool is_permutation(const Graph& graph, ValueId value, size_t dim, int inverses) {
  for (OpId def = graph[value].def; def.valid() && holds_positions(graph[value].dtype); def = graph[value].def) {
    const Op& op = graph[def];
    if (op.kind == OpKind::kArgsort || (op.kind == OpKind::kSort && graph[value].result == 1))
      return !graph[value].shape.empty() && static_cast<size_t>(graph.attrs(op).dim) == dim;
    if (info(op.kind).category == OpCategory::kScatter)
      return inverses > 0 && op.in[2].is_value() && counts_up(graph, op.in[2].value) && stores_permutation(graph, op, inverses - 1) &&
             static_cast<size_t>(graph.attrs(op).dim) == dim;
    if (op.kind != OpKind::kCast || !op.in[0].is_value()) return false;
    value = op.in[0].value;
  }
  return false;
}

}  // namespace

bool is_permutation(const Graph& graph, ValueId value, size_t dim) { return is_permutation(graph, value, dim, kMostInverses); }
bool stores_permutation(const Graph& graph, const Op& op) { return stores_permutation(graph, op, kMostInverses); }

}  // namespace fusec
