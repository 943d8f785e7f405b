// Rules of reductions, scans and sorts.
#include "graph/infer.h"

namespace fusec {

namespace {

Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& dims, bool keepdim) {
  Shape result;
  size_t next = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool reduced = next < dims.size() && dims[next] == static_cast<int64_t>(d);
    next += reduced;
    if (!reduced) result.push_back(shape[d]);
    if (reduced && keepdim) result.push_back(1);
  }
  return result;
}

// max, min, argmax and argmin have no value for nothing. Those of an expanded composite never see it: its result is empty as well.
bool not_empty(OpRules& rules, const std::vector<int64_t>& dims) {
  if (!rules.op.origin.empty()) return true;
  for (int64_t d : dims) {
    const Size& size = rules.shape(0)[static_cast<size_t>(d)];
    if (!rules.require_at_most(1, size, "empty-reduction", rules.at_operand(0), [&] {
          return "of nothing has no value: dimension " + std::to_string(d) + " of " + rules.type_text(0) + " has size " + rules.text(size);
        }))
      return false;
  }
  return true;
}

// sum, prod, mean: the operand's dtype, or the attribute's where one is needed or wanted.
bool accumulated_dtype(OpRules& rules, DType& result) {
  const DType operand = rules.dtype(0);
  const bool mean = rules.op.kind == OpKind::kMean;
  if (!rules.attrs.dtype && (operand == DType::kBool || (mean && !is_float(operand)))) {
    Diagnostic& d = rules.error("dtype", rules.at_operand(0), "of " + std::string(name_of(operand)) + " needs the attribute 'dtype'");
    rules.note_operand(d, 0);
    d.notes.push_back({{}, mean ? R"(write "dtype": "f32")" : R"(write "dtype": "i64")"});
    return false;
  }
  result = rules.attrs.dtype.value_or(operand);
  if (result == DType::kBool || (mean && !is_float(result))) {
    rules.error("dtype", rules.at_attribute("dtype"),
                std::string("gives ") + (mean ? "floats" : "numbers") + ", its dtype cannot be " + std::string(name_of(result)));
    return false;
  }
  return true;
}

void infer_arg_reduction(OpRules& rules) {
  std::vector<int64_t>& dims = rules.attrs.dims;
  if (!rules.takes_class(0, OperandClass::kNumber) || !rules.resolve_dim(rules.attrs.dim, rules.rank(0), "dim")) return;
  dims.clear();
  if (!not_empty(rules, {rules.attrs.dim})) return;
  rules.results.emplace_back(DType::kI64, reduced_shape(rules.shape(0), {rules.attrs.dim}, rules.attrs.keepdim));
}

}  // namespace

void infer_reduction(OpRules& rules) {
  if (!rules.takes_values()) return;
  const OpKind kind = rules.op.kind;
  if (kind == OpKind::kArgmax || kind == OpKind::kArgmin) return infer_arg_reduction(rules);
  std::vector<int64_t>& dims = rules.attrs.dims;
  DType result = rules.dtype(0);
  switch (kind) {
    case OpKind::kSum:
    case OpKind::kProd:
    case OpKind::kMean:
      if (!accumulated_dtype(rules, result)) return;
      break;
    case OpKind::kMax:
    case OpKind::kMin:
      if (!rules.takes_class(0, OperandClass::kNumber)) return;
      break;
    case OpKind::kAll:
    case OpKind::kAny:
      if (!rules.takes_class(0, OperandClass::kBoolOnly)) return;
      break;
    default:
      if (!rules.takes_class(0, OperandClass::kFloat)) return;
  }
  if (!rules.resolve_dims(dims, rules.rank(0), "dims", rules.rank(0))) return;
  if ((kind == OpKind::kMax || kind == OpKind::kMin) && !not_empty(rules, dims)) return;
  if (rules.attrs.correction < 0) {
    rules.error("attribute-range", rules.at_attribute("correction"),
                "has correction " + std::to_string(rules.attrs.correction) + "; it is at least 0");
    return;
  }
  for (int i = 0; i < rules.row.results; ++i) rules.results.emplace_back(result, reduced_shape(rules.shape(0), dims, rules.attrs.keepdim));
}

void infer_scan(OpRules& rules) {
  if (!rules.takes_values() || !rules.takes_class(0, OperandClass::kNumber) || !rules.resolve_dim(rules.attrs.dim, rules.rank(0), "dim"))
    return;
  rules.results.emplace_back(rules.dtype(0), rules.shape(0));
}

void infer_sort(OpRules& rules) {
  if (!rules.takes_values() || !rules.resolve_dim(rules.attrs.dim, rules.rank(0), "dim")) return;
  Shape shape = rules.shape(0);
  if (rules.op.kind == OpKind::kTopk) {
    Size& size = shape[static_cast<size_t>(rules.attrs.dim)];
    const Size& k = rules.attrs.k;
    if (!rules.require_at_most(0, k, "k-range", rules.at_attribute("k"), [&] { return "has the negative k " + rules.text(k); }) ||
        !rules.require_at_most(k, size, "k-range", rules.at_attribute("k"), [&] {
          return "has k " + rules.text(k) + " for size " + rules.text(size) + " of dimension " + std::to_string(rules.attrs.dim);
        }))
      return;
    size = k;
  }
  if (rules.op.kind != OpKind::kArgsort) rules.results.emplace_back(rules.dtype(0), shape);
  rules.results.emplace_back(DType::kI64, shape);
}

}  // namespace fusec
