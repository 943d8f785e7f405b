#include "graph/derived.h"

#include <algorithm>
#include <numeric>

#include "support/check.h"

namespace fusec {

Size without_derived(const Size& size, const Symbols& symbols) {
  Size result = size;
  // Later symbols are made of earlier ones.
  for (size_t i = symbols.size(); i-- > 0 && !result.is_constant();) {
    const SymbolId id(i);
    const Symbol& s = symbols[id];
    if (!s.derived || known_divisor(s.numerator, symbols) % s.denominator != 0) continue;
    Size replaced = result.constant();
    for (const Size::Term& t : result.terms()) {
      const auto found = std::find(t.symbols.begin(), t.symbols.end(), id);
      const bool inside = found != t.symbols.end() && t.coefficient % s.denominator == 0;
      Size term = inside ? t.coefficient / s.denominator : t.coefficient;
      for (auto it = t.symbols.begin(); it != t.symbols.end(); ++it) term *= inside && it == found ? s.numerator : Size::symbol(*it);
      replaced += term;
    }
    result = replaced;
  }
  return result;
}

bool divides(int64_t divisor, const Size& size, const Symbols& symbols) {
  return known_divisor(size, symbols) % divisor == 0 || without_derived(size, symbols).exact_quotient(divisor);
}

namespace {
std::string fresh_name(const Symbols& symbols, const std::string& stem) {
  for (size_t n = 0;; ++n) {
    const std::string name = stem + "_size" + std::to_string(n);
    if (std::none_of(symbols.begin(), symbols.end(), [&](const Symbol& s) { return s.name == name; })) return name;
  }
}

// The greatest common divisor of all coefficients.
int64_t content(const Size& size) {
  int64_t divisor = std::gcd(size.constant(), int64_t{0});
  for (const Size::Term& t : size.terms()) divisor = std::gcd(divisor, t.coefficient);
  return divisor;
}
}  // namespace

Size quotient(Symbols& symbols, const Size& whole, int64_t divisor_of_whole, const std::string& stem) {
  if (const std::optional<Size> exact = without_derived(whole, symbols).exact_quotient(divisor_of_whole)) return *exact;
  // In lowest terms, so that equal quotients are one symbol.
  const int64_t common = std::gcd(content(whole), divisor_of_whole), denominator = divisor_of_whole / common;
  const std::optional<Size> reduced = whole.exact_quotient(common);
  FUSEC_CHECK(reduced.has_value(), "a common factor that does not divide");
  const Size& numerator = *reduced;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& s = symbols[SymbolId(i)];
    if (s.derived && s.denominator == denominator && s.numerator == numerator) return Size::symbol(SymbolId(i));
  }
  Symbol s;
  s.name = fresh_name(symbols, stem);
  s.derived = true;
  s.numerator = numerator;
  s.denominator = denominator;
  const int64_t divisor = known_divisor(numerator, symbols);
  if (divisor > 0 && divisor % denominator == 0) s.multiple_of = divisor / denominator;
  const SymbolId id = symbols.push(std::move(s));
  symbols[id].typical = typical_values(symbols)[id];
  return Size::symbol(id);
}

}  // namespace fusec
