// Rules of the composite ops and of matrix products.
#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/infer.h"
#include "graph/literal.h"

namespace fusec {

namespace {

bool floats(OpRules& rules) {
  for (size_t i = 0; i < rules.operand_count(); ++i)
    if (!rules.is_absent(i) && !rules.takes_class(i, OperandClass::kFloat)) return false;
  return true;
}

// Only weights and biases may be skipped with null.
bool takes_composite_operands(OpRules& rules) {
  for (size_t i = 0; i < rules.operand_count(); ++i) {
    const Operand& o = rules.op.in[i];
    if (o.is_value() || (o.is_absent() && static_cast<int>(i) >= rules.row.min_operands)) continue;
    rules.error(
        "operand", rules.at_operand(i),
        "takes a value as operand " + std::to_string(i + 1) + ", got " + (o.is_literal() ? "literal " + to_string(*o.literal) : "null"));
    return false;
  }
  return true;
}

bool has_shape(OpRules& rules, size_t i, const char* role, const Shape& wanted) {
  if (rules.is_absent(i)) return true;
  const Shape& got = rules.shape(i);
  bool same = got.size() == wanted.size();
  for (size_t d = 0; same && d < wanted.size(); ++d) same = rules.equal(got[d], wanted[d]);
  if (same) return true;
  Diagnostic& d = rules.error("shape-mismatch", rules.at_operand(i),
                              std::string("takes a ") + role + " of shape " + rules.text(wanted) + ", got " + rules.text(got));
  rules.note_operand(d, 0);
  rules.note_operand(d, i);
  return false;
}

bool check_eps(OpRules& rules) {
  if (std::isfinite(rules.attrs.eps) && rules.attrs.eps >= 0) return true;
  rules.error("attribute-range", rules.at_attribute("eps"),
              "has eps " + to_string(Literal{rules.attrs.eps}) + "; it is finite and at least 0");
  return false;
}

// Throws where the mean and variance of each row pass the 64-bit range: empty rows may be as many as that.
void check_statistics(const OpRules& rules, const Shape& rows) {
  element_count(rows) * std::max(bytes_of(DType::kF32), bytes_of(rules.dtype(0)));
}

bool check_norm(OpRules& rules) {
  if (!check_eps(rules) || !rules.resolve_dims(rules.attrs.dims, rules.rank(0), "dims", 1)) return false;
  Shape affine, rows = rules.shape(0);
  for (int64_t d : rules.attrs.dims) affine.push_back(std::exchange(rows[static_cast<size_t>(d)], 1));
  check_statistics(rules, rows);
  return has_shape(rules, 1, "weight", affine) && has_shape(rules, 2, "bias", affine);
}

bool check_group_norm(OpRules& rules) {
  if (!check_eps(rules)) return false;
  if (rules.rank(0) < 2) {
    rules.note_operand(
        rules.error("rank", rules.at_operand(0), "takes an operand of rank 2 or more, got rank " + std::to_string(rules.rank(0))), 0);
    return false;
  }
  const Size& channels = rules.shape(0)[1];
  const int64_t groups = rules.attrs.groups;
  const bool divides = groups >= 1 && rules.divides(groups, channels);
  if (!divides) {
    rules.note_operand(rules.error("groups", rules.at_attribute("groups"),
                                   "cannot divide " + rules.text(channels) + " channels into " + std::to_string(groups) + " groups"),
                       0);
    return false;
  }
  check_statistics(rules, {rules.shape(0)[0], groups});
  return has_shape(rules, 1, "weight", {channels}) && has_shape(rules, 2, "bias", {channels});
}

bool check_rope(OpRules& rules) {
  if (rules.rank(0) < 1 || !rules.divides(2, rules.shape(0).back())) {
    rules.note_operand(rules.error("rope-size", rules.at_operand(0), "takes an even last dimension, got " + rules.type_text(0)), 0);
    return false;
  }
  for (size_t i : {1, 2}) {
    Shape shape = rules.shape(0);
    if (rules.rank(i) <= rules.rank(0) && rules.broadcast(shape, rules.shape(i)) && shape == rules.shape(0)) continue;
    Diagnostic& d = rules.error("shape-mismatch", rules.at_operand(i),
                                "cannot broadcast " + rules.text(rules.shape(i)) + " to " + rules.text(rules.shape(0)));
    rules.note_operand(d, 0);
    rules.note_operand(d, i);
    return false;
  }
  return true;
}

bool check_dropout(OpRules& rules) {
  if (rules.attrs.p >= 0 && rules.attrs.p <= 1) return true;
  rules.error("attribute-range", rules.at_attribute("p"), "has p " + to_string(Literal{rules.attrs.p}) + "; it is between 0 and 1");
  return false;
}

void infer_cross_entropy(OpRules& rules) {
  if (!rules.takes_class(0, OperandClass::kFloat) || !rules.takes_index(1)) return;
  if (rules.rank(0) < 1) {
    rules.note_operand(rules.error("rank", rules.at_operand(0), "takes logits of rank 1 or more, got rank 0"), 0);
    return;
  }
  Shape wanted = rules.shape(0);
  wanted.pop_back();
  if (has_shape(rules, 1, "target", wanted)) rules.results.emplace_back(rules.dtype(0), std::move(wanted));
}

}  // namespace

void infer_composite(OpRules& rules) {
  if (!takes_composite_operands(rules)) return;
  for (size_t i = 0; i < rules.operand_count(); ++i)
    if (!rules.is_absent(i) && bytes_of(rules.dtype(i)) < bytes_of(DType::kF32) && !rules.fits_as(i, DType::kF32)) return;
  // `dim` means nothing to the others; one value for all makes equal ops equal.
  if (rules.op.kind != OpKind::kSoftmax && rules.op.kind != OpKind::kLogSoftmax) rules.attrs.dim = 0;
  if (rules.op.kind == OpKind::kCrossEntropy) return infer_cross_entropy(rules);
  if (!floats(rules)) return;
  bool fine = true;
  switch (rules.op.kind) {
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax:
      fine = rules.resolve_dim(rules.attrs.dim, rules.rank(0), "dim");
      break;
    case OpKind::kLayerNorm:
    case OpKind::kRmsNorm:
      fine = check_norm(rules);
      break;
    case OpKind::kGroupNorm:
      fine = check_group_norm(rules);
      break;
    case OpKind::kRope:
      fine = check_rope(rules);
      break;
    default:
      fine = check_dropout(rules);
  }
  if (fine) rules.results.emplace_back(rules.dtype(0), rules.shape(0));
}

namespace {

bool product_dtype(OpRules& rules, DType& result) {
  const DType operand = rules.dtype(0);
  if (is_f8(operand) && !rules.attrs.dtype) {
    rules.note_operand(rules.error("dtype", rules.at_operand(0), "of " + std::string(name_of(operand)) + " needs the attribute 'dtype'"),
                       0);
    return false;
  }
  result = rules.attrs.dtype.value_or(operand);
  if (is_float(result)) return true;
  rules.error("dtype", rules.at_attribute("dtype"), "gives floats, its dtype cannot be " + std::string(name_of(result)));
  return false;
}

bool same_inner(OpRules& rules, const Size& a, const Size& b) {
  return rules.require_equal(a, b, "shape-mismatch", rules.at_operand(1),
                             [&] { return "sums over different sizes of " + rules.type_text(0) + " and " + rules.type_text(1); });
}

}  // namespace

void infer_matmul(OpRules& rules) {
  if (!takes_composite_operands(rules) || !floats(rules) || !rules.same_dtype(0, 1)) return;
  DType result;
  if (!product_dtype(rules, result)) return;
  Shape a = rules.shape(0), b = rules.shape(1);
  if (a.empty() || b.empty()) {
    rules.error("rank", rules.at_operand(a.empty() ? 0 : 1), "takes operands of rank 1 or more, got rank 0");
    return;
  }
  if (rules.op.kind == OpKind::kLinear) {
    if (!rules.has_rank(1, "a weight", 2) || !same_inner(rules, a.back(), b[1]) || !has_shape(rules, 2, "bias", {b[0]})) return;
    a.back() = b[0];
    rules.results.emplace_back(result, std::move(a));
    return;
  }
  // NumPy's rule: a vector is a row on the left, a column on the right, and that dimension goes again.
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (!same_inner(rules, a.back(), b[b.size() - 2])) return;
  Shape shape(a.begin(), a.end() - 2);
  if (!rules.broadcast(shape, Shape(b.begin(), b.end() - 2))) {
    rules.error("shape-mismatch", rules.at_operand(1),
                "cannot broadcast the batches of " + rules.type_text(0) + " and " + rules.type_text(1));
    return;
  }
  if (!row) shape.push_back(a[a.size() - 2]);
  if (!column) shape.push_back(b.back());
  rules.results.emplace_back(result, std::move(shape));
}

}  // namespace fusec
