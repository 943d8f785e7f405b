// Extents: integers, or polynomials with integer coefficients over symbols (dims that stay run-time sizes).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/ids.h"

namespace fusec {

struct SymbolTag;
using SymbolId = Id<SymbolTag>;

class Size {
 public:
  struct Term {
    std::vector<SymbolId> symbols;  // sorted, repeats allowed (powers); never empty
    int64_t coefficient = 0;        // never 0
    bool operator==(const Term&) const = default;
  };

  Size() = default;
  Size(int64_t value) : constant_(value) {}  // NOLINT: integers are sizes
  static Size symbol(SymbolId id);

  bool is_constant() const { return !terms_; }
  bool is(int64_t value) const { return is_constant() && constant_ == value; }
  int64_t constant() const { return constant_; }  // the constant term
  const std::vector<Term>& terms() const;
  // The value for constants; checks is_constant().
  int64_t value() const;

  // Wrap-free for constants: throws std::overflow_error when a result passes the 64-bit range.
  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  Size& operator+=(const Size& b) { return *this = *this + b; }
  Size& operator*=(const Size& b) { return *this = *this * b; }
  // The exact quotient as a polynomial, or nothing.
  std::optional<Size> exact_quotient(const Size& divisor) const;

  friend bool operator==(const Size& a, const Size& b);
  // An arbitrary but deterministic total order.
  friend bool operator<(const Size& a, const Size& b);

 private:
  static Size from_terms(int64_t constant, std::vector<Term> terms);
  int64_t constant_ = 0;
  std::shared_ptr<const std::vector<Term>> terms_;  // sorted; null for constants
};

using Shape = std::vector<Size>;

// A run-time size. Derived symbols are ⌊numerator / denominator⌋ of earlier symbols (strided slices).
struct Symbol {
  std::string name;
  int64_t typical = 1;      // the value that costs and heuristics assume
  int64_t multiple_of = 1;  // promised by the graph
  int64_t max = INT64_MAX;  // promised by the graph
  bool derived = false;
  Size numerator;
  int64_t denominator = 1;
  bool operator==(const Symbol&) const = default;
};
using Symbols = IdVec<SymbolId, Symbol>;
using SymbolValues = IdVec<SymbolId, int64_t>;

// Values of all symbols when each free one takes its typical value.
SymbolValues typical_values(const Symbols& symbols);
// Fills in derived symbols from the free ones.
void derive_values(const Symbols& symbols, SymbolValues& values);
int64_t evaluate(const Size& size, const SymbolValues& values);
// Largest value under the symbols' `max`, INT64_MAX when unbounded; least value when every symbol is ≥ 0.
int64_t upper_bound(const Size& size, const Symbols& symbols);
int64_t lower_bound(const Size& size, const Symbols& symbols);
// The greatest integer known to divide the size (0 for the size 0).
int64_t known_divisor(const Size& size, const Symbols& symbols);

// Number of elements of a shape; 1 for rank 0.
Size element_count(const Shape& shape);
// Row-major strides in elements.
std::vector<Size> row_major_strides(const Shape& shape);
// "4096", "B*S", "2*N+128".
std::string to_string(const Size& size, const Symbols& symbols);
// "[64,N]"
std::string to_string(const Shape& shape, const Symbols& symbols);

}  // namespace fusec
