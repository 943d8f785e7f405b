// mul(x, 1) → copy(x), cast(f32 x, f32) → copy(x): in place, so that every op keeps its name and its group.
// Only identities that hold bit for bit for every value: x + 0 is none (−0 + 0 is +0), x − 0 is one. f8 results are left alone:
// rounding to f8 saturates infinities even where nothing else changes.
#include <limits>
#include <optional>

#include "rewrite/rewrite.h"

namespace fusec {

namespace {

// The literal at operand 0 or 1 that leaves the other operand unchanged, for floats and for integers.
struct Neutral {
  OpKind kind;
  bool left, right;  // where it may stand
  std::optional<double> of_floats;
  std::optional<int64_t> of_integers;
  std::optional<bool> of_bool;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Neutral kNeutral[] = {
    {OpKind::kAdd, true, true, -0.0, 0, false},
    {OpKind::kSub, false, true, 0.0, 0, {}},
    {OpKind::kMul, true, true, 1.0, 1, true},
    {OpKind::kDiv, false, true, 1.0, {}, {}},
    {OpKind::kFloorDiv, false, true, {}, 1, {}},
    {OpKind::kTruncDiv, false, true, {}, 1, {}},
    {OpKind::kCeilDiv, false, true, {}, 1, {}},
    {OpKind::kPow, false, true, {}, 1, {}},
    {OpKind::kMaximum, true, true, -kInfinity, {}, {}},
    {OpKind::kMinimum, true, true, kInfinity, {}, {}},
    {OpKind::kBitwiseOr, true, true, {}, 0, false},
    {OpKind::kBitwiseXor, true, true, {}, 0, false},
    {OpKind::kBitwiseAnd, true, true, {}, {}, true},
    {OpKind::kShl, false, true, {}, 0, {}},
    {OpKind::kShr, false, true, {}, 0, {}},
    {OpKind::kLogicalOr, true, true, {}, {}, false},
    {OpKind::kLogicalAnd, true, true, {}, {}, true},
    {OpKind::kLogicalXor, true, true, {}, {}, false},
};

bool is_neutral(const Neutral& row, const Operand& operand) {
  if (!operand.is_literal()) return false;
  const Literal& l = *operand.literal;
  if (std::holds_alternative<double>(l.value)) return row.of_floats && l == Literal{*row.of_floats};
  if (std::holds_alternative<bool>(l.value)) return row.of_bool && l == Literal{*row.of_bool};
  return row.of_integers && l == Literal{*row.of_integers};
}

// The operand that the op hands on unchanged.
std::optional<size_t> unchanged_operand(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kCast) return graph[op.in[0].value].dtype == graph[op.out[0]].dtype ? std::optional<size_t>(0) : std::nullopt;
  for (const Neutral& row : kNeutral) {
    if (row.kind != op.kind) continue;
    if (row.right && is_neutral(row, op.in[1])) return 0;
    if (row.left && is_neutral(row, op.in[0])) return 1;
  }
  return std::nullopt;
}

}  // namespace

Graph simplify(Graph graph, RewriteLog&) {
  for (Op& op : graph.ops) {
    if (!is_pointwise(op.kind) || is_f8(graph[op.out[0]].dtype)) continue;
    const std::optional<size_t> kept = unchanged_operand(graph, op);
    if (!kept) continue;
    op.in = {op.in[*kept]};
    op.kind = OpKind::kCopy;
    op.attrs = AttrsId();
  }
  return graph;
}

}  // namespace fusec
