// Quotients of run-time sizes: exact polynomials where there is one, else derived symbols (see Symbol).
#pragma once

#include <string>

#include "graph/size.h"

namespace fusec {

// The size with derived symbols replaced by what they stand for, where the division has no rest and the coefficient allows it:
// equal sizes become equal polynomials.
Size without_derived(const Size& size, const Symbols& symbols);
// Does the divisor divide the size for all values of its symbols, as far as can be proved?
bool divides(int64_t divisor, const Size& size, const Symbols& symbols);
// ⌊numerator / denominator⌋. A new symbol is called STEM_size0, STEM_size1, …
Size quotient(Symbols& symbols, const Size& numerator, int64_t denominator, const std::string& stem);

}  // namespace fusec
