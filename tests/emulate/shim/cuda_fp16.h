// Stand-in for CUDA's half: 10 mantissa bits, rounding to nearest even from the exact value.
#pragma once

struct __half_raw {
  unsigned short x;
};
struct __half {
  unsigned short bits;
  __half() = default;
  __half(__half_raw r) : bits(r.x) {}
  operator __half_raw() const { return {bits}; }
};
struct alignas(4) __half2 {
  __half x, y;
};
typedef __half half;
typedef __half2 half2;

inline float __half2float(__half h) { return emu_half_value(h.bits); }
inline __half emu_half(unsigned bits) { return __half(__half_raw{(unsigned short)bits}); }
inline __half __float2half_rn(float f) { return emu_half(emu_half_pattern(f)); }
inline __half __float2half(float f) { return __float2half_rn(f); }
inline __half __ushort_as_half(unsigned short x) { return emu_half(x); }
inline unsigned short __half_as_ushort(__half h) { return h.bits; }
inline short __half_as_short(__half h) { return (short)h.bits; }
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline __half2 __floats2half2_rn(float a, float b) { return {__float2half_rn(a), __float2half_rn(b)}; }
// A sum, difference or product of halves in float, rounded again, is rounded right: 24 ≥ 2·11 + 2 bits.
inline __half __hadd(__half a, __half b) { return __float2half_rn(__half2float(a) + __half2float(b)); }
inline __half __hsub(__half a, __half b) { return __float2half_rn(__half2float(a) - __half2float(b)); }
inline __half __hmul(__half a, __half b) { return __float2half_rn(__half2float(a) * __half2float(b)); }
inline __half2 __hadd2(__half2 a, __half2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
inline bool __hisnan(__half a) { return (a.bits & 0x7fff) > 0x7c00; }
