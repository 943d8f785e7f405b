// Rules of gathers and scatters.
#include "graph/infer.h"
#include "graph/literal.h"

namespace fusec {

namespace {

std::string dimension_text(const OpRules& rules, size_t d, size_t i, size_t j) {
  return "dimension " + std::to_string(d) + " (" + rules.text(rules.shape(i)) + " and " + rules.text(rules.shape(j)) + ")";
}

// The index ranges over a part of operand j: index.size(d) ≤ size(d).
bool index_within(OpRules& rules, size_t j, const char* role, size_t d) {
  const Size &have = rules.shape(1)[d], &limit = rules.shape(j)[d];
  return rules.require_at_most(have, limit, "index-size", rules.at_operand(1), [&] {
    return std::string("has an index larger than ") + role + " in " + dimension_text(rules, d, 1, j) + ": " + rules.text(have) +
           " is greater than " + rules.text(limit);
  });
}

void infer_gather_like(OpRules& rules) {
  const auto dim = static_cast<size_t>(rules.attrs.dim);
  Shape shape = rules.shape(1);
  if (!rules.has_rank(1, "an index", rules.rank(0))) return;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == dim) continue;
    if (rules.op.kind == OpKind::kGather) {
      if (!index_within(rules, 0, "its operand", d)) return;
      continue;
    }
    Shape size = {rules.shape(0)[d]};
    if (!rules.broadcast(size, {shape[d]})) {
      Diagnostic& e =
          rules.error("shape-mismatch", rules.at_operand(1), "cannot broadcast operand and index in " + dimension_text(rules, d, 0, 1));
      rules.note_operand(e, 0);
      rules.note_operand(e, 1);
      return;
    }
    shape[d] = size[0];
  }
  rules.results.emplace_back(rules.dtype(0), std::move(shape));
}

void infer_embedding(OpRules& rules) {
  if (!rules.takes_index(0) || !rules.has_rank(1, "a weight", 2)) return;
  Shape shape = rules.shape(0);
  shape.push_back(rules.shape(1)[1]);
  rules.results.emplace_back(rules.dtype(1), std::move(shape));
}

// src is a value of x's dtype, or a literal.
bool check_source_dtype(OpRules& rules) {
  if (rules.op.in[2].is_value()) return rules.same_dtype(0, 2);
  Literal literal = *rules.op.in[2].literal;
  if (!rules.converted(literal, computing_type(rules.dtype(0)), rules.at_operand(2))) return false;
  rules.literals.emplace_back(2, literal);
  return true;
}

bool check_scatter(OpRules& rules) {
  const auto dim = static_cast<size_t>(rules.attrs.dim);
  const bool has_source = rules.op.in[2].is_value();
  if (!rules.has_rank(1, "an index", rules.rank(0)) || (has_source && !rules.has_rank(2, "a src", rules.rank(0)))) return false;
  for (size_t d = 0; d < rules.shape(0).size(); ++d) {
    if (has_source && !index_within(rules, 2, "src", d)) return false;
    if (d != dim && !index_within(rules, 0, "its first operand", d)) return false;
  }
  return true;
}

bool check_index_put(OpRules& rules) {
  const auto dim = static_cast<size_t>(rules.attrs.dim);
  if (!rules.has_rank(1, "an index", 1)) return false;
  if (!rules.op.in[2].is_value()) return true;
  if (!rules.has_rank(2, "a src", rules.rank(0))) return false;
  for (size_t d = 0; d < rules.shape(0).size(); ++d) {
    const Size& wanted = d == dim ? rules.shape(1)[0] : rules.shape(0)[d];
    const std::string against = d == dim ? "the length of the index" : "the size of its first operand";
    if (!rules.require_equal(rules.shape(2)[d], wanted, "shape-mismatch", rules.at_operand(2),
                             [&] { return "takes a src whose dimension " + std::to_string(d) + " has " + against; }))
      return false;
  }
  return true;
}

}  // namespace

void infer_gather(OpRules& rules) {
  if (!rules.takes_values()) return;
  if (rules.op.kind == OpKind::kEmbedding) return infer_embedding(rules);
  if (!rules.takes_index(1) || !rules.resolve_dim(rules.attrs.dim, rules.rank(0), "dim")) return;
  if (rules.op.kind != OpKind::kIndexSelect) return infer_gather_like(rules);
  if (!rules.has_rank(1, "an index", 1)) return;
  Shape shape = rules.shape(0);
  shape[static_cast<size_t>(rules.attrs.dim)] = rules.shape(1)[0];
  rules.results.emplace_back(rules.dtype(0), std::move(shape));
}

void infer_scatter(OpRules& rules) {
  if (!rules.takes_values({2}) || !rules.takes_index(1) || !check_source_dtype(rules)) return;
  if (!rules.resolve_dim(rules.attrs.dim, rules.rank(0), "dim")) return;
  if (rules.op.kind == OpKind::kScatter ? !check_scatter(rules) : !check_index_put(rules)) return;
  rules.results.emplace_back(rules.dtype(0), rules.shape(0));
}

}  // namespace fusec
