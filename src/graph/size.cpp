#include "graph/size.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "support/check.h"

namespace fusec {

namespace {

using Term = Size::Term;

int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) throw std::overflow_error("a size passes the 64-bit range");
  return sum;
}

int64_t subtract(int64_t a, int64_t b) {
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference)) throw std::overflow_error("a size passes the 64-bit range");
  return difference;
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) throw std::overflow_error("a size passes the 64-bit range");
  return product;
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

// Degree first, then symbols: an order that multiplication by a common factor keeps, as polynomial division needs.
bool before(const std::vector<SymbolId>& a, const std::vector<SymbolId>& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; }

std::vector<SymbolId> product(const std::vector<SymbolId>& a, const std::vector<SymbolId>& b) {
  std::vector<SymbolId> both(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin());
  return both;
}

// a / b as monomials; nothing when b does not divide a.
std::optional<Term> monomial_quotient(const Term& a, const Term& b) {
  if (a.coefficient == INT64_MIN || a.coefficient % b.coefficient != 0) return std::nullopt;
  if (!std::includes(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end())) return std::nullopt;
  Term q{{}, a.coefficient / b.coefficient};
  std::set_difference(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end(), std::back_inserter(q.symbols));
  return q;
}

Term leading_term(const Size& size) { return size.is_constant() ? Term{{}, size.constant()} : size.terms().back(); }

}  // namespace

Size Size::symbol(SymbolId id) { return from_terms(0, {{{id}, 1}}); }

const std::vector<Size::Term>& Size::terms() const {
  static const std::vector<Term> kNone;
  return terms_ ? *terms_ : kNone;
}

int64_t Size::value() const {
  FUSEC_CHECK(is_constant(), "a run-time size where a constant is needed");
  return constant_;
}

// Sorts, adds up equal monomials and drops zeros.
Size Size::from_terms(int64_t constant, std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return before(a.symbols, b.symbols); });
  std::vector<Term> merged;
  for (Term& t : terms) {
    if (!merged.empty() && merged.back().symbols == t.symbols) merged.back().coefficient = add(merged.back().coefficient, t.coefficient);
    else merged.push_back(std::move(t));
  }
  std::erase_if(merged, [](const Term& t) { return t.coefficient == 0; });
  Size size(constant);
  if (!merged.empty()) size.terms_ = std::make_shared<const std::vector<Term>>(std::move(merged));
  return size;
}

Size operator+(const Size& a, const Size& b) {
  const int64_t constant = add(a.constant_, b.constant_);
  if (a.is_constant() && b.is_constant()) return constant;
  std::vector<Term> terms = a.terms();
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return Size::from_terms(constant, std::move(terms));
}

Size operator-(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return subtract(a.constant_, b.constant_);
  std::vector<Term> terms = a.terms();
  for (const Term& t : b.terms()) terms.push_back({t.symbols, subtract(0, t.coefficient)});
  return Size::from_terms(subtract(a.constant_, b.constant_), std::move(terms));
}

Size operator*(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return multiply(a.constant_, b.constant_);
  std::vector<Term> terms;
  for (const Term& x : a.terms()) {
    if (b.constant_ != 0) terms.push_back({x.symbols, multiply(x.coefficient, b.constant_)});
    for (const Term& y : b.terms()) terms.push_back({product(x.symbols, y.symbols), multiply(x.coefficient, y.coefficient)});
  }
  if (a.constant_ != 0)
    for (const Term& y : b.terms()) terms.push_back({y.symbols, multiply(a.constant_, y.coefficient)});
  return Size::from_terms(multiply(a.constant_, b.constant_), std::move(terms));
}

std::optional<Size> Size::exact_quotient(const Size& divisor) const {
  if (divisor.is(0)) return std::nullopt;
  if (is_constant() && divisor.is_constant()) {
    if (constant_ == INT64_MIN || constant_ % divisor.constant_ != 0) return std::nullopt;
    return Size(constant_ / divisor.constant_);
  }
  try {
    // Long division: every step removes the leading term, so it ends.
    const Term lead = leading_term(divisor);
    Size rest = *this, quotient;
    while (!rest.is(0)) {
      const std::optional<Term> q = monomial_quotient(leading_term(rest), lead);
      if (!q) return std::nullopt;
      const Size step = q->symbols.empty() ? Size(q->coefficient) : from_terms(0, {*q});
      quotient += step;
      rest = rest - step * divisor;
    }
    return quotient;
  } catch (const std::overflow_error&) {
    return std::nullopt;
  }
}

bool operator==(const Size& a, const Size& b) {
  return a.constant_ == b.constant_ && (a.terms_ == b.terms_ || (a.terms_ && b.terms_ && *a.terms_ == *b.terms_));
}

bool operator<(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return a.constant_ < b.constant_;
  auto less = [](const Term& x, const Term& y) {
    return x.symbols != y.symbols ? before(x.symbols, y.symbols) : x.coefficient < y.coefficient;
  };
  const auto &s = a.terms(), &t = b.terms();
  if (std::lexicographical_compare(s.begin(), s.end(), t.begin(), t.end(), less)) return true;
  if (std::lexicographical_compare(t.begin(), t.end(), s.begin(), s.end(), less)) return false;
  return a.constant_ < b.constant_;
}

void derive_values(const Symbols& symbols, SymbolValues& values) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& s = symbols[SymbolId(i)];
    if (s.derived) values[SymbolId(i)] = floor_quotient(evaluate(s.numerator, values), s.denominator);
  }
}

SymbolValues typical_values(const Symbols& symbols) {
  SymbolValues values(symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i) values[SymbolId(i)] = symbols[SymbolId(i)].typical;
  derive_values(symbols, values);
  return values;
}

int64_t evaluate(const Size& size, const SymbolValues& values) {
  int64_t sum = size.constant();
  for (const Term& t : size.terms()) {
    int64_t term = t.coefficient;
    for (SymbolId s : t.symbols) term = multiply(term, values[s]);
    sum = add(sum, term);
  }
  return sum;
}

namespace {

// Wide enough for any bound that is kept; clamped back to the 64-bit range after each step.
using Wide = __int128;
Wide clamp(Wide x) { return std::clamp<Wide>(x, INT64_MIN, INT64_MAX); }

int64_t greatest(SymbolId id, const Symbols& symbols) {
  const Symbol& s = symbols[id];
  if (!s.derived) return s.max;
  const int64_t top = upper_bound(s.numerator, symbols);
  return top == INT64_MAX ? s.max : std::min(s.max, floor_quotient(top, s.denominator));
}

int64_t least(SymbolId id, const Symbols& symbols) {
  const Symbol& s = symbols[id];
  return s.derived ? std::max<int64_t>(0, floor_quotient(lower_bound(s.numerator, symbols), s.denominator)) : 0;
}

Wide monomial_bound(const Term& t, const Symbols& symbols, bool upper) {
  Wide bound = 1;
  for (SymbolId s : t.symbols) bound = clamp(bound * (upper ? greatest(s, symbols) : least(s, symbols)));
  return bound;
}

}  // namespace

int64_t upper_bound(const Size& size, const Symbols& symbols) {
  Wide bound = size.constant();
  for (const Term& t : size.terms()) {
    const Wide monomial = monomial_bound(t, symbols, t.coefficient > 0);
    if (t.coefficient > 0 && monomial == INT64_MAX) return INT64_MAX;
    bound = clamp(bound + clamp(monomial * t.coefficient));
  }
  return static_cast<int64_t>(bound);
}

int64_t lower_bound(const Size& size, const Symbols& symbols) {
  Wide bound = size.constant();
  for (const Term& t : size.terms()) {
    const Wide monomial = monomial_bound(t, symbols, t.coefficient < 0);
    if (t.coefficient < 0 && monomial == INT64_MAX) return INT64_MIN;
    bound = clamp(bound + clamp(monomial * t.coefficient));
  }
  return static_cast<int64_t>(bound);
}

int64_t known_divisor(const Size& size, const Symbols& symbols) {
  int64_t divisor = std::gcd(size.constant(), int64_t{0});
  for (const Term& t : size.terms()) {
    Wide factor = t.coefficient < 0 ? -Wide(t.coefficient) : Wide(t.coefficient);
    for (SymbolId s : t.symbols) {
      // A factor dropped for want of room only makes the divisor smaller.
      const Wide next = factor * symbols[s].multiple_of;
      if (next <= INT64_MAX) factor = next;
    }
    divisor = static_cast<int64_t>(std::gcd(divisor, static_cast<int64_t>(clamp(factor))));
  }
  return divisor;
}

namespace {
bool has_zero(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Size& s) { return s.is(0); });
}
}  // namespace

Size element_count(const Shape& shape) {
  if (has_zero(shape)) return 0;  // also where the other sizes would pass the range
  Size count = 1;
  for (const Size& s : shape) count *= s;
  return count;
}

std::vector<Size> row_major_strides(const Shape& shape) {
  std::vector<Size> strides(shape.size());
  Size stride = 1;
  const bool empty = has_zero(shape);
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    // An empty tensor's sizes may multiply to anything; its strides reach no element.
    if (empty && shape[d].is_constant() && shape[d].constant() >= (int64_t{1} << 31)) stride = 0;
    else stride *= shape[d];
  }
  return strides;
}

std::string to_string(const Size& size, const Symbols& symbols) {
  if (size.is_constant()) return std::to_string(size.constant());
  std::string text;
  for (const Term& t : size.terms()) {
    if (t.coefficient < 0) text += '-';
    else if (!text.empty()) text += '+';
    const uint64_t magnitude = t.coefficient < 0 ? 0 - static_cast<uint64_t>(t.coefficient) : static_cast<uint64_t>(t.coefficient);
    if (magnitude != 1) text += std::to_string(magnitude) + '*';
    for (size_t i = 0; i < t.symbols.size(); ++i) text += (i ? "*" : "") + symbols[t.symbols[i]].name;
  }
  if (size.constant() > 0) text += '+';
  if (size.constant() != 0) text += std::to_string(size.constant());
  return text;
}

std::string to_string(const Shape& shape, const Symbols& symbols) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) text += (d ? "," : "") + to_string(shape[d], symbols);
  return text + "]";
}

}  // namespace fusec
