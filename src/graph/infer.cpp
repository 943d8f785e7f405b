#include "graph/infer.h"

#include <algorithm>
#include <stdexcept>

#include "graph/literal.h"
#include "support/check.h"

namespace fusec {

Attrs default_attrs(OpKind kind) {
  Attrs attrs;
  switch (info(kind).category) {
    case OpCategory::kScan:
    case OpCategory::kSort:
      attrs.dim = -1;
      break;
    case OpCategory::kReduction:
      attrs.dims = {kDefaultDims};
      break;
    case OpCategory::kComposite:
      attrs.dim = -1;
      if (kind == OpKind::kLayerNorm || kind == OpKind::kRmsNorm) attrs.dims = {kDefaultDims};
      break;
    default:
      break;
  }
  if (kind == OpKind::kArgmax || kind == OpKind::kArgmin) attrs.dims.clear();
  return attrs;
}

OpRules::OpRules(const Graph& g, const Op& o, Symbols& symbols, Diagnostics& diagnostics, const OpPlaces* places)
    : graph(g), op(o), row(info(o.kind)), symbols_(symbols), diagnostics_(diagnostics), places_(places) {
  if (op.attrs.valid()) attrs = graph.attributes[op.attrs];
  else if (!row.attributes.empty()) attrs = default_attrs(op.kind);
}

// --- places and texts

Span OpRules::at_operand(size_t i) const {
  return places_ && i < places_->operands.size() && places_->operands[i].known() ? places_->operands[i] : op.at;
}

Span OpRules::at_attribute(std::string_view name) const {
  if (places_)
    for (const auto& [attribute, span] : places_->attributes)
      if (attribute == name && span.known()) return span;
  return op.at;
}

Diagnostic& OpRules::error(const char* word, Span at, const std::string& text) {
  ok_ = false;
  return diagnostics_.error(word, at, "'" + std::string(row.name) + "' " + text);
}

DType OpRules::given_dtype() const {
  FUSEC_CHECK(attrs.dtype || op.out[0].valid(), "no dtype for the result of " + std::string(row.name));
  return attrs.dtype ? *attrs.dtype : graph[op.out[0]].dtype;
}

std::string OpRules::type_text(size_t i) const { return std::string(name_of(dtype(i))) + text(shape(i)); }

void OpRules::note_operand(Diagnostic& d, size_t i) const {
  d.notes.push_back({operand(i).at, "'" + operand(i).name + "' is defined as " + type_text(i)});
}

// --- shared rules

bool OpRules::check_counts() {
  const size_t least = static_cast<size_t>(row.min_operands);
  const bool open = row.max_operands < 0;
  const size_t most = open ? SIZE_MAX : static_cast<size_t>(row.max_operands);
  if (op.out.size() != static_cast<size_t>(row.results)) {
    error("result-count", here(),
          "has " + std::to_string(row.results) + (row.results == 1 ? " result" : " results") + ", 'out' names " +
              std::to_string(op.out.size()) + (row.results > 1 ? "; null stands for one that nobody needs" : ""));
    return false;
  }
  if (op.in.size() >= least && op.in.size() <= most) return true;
  const std::string wanted = open            ? "at least " + std::to_string(least)
                             : least == most ? std::to_string(least)
                                             : std::to_string(least) + " to " + std::to_string(most);
  error("operand-count", here(), "takes " + wanted + (wanted == "1" ? " operand, got " : " operands, got ") + std::to_string(op.in.size()));
  return false;
}

bool OpRules::takes_values(std::initializer_list<size_t> literal_positions) {
  for (size_t i = 0; i < op.in.size(); ++i) {
    if (op.in[i].is_value() || (op.in[i].is_literal() && std::count(literal_positions.begin(), literal_positions.end(), i))) continue;
    const std::string got = op.in[i].is_literal() ? "literal " + to_string(*op.in[i].literal) : "null";
    error("operand", at_operand(i), "takes a value as operand " + std::to_string(i + 1) + ", got " + got);
    return false;
  }
  return true;
}

namespace {

struct ClassRule {
  bool (*holds)(DType);
  const char* text;
};
constexpr ClassRule kClasses[] = {
    {[](DType) { return true; }, "any dtype"},
    {[](DType t) { return t != DType::kBool; }, "numbers"},
    {[](DType t) { return is_float(t); }, "floats"},
    {[](DType t) { return is_integer(t); }, "integers"},
    {[](DType t) { return is_integer(t) || t == DType::kBool; }, "integers or bool"},
    {[](DType t) { return t == DType::kBool; }, "bool"},
};

}  // namespace

bool OpRules::takes_class(size_t i, OperandClass wanted) {
  const ClassRule& rule = kClasses[static_cast<int>(wanted)];
  if (rule.holds(dtype(i))) return true;
  Diagnostic& d = error("dtype", at_operand(i), std::string("takes ") + rule.text + ", got " + std::string(name_of(dtype(i))));
  note_operand(d, i);
  if (op.kind == OpKind::kDiv)
    d.notes.push_back({{}, "use 'floor_div', 'trunc_div' or 'ceil_div' for integers, or insert a 'cast' to a float dtype"});
  else if (dtype(i) == DType::kBool && (op.kind == OpKind::kMax || op.kind == OpKind::kMin))
    d.notes.push_back({{}, op.kind == OpKind::kMax ? "use 'any' for bool" : "use 'all' for bool"});
  else d.notes.push_back({{}, "insert a 'cast' before it"});
  return false;
}

bool OpRules::same_dtype(size_t i, size_t j) {
  const DType a = dtype(i), b = dtype(j);
  if (a == b) return true;
  Diagnostic& d = error("dtype-mismatch", at_operand(j),
                        "takes operands of one dtype, got " + std::string(name_of(a)) + " and " + std::string(name_of(b)));
  note_operand(d, i);
  note_operand(d, j);
  // The remedy that loses nothing: the narrower one is cast.
  const bool first = bytes_of(a) < bytes_of(b) || a == DType::kBool;
  const std::string& name = operand(first ? i : j).name;
  const std::string to(name_of(first ? b : a));
  d.notes.push_back(
      {{}, R"(insert {"op": "cast", "in": [")" + name + R"("], "dtype": ")" + to + R"(", "out": ")" + name + "_" + to + "\"}"});
  return false;
}

bool OpRules::takes_index(size_t i) {
  if (dtype(i) == DType::kI32 || dtype(i) == DType::kI64) return true;
  Diagnostic& d = error("index-dtype", at_operand(i), "takes an index of i32 or i64, got " + std::string(name_of(dtype(i))));
  note_operand(d, i);
  d.notes.push_back({{}, "insert a 'cast' to i64 before it"});
  return false;
}

bool OpRules::has_rank(size_t i, const char* role, int64_t wanted) {
  if (rank(i) == wanted) return true;
  Diagnostic& d = error("rank", at_operand(i),
                        std::string("takes ") + role + " of rank " + std::to_string(wanted) + ", got rank " + std::to_string(rank(i)) +
                            " (" + type_text(i) + ")");
  note_operand(d, i);
  return false;
}

bool OpRules::resolve_dim(int64_t& dim, int64_t rank, std::string_view attribute) {
  if (dim >= -rank && dim < rank) {
    if (dim < 0) dim += rank;
    return true;
  }
  const std::string range =
      rank == 0 ? "a 0-d tensor has no dimensions" : "allowed are " + std::to_string(-rank) + " to " + std::to_string(rank - 1);
  error("dim-range", at_attribute(attribute),
        "has " + std::string(attribute) + " " + std::to_string(dim) + " for rank " + std::to_string(rank) + "; " + range);
  return false;
}

bool OpRules::resolve_dims(std::vector<int64_t>& dims, int64_t rank, std::string_view attribute, int64_t defaults) {
  if (dims.size() == 1 && dims[0] == kDefaultDims) {
    dims.clear();
    for (int64_t d = std::max<int64_t>(0, rank - defaults); d < rank; ++d) dims.push_back(d);
    return true;
  }
  for (int64_t& d : dims)
    if (!resolve_dim(d, rank, attribute)) return false;
  std::sort(dims.begin(), dims.end());
  const auto twice = std::adjacent_find(dims.begin(), dims.end());
  if (twice == dims.end()) return true;
  error("dim-repeated", at_attribute(attribute), "has dimension " + std::to_string(*twice) + " twice in " + std::string(attribute));
  return false;
}

bool OpRules::converted(Literal& literal, DType dtype, Span at) {
  std::string why;
  if (const std::optional<Literal> typed = convert_literal(literal, dtype, why)) {
    literal = *typed;
    return true;
  }
  error("literal", at, "cannot take it: " + why);
  return false;
}

bool OpRules::equal(const Size& a, const Size& b) const {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  return without_derived(a - b, symbols_).is(0);
}

bool OpRules::fits_as(size_t i, DType dtype) {
  const std::string what = "'" + std::string(row.name) + "' computes in " + std::string(name_of(dtype)) + ", in which its operand";
  return ok_ &= check_extent(graph, shape(i), dtype, at_operand(i), what, diagnostics_);
}

bool OpRules::refuse_equal(const Size& a, const Size& b, const char* word, Span at, const std::string& what) {
  const bool constant = a.is_constant() && b.is_constant();
  Diagnostic& d = error(constant ? word : "dynamic-size", at, what + ": " + text(a) + " and " + text(b));
  if (!constant) d.notes.push_back({{}, "one of these sizes is dynamic; that they are equal must follow from their formulas"});
  return false;
}

bool OpRules::at_most(const Size& lhs, const Size& rhs, Span at) {
  if (lhs.is_constant() && rhs.is_constant()) return lhs.constant() <= rhs.constant();
  const Size room = without_derived(rhs - lhs, symbols_);
  if (lower_bound(room, symbols_) >= 0) return true;
  if (upper_bound(room, symbols_) < 0 || evaluate(room, typical_values(symbols_)) < 0) return false;
  constraints.push_back({lhs, rhs, at});
  return true;
}

bool OpRules::refuse_at_most(const Size& lhs, const Size& rhs, const char* word, Span at, const std::string& what) {
  Diagnostic& d = error(word, at, what);
  if (lhs.is_constant() && rhs.is_constant()) return false;
  const SymbolValues typical = typical_values(symbols_);
  d.notes.push_back(
      {{},
       "at the typical sizes " + std::to_string(evaluate(lhs, typical)) + " is greater than " + std::to_string(evaluate(rhs, typical))});
  return false;
}

Size OpRules::quotient(const Size& numerator, int64_t denominator) {
  return fusec::quotient(symbols_, numerator, denominator, graph[op.out[0].valid() ? op.out[0] : op.in[0].value].name);
}

bool OpRules::broadcast(Shape& a, const Shape& b) const {
  if (b.size() > a.size()) a.insert(a.begin(), b.size() - a.size(), Size(1));
  for (size_t i = 0; i < b.size(); ++i) {
    Size& x = a[a.size() - 1 - i];
    const Size& y = b[b.size() - 1 - i];
    if (x.is(1)) x = y;
    else if (!y.is(1) && !equal(x, y)) return false;
  }
  return true;
}

// --- the whole

namespace {

using Rule = void (*)(OpRules&);
// By OpCategory.
constexpr Rule kRules[] = {infer_elementwise, infer_convert, infer_shape,   infer_creation,  infer_reduction, infer_scan,
                           infer_sort,        infer_gather,  infer_scatter, infer_composite, infer_matmul};

bool has_negative(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Size& s) { return s.is_constant() && s.constant() < 0; });
}

}  // namespace

bool OpRules::run() {
  if (!check_counts()) return false;
  try {
    if (op.kind != OpKind::kReshape && has_negative(attrs.shape)) {
      const auto least = std::min_element(attrs.shape.begin(), attrs.shape.end());
      error("negative-size", at_attribute("shape"), "has the negative size " + text(*least) + " in its shape");
      return false;
    }
    if (attrs.shape.size() > kMaxRank) {
      error("rank", at_attribute("shape"), "has a shape of rank " + std::to_string(attrs.shape.size()) + "; the rank is at most 8");
      return false;
    }
    kRules[static_cast<int>(row.category)](*this);
  } catch (const std::overflow_error&) {
    error("too-large", here(), "has sizes beyond the 64-bit range");
  }
  if (!ok_) return false;
  FUSEC_CHECK(results.size() == static_cast<size_t>(row.results), std::string(row.name) + ": rules without results");
  for (const auto& [type, result_shape] : results)
    if (!check_extent(graph, result_shape, type, here(), "the result of '" + std::string(row.name) + "'", diagnostics_)) return false;
  return true;
}

bool check_extent(const Graph& graph, const Shape& shape, DType dtype, Span at, const std::string& what, Diagnostics& diagnostics) {
  auto type = [&] { return std::string(name_of(dtype)) + to_string(shape, graph.symbols); };
  if (shape.size() > kMaxRank) {
    diagnostics.error("rank", at, what + " has rank " + std::to_string(shape.size()) + " (" + type() + "); the rank is at most 8");
    return false;
  }
  if (has_negative(shape)) {
    diagnostics.error("negative-size", at, what + " has a negative size: " + type());
    return false;
  }
  try {
    const Size bytes = element_count(shape) * bytes_of(dtype);
    if (!bytes.is_constant()) evaluate(bytes, typical_values(graph.symbols));
  } catch (const std::overflow_error&) {
    diagnostics.error("too-large", at, what + " is " + type() + ": its size in bytes passes 2^63 - 1");
    return false;
  }
  return true;
}

bool infer_op(Graph& graph, OpId id, Diagnostics& diagnostics, const OpPlaces* places) {
  OpRules rules(graph, graph[id], graph.symbols, diagnostics, places);
  if (!rules.run()) return false;
  Op& op = graph.ops[id];
  for (const auto& [position, literal] : rules.literals) op.in[position].literal = literal;
  for (size_t i = 0; i < op.out.size(); ++i) {
    if (!op.out[i].valid()) continue;
    graph.values[op.out[i]].dtype = rules.results[i].first;
    graph.values[op.out[i]].shape = std::move(rules.results[i].second);
  }
  if (op.attrs.valid()) graph.attributes[op.attrs] = std::move(rules.attrs);
  else if (!(rules.attrs == Attrs{})) graph.make_attrs(op) = std::move(rules.attrs);
  for (Graph::Constraint& c : rules.constraints) {
    const bool known = std::any_of(graph.constraints.begin(), graph.constraints.end(),
                                   [&](const Graph::Constraint& k) { return k.lhs == c.lhs && k.rhs == c.rhs; });
    if (!known) graph.constraints.push_back(std::move(c));
  }
  return true;
}

}  // namespace fusec
