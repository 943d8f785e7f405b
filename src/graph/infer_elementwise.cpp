// Rules of elementwise ops, conversions and creation ops.
#include <algorithm>

#include "graph/infer.h"
#include "graph/literal.h"

namespace fusec {

namespace {

// The positions of the value operands that must agree in dtype; `where`'s condition stands apart.
std::vector<size_t> typed_operands(const OpRules& rules) {
  std::vector<size_t> positions;
  for (size_t i = rules.op.kind == OpKind::kWhere ? 1 : 0; i < rules.operand_count(); ++i)
    if (rules.op.in[i].is_value()) positions.push_back(i);
  return positions;
}

bool check_condition(OpRules& rules) {
  const Operand& condition = rules.op.in[0];
  if (condition.is_value()) {
    if (rules.dtype(0) == DType::kBool) return true;
    Diagnostic& d = rules.error("dtype", rules.at_operand(0), "takes a bool condition, got " + std::string(name_of(rules.dtype(0))));
    rules.note_operand(d, 0);
    d.notes.push_back({{}, "compare it with 'ne' and 0, or insert a 'cast' to bool"});
    return false;
  }
  Literal literal = *condition.literal;
  if (!rules.converted(literal, DType::kBool, rules.at_operand(0))) return false;
  rules.literals.emplace_back(0, literal);
  return true;
}

// Literals take the type in which the op computes; in a comparison they are rounded to the operands' dtype.
bool convert_literals(OpRules& rules, DType operands) {
  const DType type = rules.row.result == ResultRule::kBool ? operands : computing_type(operands);
  for (size_t i = rules.op.kind == OpKind::kWhere ? 1 : 0; i < rules.operand_count(); ++i) {
    if (!rules.op.in[i].is_literal()) continue;
    Literal literal = *rules.op.in[i].literal;
    if (!rules.converted(literal, type, rules.at_operand(i))) return false;
    if (!(literal == *rules.op.in[i].literal)) rules.literals.emplace_back(i, literal);
  }
  return true;
}

bool broadcast_operands(OpRules& rules, Shape& result) {
  bool first = true;
  for (size_t i = 0; i < rules.operand_count(); ++i) {
    if (!rules.op.in[i].is_value()) continue;
    if (first) {
      result = rules.shape(i);
      first = false;
      continue;
    }
    if (result == rules.shape(i)) continue;
    const Shape before = result;
    if (rules.broadcast(result, rules.shape(i))) continue;
    const std::string type(name_of(rules.dtype(i)));
    Diagnostic& d = rules.error("shape-mismatch", rules.at_operand(i),
                                "cannot broadcast " + rules.text(before) + " with " + rules.text(rules.shape(i)));
    for (size_t j = 0; j <= i; ++j)
      if (rules.op.in[j].is_value()) rules.note_operand(d, j);
    d.notes.push_back({{}, "sizes must be equal or 1, counted from the last dimension"});
    return false;
  }
  return true;
}

}  // namespace

void infer_elementwise(OpRules& rules) {
  for (size_t i = 0; i < rules.operand_count(); ++i)
    if (rules.op.in[i].is_absent()) {
      rules.error("operand", rules.at_operand(i), "takes no null operand");
      return;
    }
  const std::vector<size_t> typed = typed_operands(rules);
  if (typed.empty()) {
    const char* which = rules.op.kind == OpKind::kWhere ? "one of its second and third operand" : "one operand";
    rules.error("literals-only", rules.here(), std::string("has only literals; at least ") + which + " must be a value")
        .notes.push_back({{}, "use 'full' to make a constant tensor"});
    return;
  }
  if (rules.op.kind == OpKind::kWhere && !check_condition(rules)) return;
  for (size_t i : typed)
    if (!rules.takes_class(i, rules.row.operands)) return;
  for (size_t i : typed)
    if (!rules.same_dtype(typed[0], i)) return;
  const DType dtype = rules.dtype(typed[0]);
  Shape shape;
  if (!convert_literals(rules, dtype) || !broadcast_operands(rules, shape)) return;
  rules.results.emplace_back(rules.row.result == ResultRule::kBool ? DType::kBool : dtype, std::move(shape));
}

void infer_convert(OpRules& rules) {
  if (!rules.takes_values()) return;
  const DType from = rules.dtype(0), to = rules.given_dtype();
  if (rules.op.kind == OpKind::kBitcast && bytes_of(from) != bytes_of(to)) {
    Diagnostic& d = rules.error("bitcast-size", rules.at_attribute("dtype"),
                                "takes dtypes of one size, got " + std::string(name_of(from)) + " (" + std::to_string(bytes_of(from)) +
                                    " bytes) and " + std::string(name_of(to)) + " (" + std::to_string(bytes_of(to)) + ")");
    d.notes.push_back({{}, "use 'cast' to convert the value"});
    return;
  }
  rules.attrs.dtype.reset();
  rules.results.emplace_back(to, rules.shape(0));
}

namespace {

bool check_iota(OpRules& rules, DType dtype) {
  if (dtype == DType::kBool) {
    rules.error("dtype", rules.at_attribute("dtype"), "makes numbers, got bool");
    return false;
  }
  if (!rules.resolve_dim(rules.attrs.dim, static_cast<int64_t>(rules.attrs.shape.size()), "dim")) return false;
  // Floats keep start and step as written: start + i·step is rounded once.
  for (const auto& [literal, name] : {std::pair(&rules.attrs.start, "start"), std::pair(&rules.attrs.step, "step")}) {
    if (std::holds_alternative<bool>(literal->value)) {
      rules.error("literal", rules.at_attribute(name), std::string("takes a number as ") + name + ", got " + to_string(*literal));
      return false;
    }
    if (!is_integer(dtype)) continue;
    // A step may go down through unsigned numbers.
    const int64_t* number = std::get_if<int64_t>(&literal->value);
    const bool down = dtype == DType::kU8 && literal == &rules.attrs.step && number && *number < 0 && *number >= -255;
    if (!down && !rules.converted(*literal, dtype, rules.at_attribute(name))) return false;
  }
  return true;
}

}  // namespace

void infer_creation(OpRules& rules) {
  const DType dtype = rules.given_dtype();
  rules.attrs.dtype.reset();
  switch (rules.op.kind) {
    case OpKind::kFull: {
      // 0 and 1 are booleans as well where a value is written as an attribute.
      const int64_t* number = std::get_if<int64_t>(&rules.attrs.value.value);
      if (dtype == DType::kBool && number && (*number == 0 || *number == 1)) rules.attrs.value.value = *number == 1;
      if (!rules.converted(rules.attrs.value, dtype, rules.at_attribute("value"))) return;
      break;
    }
    case OpKind::kIota:
      if (!check_iota(rules, dtype)) return;
      break;
    default:
      if (!is_float(dtype)) {
        rules.error("dtype", rules.at_attribute("dtype"), "makes floats, got " + std::string(name_of(dtype)))
            .notes.push_back({{}, "make an f32 and insert a 'cast'"});
        return;
      }
  }
  rules.results.emplace_back(dtype, rules.attrs.shape);
}

}  // namespace fusec
