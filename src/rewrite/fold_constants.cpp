// z = mul(full(2), 3)  →  z = full(6): ops on constants are evaluated by the reference, on one element, in their own dtype and rounding.
// Needs primitive ops. Operands that nothing else needs go with it.
#include <optional>

#include "reference/evaluate.h"
#include "rewrite/rewrite.h"
#include "support/check.h"

namespace fusec {

namespace {

const Literal* constant_of(const Graph& graph, const Operand& operand) {
  if (operand.is_literal()) return &*operand.literal;
  const OpId def = graph[operand.value].def;
  return def.valid() && graph[def].kind == OpKind::kFull ? &graph.attrs(graph[def]).value : nullptr;
}

// One element of any dtype as a literal of that dtype.
Literal element(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::kBool:
      return {*tensor.as<uint8_t>() != 0};
    case DType::kU8:
      return {int64_t{*tensor.as<uint8_t>()}};
    case DType::kI8:
      return {int64_t{*tensor.as<int8_t>()}};
    case DType::kI16:
      return {int64_t{*tensor.as<int16_t>()}};
    case DType::kI32:
      return {int64_t{*tensor.as<int32_t>()}};
    case DType::kI64:
      return {*tensor.as<int64_t>()};
    case DType::kF32:
      return {static_cast<double>(*tensor.as<float>())};
    case DType::kF64:
      return {*tensor.as<double>()};
    default:
      FUSEC_CHECK(false, "a narrow constant was not widened");
  }
  return {};
}

// The op on 0-d constants; a narrow result is cast up, which is exact.
Literal evaluate_on_one_element(const Graph& graph, const Op& op) {
  Graph one;
  for (const Operand& operand : op.in) {
    if (!operand.is_value()) continue;
    Op full;
    full.kind = OpKind::kFull;
    one.make_attrs(full).value = *constant_of(graph, operand);
    const std::string name = "c" + std::to_string(one.values.size());
    full.out = {one.values.push({name, graph[operand.value].dtype, {}, OpId(one.ops.size()), 0, {}})};
    one.ops.push(std::move(full));
  }
  Op copy = op;
  uint32_t next = 0;
  for (Operand& operand : copy.in)
    if (operand.is_value()) operand.value = ValueId(next++);
  copy.attrs = AttrsId();
  const DType dtype = graph[op.out[0]].dtype;
  copy.out = {one.values.push({"y", dtype, {}, OpId(one.ops.size()), 0, {}})};
  one.ops.push(std::move(copy));
  if (is_narrow_float(dtype)) {
    Op cast;
    cast.kind = OpKind::kCast;
    cast.in = {{ValueId(one.values.size() - 1), {}}};
    cast.out = {one.values.push({"wide", DType::kF32, {}, OpId(one.ops.size()), 0, {}})};
    one.ops.push(std::move(cast));
  }
  Output output;
  output.value = ValueId(one.values.size() - 1);
  output.name = "y";
  one.outputs.push_back(output);
  return element(evaluate(one, {})[0]);
}

// Views of a constant are that constant; cat, stack and pad when all parts are the same one.
std::optional<Literal> constant_view(const Graph& graph, const Op& op) {
  const Literal* value = constant_of(graph, op.in[0]);
  for (const Operand& operand : op.in) {
    const Literal* other = constant_of(graph, operand);
    if (!value || !other || !(*other == *value)) return std::nullopt;
  }
  if (op.kind == OpKind::kPad && !(graph.attrs(op).value == *value)) return std::nullopt;
  return *value;
}

std::optional<Literal> folded(const Graph& graph, const Op& op) {
  if (is_view(op.kind)) return constant_view(graph, op);
  if (!is_pointwise(op.kind)) return std::nullopt;
  for (const Operand& operand : op.in)
    if (!constant_of(graph, operand)) return std::nullopt;
  return evaluate_on_one_element(graph, op);
}

}  // namespace

Graph fold_constants(Graph graph, RewriteLog& log) {
  for (Op& op : graph.ops) {
    const std::optional<Literal> value = folded(graph, op);
    if (!value) continue;
    for (const Operand& operand : op.in)
      if (operand.is_value()) log.absorbed.emplace(graph[operand.value].name, graph[op.out[0]].name);
    op.kind = OpKind::kFull;
    op.in.clear();
    op.attrs = AttrsId();
    Attrs& attrs = graph.make_attrs(op);
    attrs.shape = graph[op.out[0]].shape;
    attrs.value = *value;
  }
  return remove_dead_ops(std::move(graph), log);
}

}  // namespace fusec
