#include "number.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emu {

namespace {

constexpr NumberFormat kFormats[] = {{"bool", 1, 0, 0, false},  {"u8", 1, 0, 0, false},    {"i8", 1, 0, 0, true},
                                     {"i16", 2, 0, 0, true},    {"i32", 4, 0, 0, true},    {"i64", 8, 0, 0, true},
                                     {"f8e4m3", 1, 4, 3, true}, {"f8e5m2", 1, 5, 2, true}, {"f16", 2, 5, 10, true},
                                     {"bf16", 2, 8, 7, true},   {"f32", 4, 8, 23, true},   {"f64", 8, 11, 52, true}};

uint64_t bits(const NumberFormat& f, const char* a) {
  uint64_t v = 0;
  memcpy(&v, a, f.bytes);
  return v;
}

double value(const NumberFormat& f, const char* a) {
  const uint64_t v = bits(f, a);
  const int width = static_cast<int>(8 * f.bytes);
  if (f.exponent_bits == 0)
    return static_cast<double>(f.is_signed ? static_cast<int64_t>(v << (64 - width)) >> (64 - width) : static_cast<int64_t>(v));
  const double sign = v >> (width - 1) & 1 ? -1 : 1;
  const auto exponent = static_cast<int>(v >> f.mantissa_bits & ((uint64_t{1} << f.exponent_bits) - 1));
  const uint64_t mantissa = v & ((uint64_t{1} << f.mantissa_bits) - 1);
  const int last = (1 << f.exponent_bits) - 1, bias = last / 2;
  if (f.exponent_bits == 4) {
    if (exponent == last && mantissa == 7) return NAN;
  } else if (exponent == last) {
    return mantissa ? NAN : sign * INFINITY;
  }
  const auto m = static_cast<double>(mantissa + (exponent == 0 ? 0 : uint64_t{1} << f.mantissa_bits));
  return sign * std::ldexp(m, (exponent == 0 ? 1 : exponent) - bias - f.mantissa_bits);
}

// An infinity is the number after the greatest: one close to that may have been rounded to it.
double limited(const NumberFormat& f, double v) {
  return std::isinf(v) && f.exponent_bits < 11 ? std::copysign(std::ldexp(1.0, 1 << (f.exponent_bits - 1)), v) : v;
}

}  // namespace

const NumberFormat& number_format(const std::string& dtype) {
  for (const NumberFormat& f : kFormats)
    if (dtype == f.name) return f;
  std::fprintf(stderr, "emulate: unknown dtype %s\n", dtype.c_str());
  std::exit(2);
}

bool same_number(const NumberFormat& f, const char* a, const char* b, double relative, double absolute) {
  if (memcmp(a, b, f.bytes) == 0) return true;
  if (f.exponent_bits == 0) return false;
  const double x = limited(f, value(f, a)), y = limited(f, value(f, b));
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (relative == 0 && absolute == 0) return false;
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return std::fabs(x - y) <= relative * std::fabs(y) + absolute;
}

std::string number_text(const NumberFormat& f, const char* a) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g (0x%llx)", value(f, a), static_cast<unsigned long long>(bits(f, a)));
  return text;
}

}  // namespace emu
