// Conversions of half and fp8 for the shim, which is compiled without optimization. Rounding is to nearest even, from the exact value.
#include <bit>
#include <cmath>
#include <cstdint>

namespace {

// The finite value with this magnitude pattern, in which the patterns are ordered. Patterns past the format's end go on counting.
double fp8_magnitude(unsigned pattern, int mantissa_bits, int bias) {
  const int exponent = static_cast<int>(pattern >> mantissa_bits), mantissa = static_cast<int>(pattern & ((1u << mantissa_bits) - 1));
  return exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                       : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

struct Fp8 {
  Fp8(int bits, int bias, unsigned most_) : most(most_) {
    for (unsigned p = 0; p <= most + 1; ++p) magnitude[p] = fp8_magnitude(p, bits, bias);
  }
  unsigned most;  // the greatest finite pattern
  double magnitude[128];
};

const Fp8& fp8(bool e4m3) {
  static const Fp8 formats[] = {{2, 15, 0x7b}, {3, 7, 0x7e}};
  return formats[e4m3];
}

}  // namespace

extern "C" {

float emu_half_value(unsigned pattern) {
  const unsigned sign = (pattern & 0x8000u) << 16, exponent = pattern >> 10 & 0x1f, mantissa = pattern & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  return std::bit_cast<float>(std::bit_cast<unsigned>(static_cast<float>(mantissa) * 0x1p-24f) | sign);
}

unsigned emu_half_pattern(float value) {
  const unsigned u = std::bit_cast<unsigned>(value), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return 0x7fff;
  if (a >= 0x477ff000u) return sign | 0x7c00u;                                                             // from 65520 on
  if (a < 0x38800000u) return sign | static_cast<unsigned>(std::rint(std::bit_cast<float>(a) * 0x1p24f));  // a power of two: exact
  return sign | ((a - 0x38000000u + 0xfff + (a >> 13 & 1)) >> 13);
}

unsigned emu_fp8_as_half(unsigned pattern, bool e4m3) {
  const unsigned a = pattern & 0x7f, sign = (pattern & 0x80u) << 8;
  if (!e4m3) return a > 0x7c ? 0x7fff : pattern << 8;
  if (a == 0x7f) return 0x7fff;
  return sign | emu_half_pattern(static_cast<float>(fp8(true).magnitude[a]));
}

// The nearest pattern by search. Of two as near, the even one.
unsigned emu_fp8_pattern(double value, bool saturate, bool e4m3) {
  const Fp8& format = fp8(e4m3);
  if (value != value) return 0x7f;
  const unsigned sign = std::signbit(value) ? 0x80 : 0;
  const double a = std::fabs(value);
  unsigned low = 0, high = format.most + 1;  // the greatest pattern whose value is at most a
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (format.magnitude[middle] <= a ? low : high) = middle;
  }
  const double below = a - format.magnitude[low], above = format.magnitude[low + 1] - a;
  const unsigned nearest = above < below || (above == below && (low & 1)) ? low + 1 : low;
  if (nearest > format.most) return sign | (saturate ? format.most : e4m3 ? 0x7f : 0x7c);
  return sign | nearest;
}
}
