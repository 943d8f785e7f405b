// Rules of the shape ops.
#include <algorithm>

#include "graph/infer.h"
#include "graph/literal.h"

namespace fusec {

namespace {

void give(OpRules& rules, Shape shape) { rules.results.emplace_back(rules.dtype(0), std::move(shape)); }

// The size that stands for -1: all elements over the other sizes.
bool resolve_open_size(OpRules& rules, size_t open, const Size& total) {
  Shape others = rules.attrs.shape;
  others.erase(others.begin() + static_cast<ptrdiff_t>(open));
  const Size rest = element_count(others);
  if (rest.is(0)) {
    rules.error("reshape-count", rules.at_attribute("shape"), "has -1 beside a size 0: any size would fit");
    return false;
  }
  if (const std::optional<Size> exact = total.exact_quotient(rest)) {
    rules.attrs.shape[open] = *exact;
    return true;
  }
  if (rest.is_constant() && !total.is_constant()) {
    if (rules.divides(rest.constant(), total)) {
      rules.attrs.shape[open] = rules.quotient(total, rest.constant());
      return true;
    }
  }
  Diagnostic& d = rules.error("reshape-count", rules.at_attribute("shape"),
                              "cannot divide " + rules.text(total) + " elements by " + rules.text(rest) + " for the size -1");
  rules.note_operand(d, 0);
  if (!total.is_constant()) d.notes.push_back({{}, "a dynamic size can promise its divisors with 'multiple_of'"});
  return false;
}

void infer_reshape(OpRules& rules) {
  Shape& shape = rules.attrs.shape;
  const Size total = element_count(rules.shape(0));
  size_t open = shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_constant() || shape[i].constant() >= 0) continue;
    if (!shape[i].is(-1) || open < shape.size()) {
      rules.error("negative-size", rules.at_attribute("shape"),
                  shape[i].is(-1) ? "has -1 twice in its shape" : "has the negative size " + rules.text(shape[i]) + " in its shape");
      return;
    }
    open = i;
  }
  if (open < shape.size()) {
    if (!resolve_open_size(rules, open, total)) return;
  } else if (const Size count = element_count(shape); !rules.equal(count, total)) {
    Diagnostic& d = rules.error("reshape-count", rules.at_attribute("shape"),
                                "cannot make " + rules.text(shape) + " (" + rules.text(count) + " elements) of " +
                                    rules.text(rules.shape(0)) + " (" + rules.text(total) + ")");
    rules.note_operand(d, 0);
    return;
  }
  give(rules, shape);
}

void infer_permute(OpRules& rules) {
  std::vector<int64_t>& perm = rules.attrs.perm;
  const int64_t rank = rules.rank(0);
  if (static_cast<int64_t>(perm.size()) != rank) {
    rules.note_operand(rules.error("perm", rules.at_attribute("perm"),
                                   "has perm of length " + std::to_string(perm.size()) + " for rank " + std::to_string(rank)),
                       0);
    return;
  }
  std::vector<bool> seen(perm.size());
  Shape shape;
  for (int64_t& d : perm) {
    if (!rules.resolve_dim(d, rank, "perm")) return;
    const auto at = static_cast<size_t>(d);
    if (seen[at]) {
      rules.error("perm", rules.at_attribute("perm"), "has dimension " + std::to_string(d) + " twice in perm");
      return;
    }
    seen[at] = true;
    shape.push_back(rules.shape(0)[at]);
  }
  give(rules, shape);
}

void infer_squeeze(OpRules& rules) {
  std::vector<int64_t>& dims = rules.attrs.dims;
  if (!rules.resolve_dims(dims, rules.rank(0), "dims", 0)) return;
  Shape shape = rules.shape(0);
  for (size_t i = dims.size(); i-- > 0;) {
    const auto at = static_cast<size_t>(dims[i]);
    if (!rules.require_equal(shape[at], 1, "squeeze-size", rules.at_attribute("dims"),
                             [&] { return "needs size 1 in dimension " + std::to_string(at); }))
      return;
    shape.erase(shape.begin() + static_cast<ptrdiff_t>(at));
  }
  give(rules, shape);
}

void infer_unsqueeze(OpRules& rules) {
  std::vector<int64_t>& dims = rules.attrs.dims;
  const int64_t rank = rules.rank(0) + static_cast<int64_t>(dims.size());
  if (!rules.resolve_dims(dims, rank, "dims", 0)) return;
  Shape shape = rules.shape(0);
  for (int64_t d : dims) shape.insert(shape.begin() + d, Size(1));
  give(rules, shape);
}

void infer_expand(OpRules& rules) {
  const Shape &from = rules.shape(0), &to = rules.attrs.shape;
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const Size &x = from[from.size() - 1 - i], &y = to[to.size() - 1 - i];
    fits = x.is(1) || rules.equal(x, y);
  }
  if (!fits) {
    Diagnostic& d =
        rules.error("shape-mismatch", rules.at_attribute("shape"), "cannot expand " + rules.text(from) + " to " + rules.text(to));
    rules.note_operand(d, 0);
    d.notes.push_back({{}, "only sizes 1 grow, and dimensions are added in front"});
    return;
  }
  give(rules, to);
}

// `list` has one entry per dimension.
bool per_dimension(OpRules& rules, size_t length, const char* name) {
  if (static_cast<int64_t>(length) == rules.rank(0)) return true;
  rules.note_operand(rules.error("attribute-length", rules.at_attribute(name),
                                 std::string("has ") + name + " of length " + std::to_string(length) + " for rank " +
                                     std::to_string(rules.rank(0)) + "; one per dimension is needed"),
                     0);
  return false;
}

bool slice_length(OpRules& rules, size_t d, Size& length) {
  const Attrs& a = rules.attrs;
  const Size &start = a.starts[d], &stop = a.stops[d], &size = rules.shape(0)[d];
  const auto range = [&](const char* name, const Size& value) {
    return std::string("has ") + name + " " + rules.text(value) + " in dimension " + std::to_string(d) + ", beyond the size " +
           rules.text(size);
  };
  const auto negative = [&](const char* name, const Size& value) {
    return std::string("has the negative ") + name + " " + rules.text(value) + " in dimension " + std::to_string(d) +
           "; allowed are 0 to " + rules.text(size);
  };
  if (!rules.require_at_most(0, start, "slice-range", rules.at_attribute("starts"), [&] { return negative("start", start); }) ||
      !rules.require_at_most(0, stop, "slice-range", rules.at_attribute("stops"), [&] { return negative("stop", stop); }) ||
      !rules.require_at_most(start, size, "slice-range", rules.at_attribute("starts"), [&] { return range("start", start); }) ||
      !rules.require_at_most(stop, size, "slice-range", rules.at_attribute("stops"), [&] { return range("stop", stop); }))
    return false;
  const int64_t step = a.steps[d];
  if (step < 1) {
    rules
        .error("slice-step", rules.at_attribute("steps"),
               "has step " + std::to_string(step) + " in dimension " + std::to_string(d) + "; steps are at least 1")
        .notes.push_back({{}, "use 'flip' to reverse a dimension"});
    return false;
  }
  const Size span = stop - start;
  if (span.is_constant()) {
    length = std::max<int64_t>(0, span.constant() / step + (span.constant() % step > 0));
    return true;
  }
  // An empty slice of constants is Python's; of run-time sizes it would need a maximum.
  if (!rules.require_at_most(start, stop, "slice-range", rules.at_attribute("starts"), [&] {
        return "has start " + rules.text(start) + " after stop " + rules.text(stop) + " in dimension " + std::to_string(d);
      }))
    return false;
  length = rules.quotient(rules.divides(step, span) ? span : span + (step - 1), step);
  return true;
}

void infer_slice(OpRules& rules) {
  Attrs& a = rules.attrs;
  if (!per_dimension(rules, a.starts.size(), "starts") || !per_dimension(rules, a.stops.size(), "stops")) return;
  if (a.steps.empty()) a.steps.assign(a.starts.size(), 1);
  if (!per_dimension(rules, a.steps.size(), "steps")) return;
  Shape shape(a.starts.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (!slice_length(rules, d, shape[d])) return;
  give(rules, shape);
}

void infer_flip(OpRules& rules) {
  if (rules.resolve_dims(rules.attrs.dims, rules.rank(0), "dims", 0)) give(rules, rules.shape(0));
}

// Throws where a crop reaches so far beyond its dimension that no 64-bit offset says how far.
void check_reach(OpRules& rules) {
  for (size_t d = 0; d < rules.attrs.low.size(); ++d) {
    Shape reach = rules.shape(0);
    for (const Size& crop : {rules.attrs.low[d], rules.attrs.high[d]})
      if (crop.is_constant() && crop.value() < 0) reach[d] = reach[d] - crop;
    element_count(reach) * bytes_of(rules.dtype(0));
  }
}

void infer_pad(OpRules& rules) {
  Attrs& a = rules.attrs;
  if (!per_dimension(rules, a.low.size(), "low") || !per_dimension(rules, a.high.size(), "high")) return;
  const int64_t* number = std::get_if<int64_t>(&a.value.value);
  if (rules.dtype(0) == DType::kBool && number && (*number == 0 || *number == 1)) a.value.value = *number == 1;
  if (!rules.converted(a.value, rules.dtype(0), rules.at_attribute("value"))) return;
  Shape shape(a.low.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const Size& size = rules.shape(0)[d];
    shape[d] = size + a.low[d] + a.high[d];
    if (!rules.require_at_most(0, shape[d], "pad-size", rules.at_attribute("low"), [&] {
          return "crops more than dimension " + std::to_string(d) + " has: size " + rules.text(size) + ", low " + rules.text(a.low[d]) +
                 ", high " + rules.text(a.high[d]);
        }))
      return;
  }
  check_reach(rules);
  give(rules, shape);
}

bool one_rank(OpRules& rules) {
  for (size_t i = 1; i < rules.operand_count(); ++i) {
    if (!rules.same_dtype(0, i)) return false;
    if (rules.rank(i) == rules.rank(0)) continue;
    Diagnostic& d = rules.error("rank", rules.at_operand(i),
                                "takes operands of one rank, got " + rules.text(rules.shape(0)) + " and " + rules.text(rules.shape(i)));
    rules.note_operand(d, 0);
    rules.note_operand(d, i);
    return false;
  }
  return true;
}

bool same_size(OpRules& rules, size_t i, size_t d) {
  return rules.require_equal(rules.shape(0)[d], rules.shape(i)[d], "shape-mismatch", rules.at_operand(i), [&] {
    return "needs one size in dimension " + std::to_string(d) + " of " + rules.text(rules.shape(0)) + " and " + rules.text(rules.shape(i));
  });
}

void infer_cat(OpRules& rules) {
  if (!one_rank(rules) || !rules.resolve_dim(rules.attrs.dim, rules.rank(0), "dim")) return;
  const auto dim = static_cast<size_t>(rules.attrs.dim);
  Shape shape = rules.shape(0);
  for (size_t i = 1; i < rules.operand_count(); ++i) {
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != dim && !same_size(rules, i, d)) return;
    shape[dim] += rules.shape(i)[dim];
  }
  give(rules, shape);
}

void infer_stack(OpRules& rules) {
  if (!one_rank(rules) || !rules.resolve_dim(rules.attrs.dim, rules.rank(0) + 1, "dim")) return;
  Shape shape = rules.shape(0);
  for (size_t i = 1; i < rules.operand_count(); ++i)
    for (size_t d = 0; d < shape.size(); ++d)
      if (!same_size(rules, i, d)) return;
  shape.insert(shape.begin() + rules.attrs.dim, Size(static_cast<int64_t>(rules.operand_count())));
  give(rules, shape);
}

}  // namespace

void infer_shape(OpRules& rules) {
  if (!rules.takes_values()) return;
  switch (rules.op.kind) {
    case OpKind::kReshape:
      return infer_reshape(rules);
    case OpKind::kPermute:
      return infer_permute(rules);
    case OpKind::kSqueeze:
      return infer_squeeze(rules);
    case OpKind::kUnsqueeze:
      return infer_unsqueeze(rules);
    case OpKind::kExpand:
      return infer_expand(rules);
    case OpKind::kSlice:
      return infer_slice(rules);
    case OpKind::kFlip:
      return infer_flip(rules);
    case OpKind::kPad:
      return infer_pad(rules);
    case OpKind::kCat:
      return infer_cat(rules);
    default:
      return infer_stack(rules);
  }
}

}  // namespace fusec
