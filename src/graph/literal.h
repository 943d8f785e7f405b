// Literals as typed numbers: which ones a dtype takes, and their rounding.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"

namespace fusec {

// x rounded to a float dtype, to nearest even; f8 saturates, the others overflow to infinity.
double round_to(DType dtype, long double x);

// The literal as a value of `dtype`: true or false for bool, a fitting integer for integers (2.0 is one), else the rounded number.
// Nothing when the dtype does not take it; then `why` says so.
std::optional<Literal> convert_literal(const Literal& literal, DType dtype, std::string& why);

// "true", "256", "0.1", "-inf".
std::string to_string(const Literal& literal);

}  // namespace fusec
