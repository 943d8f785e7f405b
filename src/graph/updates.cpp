#include "graph/updates.h"

namespace fusec {

namespace {

const Size& extent_along(const Graph& graph, ValueId value, size_t dim) { return graph[value].shape[dim]; }

// 0, 1, 2, … along `dim`.
bool counts_up(const Graph& graph, ValueId value, size_t dim) {
  const OpId def = graph[value].def;
  if (!def.valid() || graph[def].kind != OpKind::kIota || dim >= graph[value].shape.size()) return false;
  const Attrs& attrs = graph.attrs(graph[def]);
  return static_cast<size_t>(attrs.dim) == dim && attrs.start == Literal{int64_t{0}} && attrs.step == Literal{int64_t{1}};
}

// n − 1, … 2, 1, 0 along `dim`.
bool counts_down(const Graph& graph, ValueId value, size_t dim) {
  const OpId def = graph[value].def;
  if (!def.valid() || graph[def].kind != OpKind::kIota || dim >= graph[value].shape.size()) return false;
  const Attrs& attrs = graph.attrs(graph[def]);
  const Size& extent = extent_along(graph, value, dim);
  return static_cast<size_t>(attrs.dim) == dim && extent.is_constant() && attrs.start == Literal{extent.value() - 1} &&
         attrs.step == Literal{int64_t{-1}};
}

bool holds_positions(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

constexpr int kMostInverses = 4;  // and compositions that are looked through

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

// One permutation in the order of another: each row of `op`'s operand along `dim` by numbers of its own, or all rows by the same ones.
bool composes(const Graph& graph, const Op& op, size_t dim, int inverses) {
  const ValueId x = op.in[0].value, index = op.in[1].value;
  const size_t along = static_cast<size_t>(graph.attrs(op).dim);
  if (!is_permutation(graph, x, dim, inverses)) return false;
  if (op.kind == OpKind::kIndexSelect)
    return along != dim || (graph[index].shape[0] == graph[x].shape[dim] && is_permutation(graph, index, 0, inverses));
  return along == dim && graph[index].shape == graph[x].shape && is_permutation(graph, index, dim, inverses);
}

bool is_permutation(const Graph& graph, ValueId value, size_t dim, int inverses) {
  for (OpId def = graph[value].def; def.valid() && holds_positions(graph[value].dtype); def = graph[value].def) {
    const Op& op = graph[def];
    switch (op.kind) {
      case OpKind::kIota:
        return counts_up(graph, value, dim) || counts_down(graph, value, dim);
      case OpKind::kArgsort:
      case OpKind::kSort:
        return (op.kind == OpKind::kArgsort || graph[value].result == 1) && !graph[value].shape.empty() &&
               static_cast<size_t>(graph.attrs(op).dim) == dim;
      case OpKind::kScatter:
      case OpKind::kIndexPut:
        return inverses > 0 && op.in[2].is_value() && counts_up(graph, op.in[2].value, dim) &&
               graph[op.in[2].value].shape == graph[value].shape && stores_permutation(graph, op, inverses - 1) &&
               static_cast<size_t>(graph.attrs(op).dim) == dim;
      case OpKind::kGather:
      case OpKind::kTakeAlongAxis:
      case OpKind::kIndexSelect:
        return inverses > 0 && composes(graph, op, dim, inverses - 1);
      case OpKind::kSub:  // n − 1 − p
        if (!op.in[0].is_literal() || !op.in[1].is_value() || dim >= graph[value].shape.size()) return false;
        if (const Size& extent = extent_along(graph, value, dim);
            !extent.is_constant() || !(*op.in[0].literal == Literal{extent.value() - 1}))
          return false;
        value = op.in[1].value;
        break;
      case OpKind::kCast:
      case OpKind::kCopy:
        if (!op.in[0].is_value()) return false;
        value = op.in[0].value;
        break;
      default:
        return false;
    }
  }
  return false;
}

}  // namespace

bool is_permutation(const Graph& graph, ValueId value, size_t dim) { return is_permutation(graph, value, dim, kMostInverses); }
bool stores_permutation(const Graph& graph, const Op& op) { return stores_permutation(graph, op, kMostInverses); }

}  // namespace fusec
