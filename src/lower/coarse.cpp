#include "lower/coarse.h"

#include <algorithm>
#include <cmath>

namespace fusec {

namespace {

// A sum or a difference with a number of at least 1 leaves nothing of an error below the rounding of that number.
bool adds_one_or_more(const Op& op) {
  if (op.kind != OpKind::kAdd && op.kind != OpKind::kSub) return false;
  return std::any_of(op.in.begin(), op.in.end(),
                     [](const Operand& in) { return in.is_literal() && std::abs(in.literal->as_double()) >= 1; });
}

}  // namespace

IdVec<OpId, bool> find_coarse_ops(const Graph& graph) {
  const auto users = users_of(graph);
  IdVec<ValueId, bool> is_output(graph.values.size(), false), rounded(graph.values.size(), false), inexact(graph.values.size(), false);
  for (const Output& o : graph.outputs) is_output[o.value] = true;
  auto keeps = [&](OpId user, ValueId v, bool is_exponential) -> bool {
    const Op& op = graph[user];
    const ValueId result = op.out[0];
    switch (op.kind) {
      case OpKind::kCast:
        return is_narrow_float(graph[result].dtype);
      case OpKind::kSum:  // of terms with one sign
        return is_exponential && graph[result].dtype == DType::kF32 && rounded[result];
      case OpKind::kMul:
      case OpKind::kDiv:
        return rounded[result];
      default:
        return is_view(op.kind) && op.kind != OpKind::kCat && op.kind != OpKind::kStack && op.in[0].value == v && rounded[result];
    }
  };
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph[OpId(i)];
    const ValueId v = op.out[0];
    if (!v.valid() || graph[v].dtype != DType::kF32 || is_output[v]) continue;
    rounded[v] = std::all_of(users[v].begin(), users[v].end(), [&](OpId user) {
      return op.kind == OpKind::kErf ? adds_one_or_more(graph[user]) : keeps(user, v, op.kind == OpKind::kExp);
    });
  }
  IdVec<OpId, bool> coarse(graph.ops.size(), false);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph[OpId(i)];
    const ValueId v = op.out[0];
    if (!v.valid() || !rounded[v]) continue;
    const bool from_inexact = op.kind == OpKind::kDiv && op.in[0].is_value() && inexact[op.in[0].value];
    coarse[OpId(i)] = inexact[v] = op.kind == OpKind::kExp || op.kind == OpKind::kErf || from_inexact;
  }
  return coarse;
}

}  // namespace fusec
