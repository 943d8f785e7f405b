#include "graph/literal.h"

#include <charconv>
#include <cmath>

namespace fusec {

namespace {

// Significant bits, the exponent of the least normal number, and the greatest finite number.
struct Format {
  int precision, least_exponent;
  long double greatest;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
      return {4, -6, 448};
    case DType::kF8E5M2:
      return {3, -14, 57344};
    case DType::kF16:
      return {11, -14, 65504};
    case DType::kBF16:
      return {8, -126, std::ldexp(255.0L, 120)};
    case DType::kF32:
      return {24, -126, std::ldexp(16777215.0L, 104)};
    default:
      return {53, -1022, std::ldexp(9007199254740991.0L, 971)};
  }
}

struct IntegerRange {
  int64_t least, greatest;
};

IntegerRange range_of(DType dtype) {
  if (dtype == DType::kU8) return {0, 255};
  const int bits = 8 * bytes_of(dtype);
  return {INT64_MIN >> (64 - bits), INT64_MAX >> (64 - bits)};
}

std::string range_text(DType dtype) {
  const IntegerRange r = range_of(dtype);
  return std::string(name_of(dtype)) + " (" + std::to_string(r.least) + " to " + std::to_string(r.greatest) + ")";
}

std::optional<Literal> convert_to_integer(const Literal& literal, DType dtype, std::string& why) {
  int64_t value = 0;
  if (const double* d = std::get_if<double>(&literal.value)) {
    if (!std::isfinite(*d) || std::trunc(*d) != *d) {
      why = "literal " + to_string(literal) + " is no integer, as " + std::string(name_of(dtype)) + " needs";
      return std::nullopt;
    }
    if (*d < -0x1p63 || *d >= 0x1p63) {
      why = "literal " + to_string(literal) + " does not fit " + range_text(dtype);
      return std::nullopt;
    }
    value = static_cast<int64_t>(*d);
  } else {
    value = std::get<int64_t>(literal.value);
  }
  const IntegerRange r = range_of(dtype);
  if (value < r.least || value > r.greatest) {
    why = "literal " + to_string(literal) + " does not fit " + range_text(dtype);
    return std::nullopt;
  }
  return Literal{value};
}

}  // namespace

double round_to(DType dtype, long double x) {
  const Format f = format_of(dtype);
  if (std::isnan(x) || x == 0) return static_cast<double>(x);
  if (std::isinf(x)) return static_cast<double>(is_f8(dtype) ? std::copysign(f.greatest, x) : x);
  // The spacing of the format's numbers around x, subnormal ones included; a power of two, so the scaling is exact.
  const int spacing = std::max(std::ilogb(x), f.least_exponent) - f.precision + 1;
  const long double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -spacing)), spacing);
  if (std::fabs(rounded) <= f.greatest) return static_cast<double>(rounded);
  return static_cast<double>(std::copysign(is_f8(dtype) ? f.greatest : std::numeric_limits<long double>::infinity(), x));
}

std::optional<Literal> convert_literal(const Literal& literal, DType dtype, std::string& why) {
  const bool truth = std::holds_alternative<bool>(literal.value);
  if (truth != (dtype == DType::kBool)) {
    why = truth ? "literal " + to_string(literal) + " is bool, the op computes in " + std::string(name_of(dtype)) + "; write " +
                      (std::get<bool>(literal.value) ? "1" : "0")
                : "literal " + to_string(literal) + " is a number, bool takes true or false";
    return std::nullopt;
  }
  if (truth) return literal;
  if (is_integer(dtype)) return convert_to_integer(literal, dtype, why);
  if (const int64_t* i = std::get_if<int64_t>(&literal.value)) return Literal{round_to(dtype, static_cast<long double>(*i))};
  const double d = std::get<double>(literal.value);
  if (dtype == DType::kF64) return literal;
  return Literal{dtype == DType::kF32 ? static_cast<double>(static_cast<float>(d)) : round_to(dtype, d)};
}

std::string to_string(const Literal& literal) {
  if (const bool* b = std::get_if<bool>(&literal.value)) return *b ? "true" : "false";
  if (const int64_t* i = std::get_if<int64_t>(&literal.value)) return std::to_string(*i);
  const double d = std::get<double>(literal.value);
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, d).ptr;
  return {text, end};
}

}  // namespace fusec
