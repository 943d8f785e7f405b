// Stand-in for CUDA's fp8 conversions.
#pragma once

#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// The finite value with this magnitude pattern, in which the patterns are ordered. Patterns past the format's end go on counting.
inline double emu_fp8_magnitude(unsigned pattern, int mantissa_bits, int bias) {
  const int exponent = (int)(pattern >> mantissa_bits), mantissa = (int)(pattern & ((1u << mantissa_bits) - 1));
  return exponent == 0 ? ldexp(mantissa, 1 - bias - mantissa_bits)
                       : ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  const unsigned a = x & 0x7f, sign = (x & 0x80u) << 8;
  if (kind == __NV_E5M2) return {(unsigned short)(a > 0x7c ? 0x7fff : x << 8)};
  if (a == 0x7f) return {0x7fff};
  return {(unsigned short)(sign | __float2half_rn((float)emu_fp8_magnitude(a, 3, 7)).bits)};
}
// The nearest pattern by search: slow and plainly right. Of two as near, the even one.
inline __nv_fp8_storage_t emu_to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  const bool e4m3 = kind == __NV_E4M3;
  const int mantissa_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  const unsigned sign = signbit(x) ? 0x80 : 0, most = e4m3 ? 0x7e : 0x7b;
  if (x != x) return 0x7f;
  const double a = x < 0 ? -x : x;
  unsigned low = 0, high = most + 1;  // the greatest pattern whose value is at most a
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (emu_fp8_magnitude(middle, mantissa_bits, bias) <= a ? low : high) = middle;
  }
  const double below = a - emu_fp8_magnitude(low, mantissa_bits, bias), above = emu_fp8_magnitude(low + 1, mantissa_bits, bias) - a;
  const unsigned nearest = above < below || (above == below && (low & 1)) ? low + 1 : low;
  if (nearest > most) return (__nv_fp8_storage_t)(sign | (saturate == __NV_SATFINITE ? most : e4m3 ? 0x7f : 0x7c));
  return (__nv_fp8_storage_t)(sign | nearest);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return emu_to_fp8(x, s, k); }
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return emu_to_fp8(x, s, k); }
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return emu_to_fp8(__half2float(x), s, k);
}
