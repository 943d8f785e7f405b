// Device functions and intrinsics that C's library lacks, or that differ from it.
#pragma once

#include <fenv.h>

// A product or sum that no compiler may contract into a fused multiply-add.
#define EMU_OPAQUE __attribute__((noinline, optnone))
EMU_OPAQUE inline float __fmul_rn(float a, float b) { return a * b; }
EMU_OPAQUE inline float __fadd_rn(float a, float b) { return a + b; }
EMU_OPAQUE inline float __fsub_rn(float a, float b) { return a - b; }
EMU_OPAQUE inline double __dmul_rn(double a, double b) { return a * b; }
EMU_OPAQUE inline double __dadd_rn(double a, double b) { return a + b; }
EMU_OPAQUE inline double __dsub_rn(double a, double b) { return a - b; }

inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline float __frsqrt_rn(float a) { return (float)(1.0 / sqrt((double)a)); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float rsqrtf(float a) { return (float)(1.0 / sqrt((double)a)); }
inline double rsqrt(double a) { return 1.0 / sqrt(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float a) { return expf(a); }
inline float __logf(float a) { return logf(a); }
inline float __log2f(float a) { return log2f(a); }
inline float __sinf(float a) { return sinf(a); }
inline float __cosf(float a) { return cosf(a); }
inline float __saturatef(float a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }

// --- bits

template <class To, class From>
inline To emu_bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}
inline int __float_as_int(float x) { return emu_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return emu_bits<unsigned>(x); }
inline float __int_as_float(int x) { return emu_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return emu_bits<float>(x); }
inline long long __double_as_longlong(double x) { return emu_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return emu_bits<double>(x); }
inline int __double2hiint(double x) { return (int)(emu_bits<unsigned long long>(x) >> 32); }
inline int __double2loint(double x) { return (int)emu_bits<unsigned long long>(x); }
inline double __hiloint2double(int hi, int lo) { return emu_bits<double>((unsigned long long)(unsigned)hi << 32 | (unsigned)lo); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r = r << 1 | (x >> i & 1);
  return r;
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= (unsigned)(both >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
  return r;
}

// --- conversions with a rounding mode

inline float __int2float_rn(int x) { return (float)x; }
inline float __uint2float_rn(unsigned x) { return (float)x; }
inline float __ll2float_rn(long long x) { return (float)x; }
inline float __ull2float_rn(unsigned long long x) { return (float)x; }
inline double __ll2double_rn(long long x) { return (double)x; }
inline double __ull2double_rn(unsigned long long x) { return (double)x; }
inline double __int2double_rn(int x) { return x; }
inline float __double2float_rn(double x) { return (float)x; }
inline float __double2float_rd(double x) {
  const float near = (float)x;
  return (double)near > x ? nextafterf(near, -INFINITY) : near;
}
inline float __double2float_ru(double x) {
  const float near = (float)x;
  return (double)near < x ? nextafterf(near, INFINITY) : near;
}
// 64-bit integers fit exactly into the x87 format.
inline float __ll2float_rd(long long x) {
  const float near = (float)x;
  return (long double)near > (long double)x ? nextafterf(near, -INFINITY) : near;
}
inline float __ll2float_ru(long long x) {
  const float near = (float)x;
  return (long double)near < (long double)x ? nextafterf(near, INFINITY) : near;
}
__attribute__((noinline, optnone)) inline double emu_fma(int mode, double a, double b, double c) {
  const int before = fegetround();
  fesetround(mode);
  volatile double x = a, y = b, z = c;
  volatile double r = fma(x, y, z);
  fesetround(before);
  return r;
}
inline double __fma_rd(double a, double b, double c) { return emu_fma(FE_DOWNWARD, a, b, c); }
inline double __fma_ru(double a, double b, double c) { return emu_fma(FE_UPWARD, a, b, c); }
inline long long __double2ll_rz(double x) {
  return x != x        ? (long long)0x8000000000000000ull
         : x >= 0x1p63 ? 0x7fffffffffffffffLL
         : x < -0x1p63 ? -0x7fffffffffffffffLL - 1
                       : (long long)x;
}
inline unsigned long long __double2ull_rz(double x) {
  return x != x ? 0x8000000000000000ull : x >= 0x1p64 ? ~0ull : x <= 0 ? 0 : (unsigned long long)x;
}
inline long long __float2ll_rz(float x) { return __double2ll_rz(x); }
inline int __double2int_rz(double x) { return x != x ? 0 : x >= 0x1p31 ? INT_MAX : x <= -0x1p31 ? INT_MIN : (int)x; }
inline int __float2int_rz(float x) { return __double2int_rz(x); }
inline int __double2int_rn(double x) { return __double2int_rz(rint(x)); }
inline int __float2int_rn(float x) { return __double2int_rz(rint((double)x)); }
inline unsigned __float2uint_rz(float x) { return x != x || x <= 0 ? 0 : x >= 0x1p32f ? UINT_MAX : (unsigned)x; }

// --- functions of CUDA's library

inline float sinpif(float x) { return (float)sin(M_PI * fmod((double)x, 2.0)); }
inline float cospif(float x) { return (float)cos(M_PI * fmod((double)x, 2.0)); }
inline double sinpi(double x) { return (double)sinl(3.14159265358979323846264338327950288L * fmodl(x, 2.0L)); }
inline double cospi(double x) { return (double)cosl(3.14159265358979323846264338327950288L * fmodl(x, 2.0L)); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
inline float normcdff(float x) { return (float)normcdf(x); }
inline float exp10f(float x) { return (float)pow(10.0, (double)x); }
// Halley's method on erf from Giles' approximation, which is far off for the numbers next to 1.
inline double erfinv(double y) {
  if (!(y > -1.0 && y < 1.0)) return y == 1.0 ? INFINITY : y == -1.0 ? -INFINITY : (double)NAN;
  if (y == 0.0) return y;
  double w = -log((1.0 - y) * (1.0 + y)), x;
  if (w < 5.0) {
    w -= 2.5;
    x = 2.81022636e-08;
    static const double near[] = {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                  -0.00125372503, -0.00417768164, 0.246640727,     1.50140941};
    for (double c : near) x = x * w + c;
  } else {
    w = sqrt(w) - 3.0;
    x = -0.000200214257;
    static const double far[] = {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                 -0.0076224613,  0.00943887047, 1.00167406,     2.83297682};
    for (double c : far) x = x * w + c;
  }
  x *= y;
  for (int i = 0; i < 16; ++i) {
    const double error = y > 0.5 ? (1.0 - y) - erfc(x) : y < -0.5 ? erfc(-x) - (1.0 + y) : erf(x) - y;
    const double slope = 1.1283791670955126 * exp(-x * x);
    if (slope == 0.0) break;
    const double newton = error / slope, change = newton / (1.0 + x * newton);
    x -= change;
    if (fabs(change) < 1e-12 * fabs(x)) break;
  }
  return x;
}
inline float erfinvf(float y) { return (float)erfinv((double)y); }

// fmax and fmin: the other one if one is NaN; -0 < +0, which C leaves open.
inline float emu_fmax(float a, float b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b; }
inline double emu_fmax(double a, double b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b; }
inline float emu_fmin(float a, float b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b; }
inline double emu_fmin(double a, double b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b; }
#define fmaxf(a, b) emu_fmax((float)(a), (float)(b))
#define fminf(a, b) emu_fmin((float)(a), (float)(b))
#define fmax(a, b) emu_fmax((double)(a), (double)(b))
#define fmin(a, b) emu_fmin((double)(a), (double)(b))

#define EMU_MIN_MAX(T)                             \
  inline T min(T a, T b) { return b < a ? b : a; } \
  inline T max(T a, T b) { return a < b ? b : a; }
EMU_MIN_MAX(int)
EMU_MIN_MAX(unsigned)
EMU_MIN_MAX(long)
EMU_MIN_MAX(unsigned long)
EMU_MIN_MAX(long long)
EMU_MIN_MAX(unsigned long long)
#undef EMU_MIN_MAX
inline float min(float a, float b) { return emu_fmin(a, b); }
inline float max(float a, float b) { return emu_fmax(a, b); }
inline double min(double a, double b) { return emu_fmin(a, b); }
inline double max(double a, double b) { return emu_fmax(a, b); }
