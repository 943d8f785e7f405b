#include "emit/prelude.h"

#include <string_view>
#include <vector>

namespace fusec {

namespace {

struct Entry {
  std::string_view name;
  std::string_view text;
};

// In order of definition: an entry may use the ones above it.
constexpr Entry kEntries[] = {
    {"Vec", R"(// N neighbouring elements, moved as one.
template <class T, int N>
struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) Vec {
  T at[N];
};
)"},
    {"fs_load", R"(// Reads N elements in pieces of W, to which p is aligned.
template <int N, int W, class T>
__device__ __forceinline__ Vec<T, N> fs_load(const T* p) {
  Vec<T, N> v;
#pragma unroll
  for (int k = 0; k < N / W; ++k) {
    const Vec<T, W> piece = *reinterpret_cast<const Vec<T, W>*>(p + k * W);
#pragma unroll
    for (int j = 0; j < W; ++j) v.at[k * W + j] = piece.at[j];
  }
  return v;
}
)"},
    {"fs_load_once", R"(// Reads N elements, 16 bytes at a time or all of fewer, which the L2 cache need not keep.
template <int N, class T>
__device__ __forceinline__ Vec<T, N> fs_load_once(const T* p) {
  Vec<T, N> v;
  constexpr int kBytes = N * (int)sizeof(T);
  if constexpr (kBytes >= 16) {
#pragma unroll
    for (int k = 0; k < kBytes / 16; ++k) reinterpret_cast<uint4*>(&v)[k] = __ldcs(reinterpret_cast<const uint4*>(p) + k);
  } else if constexpr (kBytes == 8) {
    const long long piece = __ldcs(reinterpret_cast<const long long*>(p));
    memcpy(&v, &piece, 8);
  } else if constexpr (kBytes == 4) {
    const int piece = __ldcs(reinterpret_cast<const int*>(p));
    memcpy(&v, &piece, 4);
  } else if constexpr (kBytes == 2) {
    const short piece = __ldcs(reinterpret_cast<const short*>(p));
    memcpy(&v, &piece, 2);
  } else {
    const signed char piece = __ldcs(reinterpret_cast<const signed char*>(p));
    memcpy(&v, &piece, 1);
  }
  return v;
}
)"},
    {"fs_load_kept",
     R"(// Reads N elements in pieces of W, to which p is aligned, of memory that nothing writes meanwhile. The L2 cache keeps their lines longer
// than others.
template <int N, int W, class T>
__device__ __forceinline__ Vec<T, N> fs_load_kept(const T* p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int kPiece = W * sizeof(T) > 16 ? 16 / sizeof(T) : W;
  static_assert(kPiece * sizeof(T) == 8 || kPiece * sizeof(T) == 16);
  Vec<T, N> v;
  unsigned* w = reinterpret_cast<unsigned*>(&v);
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#pragma unroll
  for (int k = 0; k < N / kPiece; ++k) {
    if constexpr (kPiece * sizeof(T) == 16)
      asm("ld.global.nc.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(w[4 * k]), "=r"(w[4 * k + 1]), "=r"(w[4 * k + 2]), "=r"(w[4 * k + 3]) : "l"(p + k * kPiece), "l"(policy));
    else
      asm("ld.global.nc.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;" : "=r"(w[2 * k]), "=r"(w[2 * k + 1]) : "l"(p + k * kPiece), "l"(policy));
  }
  return v;
#else
  return fs_load<N, W>(p);
#endif
}
)"},
    {"fs_copy_ahead",
     R"(// Starts to copy 4, 8 or a multiple of 16 aligned bytes to shared memory; they are there when the copies have been waited for.
// The L2 cache need not keep lines that are read once, and should keep others.
enum fs_Lines { fs_usual, fs_once, fs_kept };
template <fs_Lines L = fs_usual, class T>
__device__ __forceinline__ void fs_copy_ahead(T* to, const T* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned place = (unsigned)__cvta_generic_to_shared(to);
  if constexpr (sizeof(T) == 4) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(place), "l"(from) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" : : "r"(place), "l"(from) : "memory");
  } else {
    unsigned long long policy = 0;
    if constexpr (L == fs_once) asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    if constexpr (L == fs_kept) asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#pragma unroll
    for (int k = 0; k < (int)sizeof(T); k += 16) {
      const char* piece = (const char*)from + k;
      if constexpr (L != fs_usual)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" : : "r"(place + k), "l"(piece), "l"(policy) : "memory");
      else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(place + k), "l"(piece) : "memory");
    }
  }
#else
  *to = *from;
#endif
}
__device__ __forceinline__ void fs_commit_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
// Waits for all the thread's groups of copies but the last N.
template <int N>
__device__ __forceinline__ void fs_wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
}
)"},
    {"fs_load_some", R"(// Reads the first `count` of N elements; the others are zero.
template <int N, class T>
__device__ __forceinline__ Vec<T, N> fs_load_some(const T* p, int count) {
  Vec<T, N> v = {};
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (k < count) v.at[k] = p[k];
  return v;
}
)"},
    {"fs_lanes", R"(// The lanes of N from `first` on and before `end`: a bit each.
template <int N>
__device__ __forceinline__ unsigned fs_lanes(int first, int end) {
  const unsigned from = first > 0 ? ~0u << first : ~0u, before = end >= N ? ~0u : end > 0 ? ~(~0u << end) : 0;
  return from & before & ((1u << N) - 1);
}
)"},
    {"fs_load_lanes", R"(// Reads those of N elements that `lanes` has a bit for; the others are zero.
template <int N, class T>
__device__ __forceinline__ Vec<T, N> fs_load_lanes(const T* p, unsigned lanes) {
  Vec<T, N> v = {};
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (lanes >> k & 1) v.at[k] = p[k];
  return v;
}
)"},
    {"fs_load_shifted",
     R"(// Elements [at, at + N) of an aligned row of `elems`, `at` being -shift modulo N, out of the aligned pieces that hold them. Elements
// before the row, where `head` says that there may be some, and after it (`tail`) are anything.
template <int N, class T>
__device__ __forceinline__ Vec<T, N> fs_load_shifted(const T* row, int at, unsigned shift, int elems, bool head, bool tail) {
  constexpr int kPiece = 8 / sizeof(T), kWords = N * sizeof(T) / 4;
  const unsigned away = -shift % kPiece;  // from the start of a piece
  Vec<T, kPiece> rest = {};               // of the row: its last piece is not read as one
  if (tail)
#pragma unroll
    for (int k = elems / kPiece * kPiece; k < elems; ++k) rest.at[k % kPiece] = row[k];
  unsigned words[kWords + 2];
#pragma unroll
  for (int k = 0; k <= N / kPiece; ++k) {
    const int from = at - (int)away + k * kPiece;
    Vec<T, kPiece> piece = rest;
    if (!(head && from < 0) && !(tail && from + kPiece > elems)) piece = fs_load<kPiece, kPiece>(row + from);
    memcpy(words + 2 * k, &piece, sizeof piece);
  }
#pragma unroll
  for (int k = 0; k <= kWords; ++k) words[k] = away * sizeof(T) & 4 ? words[k + 1] : words[k];
#pragma unroll
  for (int k = 0; k < kWords; ++k) words[k] = __funnelshift_r(words[k], words[k + 1], away * sizeof(T) % 4 * 8);
  Vec<T, N> v;
  memcpy(&v, words, sizeof v);
  return v;
}
)"},
    {"fs_keep_lanes", R"(// The lanes that do not count become copies of one that does.
template <class T, int N>
__device__ __forceinline__ Vec<T, N> fs_keep_lanes(Vec<T, N> v, unsigned lanes) {
  T one = v.at[0];
#pragma unroll
  for (int k = 1; k < N; ++k)
    if (lanes >> k & 1) one = v.at[k];
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (!(lanes >> k & 1)) v.at[k] = one;
  return v;
}
)"},
    {"fs_widen", R"(// A lane of N bfloat16 as f32, out of the register that holds a pair of them.
template <int N>
__device__ __forceinline__ float fs_widen(const Vec<__nv_bfloat16, N>& v, int lane) {
  unsigned pairs[N / 2];
  memcpy(pairs, &v, sizeof v);
  return __uint_as_float(lane % 2 ? pairs[lane / 2] & 0xffff0000u : pairs[lane / 2] << 16);
}
)"},
    {"fs_store_lanes", R"(// Writes those of N elements that `lanes` has a bit for.
template <class T, int N>
__device__ __forceinline__ void fs_store_lanes(T* p, const Vec<T, N>& v, unsigned lanes) {
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (lanes >> k & 1) p[k] = v.at[k];
}
)"},
    {"fs_store", R"(// Writes N elements in pieces of W, to which p is aligned.
template <int W, class T, int N>
__device__ __forceinline__ void fs_store(T* p, const Vec<T, N>& v) {
#pragma unroll
  for (int k = 0; k < N / W; ++k) {
    Vec<T, W> piece;
#pragma unroll
    for (int j = 0; j < W; ++j) piece.at[j] = v.at[k * W + j];
    *reinterpret_cast<Vec<T, W>*>(p + k * W) = piece;
  }
}
)"},
    {"fs_put",
     R"(// The same to global memory, a piece of up to 16 bytes by one instruction: what a compiler stores by itself it may take apart.
template <int W, class T, int N>
__device__ __forceinline__ void fs_put(T* p, const Vec<T, N>& v) {
  constexpr int kPiece = W * sizeof(T) > 16 ? 16 / sizeof(T) : W, kBytes = kPiece * sizeof(T);
  if constexpr (kBytes < 4) return fs_store<W>(p, v);
#pragma unroll
  for (int k = 0; k < N; k += kPiece) {
    const unsigned* w = reinterpret_cast<const unsigned*>(v.at + k);
    if constexpr (kBytes == 16) asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" : : "l"(p + k), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
    if constexpr (kBytes == 8) asm volatile("st.global.v2.b32 [%0], {%1, %2};" : : "l"(p + k), "r"(w[0]), "r"(w[1]) : "memory");
    if constexpr (kBytes == 4) asm volatile("st.global.b32 [%0], %1;" : : "l"(p + k), "r"(w[0]) : "memory");
  }
}
)"},
    {"fs_begin_bulk_stores", R"(#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12
#define FS_COPY_ENGINE
#endif
// From here on the copy engine may read what the block's threads have written to shared memory.
__device__ __forceinline__ void fs_begin_bulk_stores() {
#ifdef FS_COPY_ENGINE
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
  __syncthreads();
}
// Writes N elements from shared memory, a multiple of 16 bytes and so aligned: one thread starts the copy engine, or all BLOCK threads write.
template <int N, int BLOCK, class T>
__device__ __forceinline__ void fs_store_bulk(T* to, const T* from) {
#ifdef FS_COPY_ENGINE
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" : : "l"(to), "r"((unsigned)__cvta_generic_to_shared(from)), "n"(N * (int)sizeof(T)) : "memory");
#else
  for (int k = threadIdx.x; k < N * (int)sizeof(T) / 16; k += BLOCK) reinterpret_cast<uint4*>(to)[k] = reinterpret_cast<const uint4*>(from)[k];
#endif
}
// Shared memory stays until the copy engine has read it.
__device__ __forceinline__ void fs_end_bulk_stores() {
#ifdef FS_COPY_ENGINE
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
  }
#endif
}
)"},
    {"fs_store_once", R"(// Writes N elements, 16 bytes at a time, which the L2 cache need not keep.
template <class T, int N>
__device__ __forceinline__ void fs_store_once(T* p, const Vec<T, N>& v) {
#pragma unroll
  for (int k = 0; k < N * (int)sizeof(T) / 16; ++k) __stcs(reinterpret_cast<uint4*>(p) + k, reinterpret_cast<const uint4*>(&v)[k]);
}
)"},
    {"fs_store_one", R"(// Several threads may store here: one of them wins.
template <class T>
__device__ __forceinline__ void fs_store_one(T* p, T value) { *p = value; }
)"},
    {"fs_store_one_of", R"(template <int W, class T, int N>
__device__ __forceinline__ void fs_store_one_of(T* p, const Vec<T, N>& v) { fs_store<W>(p, v); }
)"},
    {"fs_store_some", R"(// Writes the first `count` of N elements.
template <class T, int N>
__device__ __forceinline__ void fs_store_some(T* p, const Vec<T, N>& v, int count) {
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (k < count) p[k] = v.at[k];
}
)"},
    {"fs_bitcast", R"(template <class To, class From>
__device__ __forceinline__ To fs_bitcast(From x) {
  static_assert(sizeof(To) == sizeof(From), "bitcast keeps the size");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}
)"},
    {"fs_from_e4m3",
     R"(__device__ __forceinline__ float fs_from_e4m3(unsigned char x) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x, __NV_E4M3))); }
)"},
    {"fs_from_e5m2",
     R"(__device__ __forceinline__ float fs_from_e5m2(unsigned char x) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x, __NV_E5M2))); }
)"},
    {"fs_to_e4m3", R"(// Rounds to nearest even, saturating (infinities too); NaN stays.
__device__ __forceinline__ unsigned char fs_to_e4m3(float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3); }
)"},
    {"fs_to_e5m2", R"(// Rounds to nearest even, saturating (infinities too); NaN stays.
__device__ __forceinline__ unsigned char fs_to_e5m2(float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2); }
)"},
    {"fs_odd_float", R"(// Rounding to odd: a second rounding to at most 22 bits then gives what one rounding of x would.
__device__ __forceinline__ float fs_odd_float(long long x) {
  const float down = __ll2float_rd(x), up = __ll2float_ru(x);
  return down == up || (__float_as_int(down) & 1) ? down : up;
}
__device__ __forceinline__ float fs_odd_float(int x) { return fs_odd_float((long long)x); }
__device__ __forceinline__ float fs_odd_float(double x) {
  const float down = __double2float_rd(x), up = __double2float_ru(x);
  return !(down < up) || (__float_as_int(down) & 1) ? down : up;
}
)"},
    {"fs_to_int", R"(// Truncates toward zero and saturates; NaN gives 0.
template <class T, class F>
__device__ __forceinline__ T fs_to_int(F x) {
  if constexpr (sizeof(T) == 8) {
    return x != x ? (T)0 : (T)__double2ll_rz((double)x);
  } else {
    const int least = sizeof(T) == 4 ? (int)0x80000000 : (T)-1 > (T)0 ? 0 : -(1 << (8 * sizeof(T) - 1));
    const int most = sizeof(T) == 4 ? 0x7fffffff : (T)-1 > (T)0 ? (1 << 8 * sizeof(T)) - 1 : (1 << (8 * sizeof(T) - 1)) - 1;
    if (x != x) return (T)0;
    return (T)(x <= (F)least ? least : x >= (F)most ? most : (int)x);
  }
}
)"},
    {"fs_not", R"(__device__ __forceinline__ bool fs_not(bool x) { return !x; }
template <class T>
__device__ __forceinline__ T fs_not(T x) { return (T)~x; }
)"},
    {"fs_maximum", R"(// NaN if either is NaN; -0 < +0.
__device__ __forceinline__ float fs_maximum(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
#else
  return a != a ? a : b != b ? b : a == b ? __int_as_float(__float_as_int(a) & __float_as_int(b)) : a > b ? a : b;
#endif
}
__device__ __forceinline__ double fs_maximum(double a, double b) { return a != a ? a : b != b ? b : a == b ? __longlong_as_double(__double_as_longlong(a) & __double_as_longlong(b)) : a > b ? a : b; }
__device__ __forceinline__ int fs_maximum(int a, int b) { return a > b ? a : b; }
__device__ __forceinline__ long long fs_maximum(long long a, long long b) { return a > b ? a : b; }
)"},
    {"fs_minimum", R"(// NaN if either is NaN; -0 < +0.
__device__ __forceinline__ float fs_minimum(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
#else
  return a != a ? a : b != b ? b : a == b ? __int_as_float(__float_as_int(a) | __float_as_int(b)) : a < b ? a : b;
#endif
}
__device__ __forceinline__ double fs_minimum(double a, double b) { return a != a ? a : b != b ? b : a == b ? __longlong_as_double(__double_as_longlong(a) | __double_as_longlong(b)) : a < b ? a : b; }
__device__ __forceinline__ int fs_minimum(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ long long fs_minimum(long long a, long long b) { return a < b ? a : b; }
)"},
    {"fs_clamp", R"(template <class T>
__device__ __forceinline__ T fs_clamp(T x, T low, T high) {
  const T raised = x > low ? x : low;
  return raised < high ? raised : high;
}
)"},
    {"fs_remainder", R"(// The sign of the divisor; integers: 0 for a zero divisor and for -1.
__device__ __forceinline__ float fs_remainder(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f && (b < 0.0f) != (r < 0.0f) ? r + b : r;
}
__device__ __forceinline__ double fs_remainder(double a, double b) {
  const double r = fmod(a, b);
  return r != 0.0 && (b < 0.0) != (r < 0.0) ? r + b : r;
}
template <class T>
__device__ __forceinline__ T fs_remainder(T a, T b) {
  if (b == 0 || b == (T)-1) return (T)((T)-1 > (T)0 && b != 0 ? a % b : 0);
  const T r = (T)(a % b);
  return (T)(r != 0 && (b < 0) != (r < 0) ? r + b : r);
}
)"},
    {"fs_floor_div", R"(// ⌊a / b⌋; floats by way of the exact remainder; integers: 0 for a zero divisor, wrapping for -1.
__device__ __forceinline__ float fs_floor_div(float a, float b) {
  if (b == 0.0f) return __fdiv_rn(a, b);
  const float r = fmodf(a, b);
  float q = __fdiv_rn(a - r, b);
  if (r != 0.0f && (b < 0.0f) != (r < 0.0f)) q -= 1.0f;
  if (q == 0.0f) return copysignf(0.0f, __fdiv_rn(a, b));
  const float f = floorf(q);
  return q - f > 0.5f ? f + 1.0f : f;
}
__device__ __forceinline__ double fs_floor_div(double a, double b) {
  if (b == 0.0) return __ddiv_rn(a, b);
  const double r = fmod(a, b);
  double q = __ddiv_rn(a - r, b);
  if (r != 0.0 && (b < 0.0) != (r < 0.0)) q -= 1.0;
  if (q == 0.0) return copysign(0.0, __ddiv_rn(a, b));
  const double f = floor(q);
  return q - f > 0.5 ? f + 1.0 : f;
}
template <class T>
__device__ __forceinline__ T fs_floor_div(T a, T b) {
  if (b == 0) return (T)0;
  if ((T)-1 < (T)0 && b == (T)-1) return (T)(0ull - (unsigned long long)a);
  const T q = (T)(a / b);
  return (T)(a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q);
}
)"},
    {"fs_ceil_div", R"(template <class T>
__device__ __forceinline__ T fs_ceil_div(T a, T b) {
  if (b == 0) return (T)0;
  if ((T)-1 < (T)0 && b == (T)-1) return (T)(0ull - (unsigned long long)a);
  const T q = (T)(a / b);
  return (T)(a % b != 0 && (a < 0) == (b < 0) ? q + 1 : q);
}
)"},
    {"fs_trunc_div", R"(template <class T>
__device__ __forceinline__ T fs_trunc_div(T a, T b) {
  if (b == 0) return (T)0;
  if ((T)-1 < (T)0 && b == (T)-1) return (T)(0ull - (unsigned long long)a);
  return (T)(a / b);
}
)"},
    {"fs_trunc_mod", R"(template <class T>
__device__ __forceinline__ T fs_trunc_mod(T a, T b) {
  if (b == 0 || ((T)-1 < (T)0 && b == (T)-1)) return (T)0;
  return (T)(a % b);
}
)"},
    {"fs_int_pow", R"(// Wrapping power; a negative exponent gives 0, except for the bases 1 and -1.
template <class T>
__device__ __forceinline__ T fs_int_pow(T a, T b) {
  if (b < 0) return (T)(a == 1 ? 1 : a == (T)-1 ? (b % 2 != 0 ? -1 : 1) : 0);
  unsigned long long result = 1, base = (unsigned long long)a;
  for (unsigned long long n = (unsigned long long)b; n != 0; n >>= 1, base *= base)
    if (n & 1) result *= base;
  return (T)result;
}
)"},
    {"fs_shl", R"(template <class T>
__device__ __forceinline__ T fs_shl(T a, T b) { return b < 0 || b >= (T)(8 * sizeof(T)) ? (T)0 : (T)((unsigned long long)a << b); }
)"},
    {"fs_shr", R"(template <class T>
__device__ __forceinline__ T fs_shr(T a, T b) { return b < 0 || b >= (T)(8 * sizeof(T)) ? (T)(a < 0 ? -1 : 0) : (T)(a >> b); }
)"},
    {"fs_half_exp", R"(// exp(-|x| / 2): its square enters sums with 1 and its double product keeps denormal results exact to one rounding.
__device__ __forceinline__ float fs_half_exp(float x) { return expf(-0.5f * fabsf(x)); }
__device__ __forceinline__ double fs_half_exp(double x) { return exp(-0.5 * fabs(x)); }
)"},
    {"fs_reciprocal_near_one", R"(// 1 / x for 1 ≤ x ≤ 2, within 1 ulp.
__device__ __forceinline__ float fs_reciprocal_near_one(float x) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return 1.0f / x;
#endif
}
__device__ __forceinline__ double fs_reciprocal_near_one(double x) { return 1.0 / x; }
)"},
    {"fs_exp2_approximate", R"(// 2^x, within 2 ulp for results that are normal numbers.
__device__ __forceinline__ float fs_exp2_approximate(float x) {
#ifdef __CUDA_ARCH__
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return exp2f(x);
#endif
}
)"},
    {"fs_exp_coarse",
     R"(// exp(x) for what is rounded to 16 bits in the end: within |x| + 4 ulp; the square of a normal number may be a denormal one.
__device__ __forceinline__ float fs_exp_coarse(float x) {
  const float root = fs_exp2_approximate(x * 0.72134752f);
  return root * root;
}
)"},
    {"fs_erf_coarse",
     R"(// erf(x) for what a number of at least 1 is added to: within 2e-7. 1 - 2^P(|x|), P a minimax polynomial of log2(erfc).
__device__ __forceinline__ float fs_erf_coarse(float x) {
  const float a = fabsf(x);
  float p = fmaf(fmaf(fmaf(-4.5358607e-05f, a, 0.00044550773f), a, -0.001489442f), a, -0.00077462906f);
  p = fmaf(fmaf(fmaf(fmaf(p, a, 0.02825368f), a, -0.1484816f), a, -0.9184164f), a, -1.6279086f);
  return copysignf(1.0f - fs_exp2_approximate(a * p), x);
}
)"},
    {"fs_tanh",
     R"(// Near zero x + x³·P(x²), P a minimax polynomial; elsewhere 1 - 2t / (1 + t), t = exp(-2|x|). Both are computed: no branch. Within 4 ulp.
__device__ __forceinline__ float fs_tanh(float x) {
  const float s = x * x;
  const float p = fmaf(fmaf(fmaf(fmaf(-0.0055297627f, s, 0.020482944f), s, -0.053692292f), s, 0.13330883f), s, -0.33333263f);
  const float near_zero = fmaf(x * s, p, x);
  const float t = fs_exp2_approximate(fabsf(x) * -2.885390082f);
  const float far = fmaf(-2.0f * t, fs_reciprocal_near_one(1.0f + t), 1.0f);
  return copysignf(fabsf(x) < 0.625f ? near_zero : far, x);  // also of a zero
}
)"},
    {"fs_quarter_turns",
     R"(// x = r + j·π/2 with |r| ≤ π/4, for |x| ≤ 2^17 (infinity and NaN give NaN): π/2 in three parts, each product fused.
struct fs_quarter_turns {
  float r;
  int j;
  __device__ __forceinline__ explicit fs_quarter_turns(float x) {
    const float shifted = fmaf(x, 0.63661977f, 12582912.0f);  // 1.5·2^23: the low bits are the nearest integer
    const float turns = shifted - 12582912.0f;
    j = __float_as_int(shifted);
    r = fmaf(turns, 1.7151245e-15f, fmaf(turns, 4.3711388e-08f, fmaf(turns, -1.5707964f, x)));
  }
  // sin of (r + n·π/2) from minimax polynomials in r². Within 2 ulp.
  __device__ __forceinline__ float sine(int n) const {
    const float s = r * r;
    const float odd = fmaf(r * s, fmaf(fmaf(-0.00019515282f, s, 0.0083321603f), s, -0.16666655f), r);
    const float even = fmaf(fmaf(fmaf(fmaf(2.4438452e-05f, s, -0.0013887368f), s, 0.041666646f), s, -0.5f), s, 1.0f);
    const float v = n & 1 ? even : odd;
    return n & 2 ? -v : v;
  }
};
)"},
    {"fs_sin_bounded", R"(// sin, cos for |x| ≤ 2^17, where the kernel knows that.
__device__ __forceinline__ float fs_sin_bounded(float x) {
  const fs_quarter_turns q(x);
  return q.sine(q.j);
}
)"},
    {"fs_cos_bounded", R"(__device__ __forceinline__ float fs_cos_bounded(float x) {
  const fs_quarter_turns q(x);
  return q.sine(q.j + 1);
}
)"},
    {"fs_sincos_bounded", R"(__device__ __forceinline__ void fs_sincos_bounded(float x, float* sine, float* cosine) {
  const fs_quarter_turns q(x);
  *sine = q.sine(q.j);
  *cosine = q.sine(q.j + 1);
}
)"},
    {"fs_sin_far", R"(// The rare far arguments, out of line.
__device__ __noinline__ float fs_sin_far(float x) { return sinf(x); }
)"},
    {"fs_cos_far", R"(__device__ __noinline__ float fs_cos_far(float x) { return cosf(x); }
)"},
    {"fs_sin", R"(__device__ __forceinline__ float fs_sin(float x) { return fabsf(x) <= 131072.0f ? fs_sin_bounded(x) : fs_sin_far(x); }
)"},
    {"fs_cos", R"(__device__ __forceinline__ float fs_cos(float x) { return fabsf(x) <= 131072.0f ? fs_cos_bounded(x) : fs_cos_far(x); }
)"},
    {"fs_sincos", R"(__device__ __forceinline__ void fs_sincos(float x, float* sine, float* cosine) {
  fs_sincos_bounded(x, sine, cosine);
  if (!(fabsf(x) <= 131072.0f)) *sine = fs_sin_far(x), *cosine = fs_cos_far(x);
}
)"},
    {"fs_scaled_sigmoid", R"(// a / (1 + exp(-x)): with h = exp(-|x|/2) it is a / (1 + h²), times h² where x < 0.
template <class T>
__device__ __forceinline__ T fs_scaled_sigmoid(T a, T x) {
  const T h = fs_half_exp(x);
  const T r = a * fs_reciprocal_near_one((T)1 + h * h);
  return x < (T)0 ? r * h * h : r;
}
)"},
    {"fs_sigmoid", R"(// With z = exp(-|x|): 1 / (1 + z), or z / (1 + z) where x < 0.
__device__ __forceinline__ float fs_sigmoid(float x) {
  const float z = expf(-fabsf(x)), r = fs_reciprocal_near_one(1.0f + z);
  return x < 0.0f ? z * r : r;
}
__device__ __forceinline__ double fs_sigmoid(double x) {
  const double z = exp(-fabs(x)), r = 1.0 / (1.0 + z);
  return x < 0.0 ? z * r : r;
}
)"},
    {"fs_silu", R"(template <class T>
__device__ __forceinline__ T fs_silu(T x) { return x == (T)-INFINITY ? (T)-0.0 : fs_scaled_sigmoid(x, x); }
)"},
    {"fs_gelu_tanh", R"(// x/2 · (1 + tanh(y)) = x / (1 + exp(-2y)), y = √(2/π)·(x + 0.044715 x³). h = exp(-|y|) = 2^-|x·(a + b·x²)|.
__device__ __forceinline__ float fs_gelu_tanh(float x) {
  const float h = fs_exp2_approximate(-fabsf(x * fmaf(0.05147162f, x * x, 1.1511041f)));
  const float r = (x < -3e38f ? -3e38f : x) * fs_reciprocal_near_one(fmaf(h, h, 1.0f));  // -inf would meet h = 0
  const float s = x < 0.0f ? h : 1.0f;
  return r * s * s;
}
__device__ __forceinline__ double fs_gelu_tanh(double x) {
  const double y = x * (1.5957691216057308 + 0.07135481627260025 * (x * x));
  return x == -INFINITY ? -0.0 : fs_scaled_sigmoid(x, y);
}
)"},
    {"fs_gelu_erf", R"(// x · Φ(x)
__device__ __forceinline__ float fs_gelu_erf(float x) { return x == -INFINITY ? -0.0f : x * normcdff(x); }
__device__ __forceinline__ double fs_gelu_erf(double x) { return x == -INFINITY ? -0.0 : x * normcdf(x); }
)"},
    {"fs_iota", R"(// start + i·step, rounded once.
__device__ __forceinline__ double fs_iota(double start, double step, long long i) { return __fma_rn((double)i, step, start); }
)"},
    {"fs_iota_odd", R"(// start + i·step rounded to odd, so that a second rounding gives what one would.
__device__ __forceinline__ double fs_iota_odd(double start, double step, long long i) {
  const double down = __fma_rd((double)i, step, start), up = __fma_ru((double)i, step, start);
  return down == up || (__double_as_longlong(down) & 1) ? down : up;
}
)"},
    {"fs_words", R"(struct fs_words {
  unsigned w[4];
};
)"},
    {"fs_philox", R"(// Philox4x32-10: the four words of counter (n, stream) under the key `seed`.
__device__ __forceinline__ fs_words fs_philox(unsigned long long seed, unsigned long long stream, unsigned long long n) {
  unsigned c0 = (unsigned)n, c1 = (unsigned)(n >> 32), c2 = (unsigned)stream, c3 = (unsigned)(stream >> 32);
  unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
    c1 = (unsigned)p1;
    c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
    c3 = (unsigned)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}
)"},
    {"fs_uniform", R"(// The top P bits of word i mod 4, as a fraction.
template <int P>
__device__ __forceinline__ float fs_uniform(unsigned long long seed, unsigned long long stream, unsigned long long i) {
  return (float)(fs_philox(seed, stream, i / 4).w[i % 4] >> (32 - P)) * (1.0f / (float)(1 << P));
}
)"},
    {"fs_uniform_f64", R"(// The top 53 bits of an element's two words, the first one high.
__device__ __forceinline__ double fs_uniform_f64(unsigned long long seed, unsigned long long stream, unsigned long long i) {
  const fs_words r = fs_philox(seed, stream, i / 2);
  const unsigned long long pair = (unsigned long long)r.w[i % 2 * 2] << 32 | r.w[i % 2 * 2 + 1];
  return (double)(pair >> 11) * 0x1p-53;
}
)"},
    {"fs_normal", R"(// Box-Muller on the word pair of elements 2k and 2k + 1.
__device__ __forceinline__ float fs_normal(unsigned long long seed, unsigned long long stream, unsigned long long i) {
  const fs_words r = fs_philox(seed, stream, i / 4);
  const unsigned long long a = r.w[i % 4 / 2 * 2] + 1ull;
  const unsigned b = r.w[i % 4 / 2 * 2 + 1];
  const float radius = sqrtf(-2.0f * logf((float)a * 0x1p-32f)), turn = (float)b * 0x1p-31f;
  return radius * (i % 2 == 0 ? cospif(turn) : sinpif(turn));
}
)"},
    {"fs_normal_f64",
     R"(__device__ __forceinline__ double fs_normal_f64(unsigned long long seed, unsigned long long stream, unsigned long long i) {
  const fs_words r = fs_philox(seed, stream, i / 4);
  const unsigned long long a = r.w[i % 4 / 2 * 2] + 1ull;
  const unsigned b = r.w[i % 4 / 2 * 2 + 1];
  const double radius = sqrt(-2.0 * log((double)a * 0x1p-32)), turn = (double)b * 0x1p-31;
  return radius * (i % 2 == 0 ? cospi(turn) : sinpi(turn));
}
)"},
    {"fs_index", R"(// The index where it lies in [0, extent), else `extent`; of those that do not, the first to come is recorded.
__device__ __noinline__ void fs_record_index(long long* record, int check, long long position, long long index, long long extent) {
  if (atomicCAS((unsigned long long*)record, 0ull, (unsigned long long)check) != 0) return;
  record[1] = position;
  record[2] = index;
  record[3] = extent;
}
__device__ __forceinline__ long long fs_index(long long index, long long extent, long long* record, int check, long long position) {
  if (index >= 0 && index < extent) return index;
  fs_record_index(record, check, position, index, extent);
  return extent;
}
)"},
    {"fs_peek", R"(// What lies there now, while others may be changing it.
template <class T>
__device__ __forceinline__ T fs_peek(T* p) {
#ifdef __CUDA_ARCH__
  return *(volatile T*)p;
#else
  T x;
  if constexpr (sizeof(T) == 8) {
    const unsigned long long word = atomicOr((unsigned long long*)p, 0ull);
    memcpy(&x, &word, sizeof x);
  } else {
    const unsigned word = atomicOr((unsigned*)p, 0u);
    memcpy(&x, &word, sizeof x);
  }
  return x;
#endif
}
)"},
    {"fs_swap", R"(__device__ __forceinline__ unsigned fs_swap(unsigned* p, unsigned from, unsigned to) { return atomicCAS(p, from, to); }
__device__ __forceinline__ unsigned long long fs_swap(unsigned long long* p, unsigned long long from, unsigned long long to) { return atomicCAS(p, from, to); }
)"},
    {"fs_update_word", R"(// Replaces *p by f(*p) in one step, comparing and swapping bits.
template <class Word, class T, class F>
__device__ __forceinline__ void fs_update_word(T* p, F f) {
  static_assert(sizeof(Word) == sizeof(T), "a word holds one element");
  for (T seen = fs_peek(p);;) {
    const T wanted = f(seen);
    Word before, after;
    memcpy(&before, &seen, sizeof before);
    memcpy(&after, &wanted, sizeof after);
    if (before == after) return;
    const Word found = fs_swap((Word*)p, before, after);
    if (found == before) return;
    memcpy(&seen, &found, sizeof seen);
  }
}
)"},
    {"fs_update", R"(template <class T, class F>
__device__ __forceinline__ void fs_update(T* p, F f) {
  if constexpr (sizeof(T) == 8) fs_update_word<unsigned long long>(p, f);
  else fs_update_word<unsigned>(p, f);
}
)"},
    {"fs_atomic_add", R"(// *p += v; integers wrap.
template <class T>
__device__ __forceinline__ void fs_atomic_add(T* p, T v) {
  if constexpr (sizeof(T) == 8 && (T)0.5 == (T)0) atomicAdd((unsigned long long*)p, (unsigned long long)v);
  else atomicAdd(p, v);
}
)"},
    {"fs_atomic_add_some", R"(// Adds the first `count` of N elements.
template <class T, int N>
__device__ __forceinline__ void fs_atomic_add_some(T* p, const Vec<T, N>& v, int count) {
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (k < count) fs_atomic_add(p + k, v.at[k]);
}
)"},
    {"fs_atomic_add_all", R"(// Adds N elements, of f32 in pieces of W to which p is aligned: each element by itself, not the vector as one.
template <int W, class T, int N>
__device__ __forceinline__ void fs_atomic_add_all(T* p, const Vec<T, N>& v) {
  constexpr bool kIsF32 = (T)0.5 != (T)0 && sizeof(T) == 4;
#ifdef __CUDA_ARCH__
  if constexpr (kIsF32 && __CUDA_ARCH__ >= 900 && W % 4 == 0) {
#pragma unroll
    for (int k = 0; k < N; k += 4)
      asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p + k)), "f"(v.at[k]), "f"(v.at[k + 1]), "f"(v.at[k + 2]), "f"(v.at[k + 3]) : "memory");
    return;
  } else if constexpr (kIsF32 && __CUDA_ARCH__ >= 900 && W % 2 == 0) {
#pragma unroll
    for (int k = 0; k < N; k += 2)
      asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p + k)), "f"(v.at[k]), "f"(v.at[k + 1]) : "memory");
    return;
  }
#endif
#pragma unroll
  for (int k = 0; k < N; ++k) fs_atomic_add(p + k, v.at[k]);
}
)"},
    {"fs_atomic_mul", R"(// *p *= v; integers wrap.
template <class T>
__device__ __forceinline__ void fs_atomic_mul(T* p, T v) {
  if constexpr ((T)0.5 == (T)0) fs_update(p, [=](T x) { return (T)((unsigned long long)x * (unsigned long long)v); });
  else fs_update(p, [=](T x) { return x * v; });
}
)"},
    {"fs_atomic_max",
     R"(// *p = max(*p, v); NaN stays NaN; -0 < +0. Floats are compared as integers: upward where v's sign is plus, else as unsigned ones
// downward. (A NaN with a sign must not lie there.)
template <class T>
__device__ __forceinline__ void fs_atomic_max(T* p, T v) {
  if constexpr ((T)0.5 == (T)0) {
    atomicMax(p, v);
  } else if constexpr (sizeof(T) == 4) {
    const int bits = v != v ? 0x7fffffff : __float_as_int(v);
    if (bits >= 0) atomicMax((int*)p, bits);
    else atomicMin((unsigned*)p, (unsigned)bits);
  } else {
    const long long bits = v != v ? 0x7fffffffffffffff : __double_as_longlong(v);
    if (bits >= 0) atomicMax((long long*)p, bits);
    else atomicMin((unsigned long long*)p, (unsigned long long)bits);
  }
}
)"},
    {"fs_atomic_min", R"(// *p = min(*p, v); as fs_atomic_max, the other way round. (No NaN without a sign must lie there.)
template <class T>
__device__ __forceinline__ void fs_atomic_min(T* p, T v) {
  if constexpr ((T)0.5 == (T)0) {
    atomicMin(p, v);
  } else if constexpr (sizeof(T) == 4) {
    const int bits = v != v ? -1 : __float_as_int(v);
    if (bits >= 0) atomicMin((int*)p, bits);
    else atomicMax((unsigned*)p, (unsigned)bits);
  } else {
    const long long bits = v != v ? -1 : __double_as_longlong(v);
    if (bits >= 0) atomicMin((long long*)p, bits);
    else atomicMax((unsigned long long*)p, (unsigned long long)bits);
  }
}
)"},
    {"fs_look_max",
     R"(// As fs_atomic_max, but what would change nothing is left out, a NaN that lies there included: values only grow, so that an old one
// is no danger.
template <class T>
__device__ __forceinline__ void fs_look_max(T* p, T v) {
  const T old = fs_peek(p);
  if (old == old && !(v < old)) fs_atomic_max(p, v);
}
)"},
    {"fs_look_min", R"(template <class T>
__device__ __forceinline__ void fs_look_min(T* p, T v) {
  const T old = fs_peek(p);
  if (old == old && !(v > old)) fs_atomic_min(p, v);
}
)"},
    {"fs_join_add", R"(// Two updates as one; integers wrap.
template <class T>
__device__ __forceinline__ T fs_join_add(T a, T b) {
  if constexpr ((T)0.5 == (T)0) return (T)((unsigned long long)a + (unsigned long long)b);
  else return a + b;
}
)"},
    {"fs_join_mul", R"(template <class T>
__device__ __forceinline__ T fs_join_mul(T a, T b) {
  if constexpr ((T)0.5 == (T)0) return (T)((unsigned long long)a * (unsigned long long)b);
  else return a * b;
}
)"},
    {"fs_join_max", R"(// The first NaN stays as it is, bit for bit, as one in memory does.
template <class T>
__device__ __forceinline__ T fs_join_max(T a, T b) {
  if constexpr ((T)0.5 != (T)0)
    if (a != a || b != b) return a != a ? a : b;
  return fs_maximum(a, b);
}
)"},
    {"fs_join_min", R"(template <class T>
__device__ __forceinline__ T fs_join_min(T a, T b) {
  if constexpr ((T)0.5 != (T)0)
    if (a != a || b != b) return a != a ? a : b;
  return fs_minimum(a, b);
}
)"},
    {"fs_update_joined",
     R"(// Lanes of a warp whose updates go to one place make one of theirs, in pairs of neighbours, and the first of them brings it there.
template <class T, class P, class F, class G>
__device__ __forceinline__ void fs_update_joined(P place, T v, F join, G update) {
  const unsigned active = __activemask(), peers = __match_any_sync(active, place), lane = threadIdx.x % 32;
  const unsigned before = peers & ((1u << lane) - 1);
  unsigned after = peers & (~1u << lane);  // those that still have something to give
  for (int rank = __popc(before); __any_sync(active, after != 0); rank /= 2) {
    const T other = __shfl_sync(active, v, after != 0 ? __ffs(after) - 1 : (int)lane);
    if (after != 0) v = join(v, other);
    after &= ~__ballot_sync(active, rank % 2);
  }
  if (before == 0) update(v);
}
)"},
    {"fs_clear_table", R"(template <class T>
__device__ __forceinline__ void fs_clear_table(T* table, unsigned size, T start) {
  for (unsigned k = threadIdx.x; k < size; k += blockDim.x) table[k] = start;
  __syncthreads();
}
)"},
    {"fs_add_shared",
     R"(// *p += v in shared memory, which has an operation for 32-bit integers only: 64 bits are two words and a carry. Where a thread's own updates
// meet (`try_warp`) it looks whether its whole warp does, or every W-th lane of it (of floats, whose lanes would wait), and can add once.
template <int W = 1, class T>
__device__ __forceinline__ void fs_add_shared(T* p, T v, unsigned place, bool try_warp) {
  constexpr bool kInteger = (T)0.5 == (T)0;
  const auto add = [&] {
    if constexpr (kInteger && sizeof(T) == 8) {
      unsigned* words = (unsigned*)p;
      const unsigned low = (unsigned)v, before = atomicAdd(words, low);
      const unsigned high = (unsigned)((unsigned long long)v >> 32) + (before + low < before);
      if (high != 0) atomicAdd(words + 1, high);
    } else {
      atomicAdd(p, v);
    }
  };
  if ((W == 1 || !kInteger) && try_warp) {
    const unsigned active = __activemask();
    const int lane = threadIdx.x % 32;
    if (active == ~0u && __all_sync(active, place == __shfl_sync(active, place, W == 1 ? 0 : lane % W))) {
#pragma unroll
      for (int step = 16; W == 1 && step > 0; step /= 2) v = fs_join_add(v, __shfl_xor_sync(~0u, v, step));
#pragma unroll
      for (int step = W; W > 1 && step < 32; step *= 2) {
        const T other = __shfl_down_sync(~0u, v, step);
        if (lane + step < 32) v = fs_join_add(v, other);
      }
      if (lane < W) add();
      return;
    }
  }
  add();
}
)"},
    {"fs_add_crowded",
     R"(// fs_add_shared; where lanes of the warp meet in several places, it adds once in each. `look`: find out whether they do.
template <class T>
__device__ __forceinline__ void fs_add_crowded(T* p, T v, unsigned place, bool try_warp, bool look, bool& crowded) {
  constexpr int kMany = 4;  // lanes that meet others
  if (look && !try_warp) {
    const unsigned active = __activemask();
    crowded = __popc(__ballot_sync(active, __popc(__match_any_sync(active, place)) > 1)) >= kMany;
  }
  if (crowded && !try_warp) fs_update_joined(place, v, [](T a, T b) { return a + b; }, [&](T sum) { atomicAdd(p, sum); });
  else fs_add_shared(p, v, place, try_warp);
}
)"},
    {"fs_update_cached", R"(// Updates target[at], in the table where its place is at's or free.
template <int Size, class T, class F, class G>
__device__ __forceinline__ void fs_update_cached(T* table, unsigned* tags, unsigned at, T v, T* target, F here, G there) {
  const unsigned place = at % Size;
  unsigned owner = fs_peek(tags + place);
  if (owner == ~0u) owner = atomicCAS(tags + place, ~0u, at);
  if (owner == ~0u || owner == at) here(table + place, v, place);
  else there(target + at, v);
}
)"},
    {"fs_finish_cache", R"(template <int Size, class T, class F>
__device__ __forceinline__ void fs_finish_cache(const T* table, const unsigned* tags, T* target, F update) {
  __syncthreads();
  for (int k = threadIdx.x; k < Size; k += blockDim.x)
    if (tags[k] != ~0u) update(target + tags[k], table[k]);
}
)"},
    {"fs_update_cached_all",
     R"(// Adds to target[at], …, where `at` is a multiple of N: in the table where their place is theirs or free. W lanes make a row (0: many).
template <int Size, int W, int N, class T>
__device__ __forceinline__ void fs_update_cached_all(T* table, unsigned* tags, unsigned at, const Vec<T, N>& v, T* target) {
  const unsigned place = at / N % Size;
  unsigned owner = fs_peek(tags + place);
  if (owner == ~0u) owner = atomicCAS(tags + place, ~0u, at);
  if (owner == ~0u || owner == at) {
#pragma unroll
    for (int k = 0; k < N; ++k) fs_add_shared<W == 0 ? 1 : W>(table + k * Size + place, v.at[k], place, W > 0);
  } else {
    fs_atomic_add_all<N>(target + at, v);
  }
}
)"},
    {"fs_finish_cache_all", R"(template <int Size, int N, class T>
__device__ __forceinline__ void fs_finish_cache_all(const T* table, const unsigned* tags, T* target) {
  __syncthreads();
  for (int place = threadIdx.x; place < Size; place += blockDim.x) {
    if (tags[place] == ~0u) continue;
    Vec<T, N> v;
#pragma unroll
    for (int k = 0; k < N; ++k) v.at[k] = table[k * Size + place];
    fs_atomic_add_all<N>(target + tags[place], v);
  }
}
)"},
    {"fs_same_bits", R"(template <class T>
__device__ __forceinline__ bool fs_same_bits(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    long long x, y;
    memcpy(&x, &a, sizeof x), memcpy(&y, &b, sizeof y);
    return x == y;
  } else {
    int x, y;
    memcpy(&x, &a, sizeof x), memcpy(&y, &b, sizeof y);
    return x == y;
  }
}
)"},
    {"fs_finish_table",
     R"(// Calls f(element, total of its copies) for the elements of a table that have changed, from element `first` round to it.
template <int Copies, class T, class F>
__device__ __forceinline__ void fs_finish_table(const T* table, unsigned size, unsigned first, T start, F f) {
  __syncthreads();
  for (unsigned k = threadIdx.x; k < size; k += blockDim.x) {
    const unsigned slot = k + first < size ? k + first : k + first - size;
    T total = table[slot * Copies];
#pragma unroll
    for (int copy = 1; copy < Copies; ++copy) total += table[slot * Copies + copy];
    if (!fs_same_bits(total, start)) f(slot, total);
  }
}
)"},
    {"fs_keep", R"(// Leaves the load of v where it stands.
template <class T>
__device__ __forceinline__ void fs_keep(T& v) {
  if constexpr (sizeof(T) % 4 == 0) {
    unsigned words[sizeof(T) / 4];
    memcpy(words, &v, sizeof words);
#pragma unroll
    for (unsigned& word : words) asm volatile("mov.b32 %0, %0;" : "+r"(word));
    memcpy(&v, words, sizeof words);
  }
}
)"},
    {"fs_items_of_thread",
     R"(// How many of `left` items, each of which `inner` threads take, are a thread's: whole groups of Ahead, so that `threads` take all of them
// at once.
template <int Ahead>
__device__ __forceinline__ unsigned fs_items_of_thread(unsigned left, unsigned inner, unsigned threads) {
  const unsigned each = (unsigned)(((unsigned long long)left * inner + threads - 1) / threads);
  return each == 0 ? Ahead : (each + Ahead - 1) / Ahead * Ahead;
}
)"},
    {"fs_claim_slots",
     R"(// The block's updates `item` take the next slots of their rows (none where `row` is negative). Where all slots are taken they go to the
// rest, whose number comes first in the list: those of one row side by side. The first such update of a row clears the row in all
// copies of the sums. A row has one place in a table, or none after some attempts; its updates are counted there first.
template <int Slots, int Apart, int RestBegin, int Block, int N, class T>
__device__ __forceinline__ void fs_claim_slots(int* counts, int* slots, int* rest, T* sums, long long row_elems, long long elems, int copies, const int (&row)[N], const int (&item)[N]) {
  constexpr unsigned kPlaces = 2 * N * Block, kTicket = 1 << 16, kAttempts = 3;
  __shared__ unsigned found[kPlaces];  // who came, in tickets, and how many belong there
  __shared__ int rows[kPlaces];
  __shared__ int cleared[N * Block];
  __shared__ int clears;
  __shared__ int left;
  __shared__ int from;
  for (unsigned k = threadIdx.x; k < kPlaces; k += Block) found[k] = 0;
  if (threadIdx.x == 0) clears = left = 0;
  __syncthreads();
  unsigned place[N];
  int rank[N], first[N], shift[N];
#pragma unroll
  for (int k = 0; k < N; ++k) place[k] = (unsigned)row[k] * 2654435769u / (unsigned)((1ull << 32) / kPlaces), rank[k] = -1;
#pragma unroll 1
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (row[k] >= 0 && rank[k] < 0 && atomicAdd(found + place[k], kTicket) < kTicket) rows[place[k]] = row[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; ++k) {
      if (row[k] < 0 || rank[k] >= 0) continue;
      if (rows[place[k]] == row[k]) rank[k] = atomicAdd(found + place[k], 1u) % kTicket;
      else place[k] = (place[k] + (unsigned)row[k] % 61 * 2 + 1) % kPlaces;
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (row[k] >= 0 && rank[k] <= 0) first[k] = atomicAdd(counts + (long long)row[k] * Apart, rank[k] < 0 ? 1 : (int)(found[place[k]] % kTicket));
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (row[k] < 0 || rank[k] > 0) continue;
    const int last = first[k] + (rank[k] < 0 ? 1 : (int)(found[place[k]] % kTicket)), begin = first[k] > Slots ? first[k] : Slots;
    shift[k] = last > begin ? atomicAdd(&left, last - begin) - begin : 0;
    if (first[k] <= Slots && last > Slots) cleared[atomicAdd(&clears, 1)] = row[k];
    if (rank[k] == 0) rows[place[k]] = first[k], found[place[k]] = shift[k];
  }
  __syncthreads();
  if (threadIdx.x == 0 && left > 0) from = RestBegin + atomicAdd(rest, left);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (row[k] < 0) continue;
    const int slot = rank[k] < 0 ? first[k] : rows[place[k]] + rank[k];
    if (slot < Slots) slots[(long long)row[k] * Slots + slot] = item[k];
    else rest[from + (rank[k] < 0 ? shift[k] : (int)found[place[k]]) + slot] = item[k];
  }
  for (int n = 0; n < clears; ++n)
    for (int copy = 0; copy < copies; ++copy)
      for (long long k = threadIdx.x; k < row_elems; k += Block) sums[copy * elems + cleared[n] * row_elems + k] = (T)-0.0;
}
)"},
    {"fs_pairs_bf16", R"(struct fs_pairs_bf16 {
  static __device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static __device__ __forceinline__ unsigned greater(unsigned a, unsigned b) { asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b)); return a; }
  static __device__ __forceinline__ unsigned less(unsigned a, unsigned b) { asm("min.NaN.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b)); return a; }
#endif
};
)"},
    {"fs_pairs_f16", R"(struct fs_pairs_f16 {
  static __device__ __forceinline__ float widen(__half x) { return __half2float(x); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static __device__ __forceinline__ unsigned greater(unsigned a, unsigned b) { asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b)); return a; }
  static __device__ __forceinline__ unsigned less(unsigned a, unsigned b) { asm("min.NaN.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b)); return a; }
#endif
};
)"},
    {"fs_extreme_of", R"(// The greatest (or least) of N 16-bit floats, two at a time; NaN if one of them is.
template <class Pairs, bool Greatest, class T, int N>
__device__ __forceinline__ float fs_extreme_of(const Vec<T, N>& v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  unsigned words[N / 2];
  memcpy(words, &v, sizeof words);
  unsigned most = words[0];
#pragma unroll
  for (int k = 1; k < N / 2; ++k) most = Greatest ? Pairs::greater(most, words[k]) : Pairs::less(most, words[k]);
  const unsigned turned = __byte_perm(most, 0, 0x1032);
  most = Greatest ? Pairs::greater(most, turned) : Pairs::less(most, turned);
  T one;
  memcpy(&one, &most, sizeof one);
  return Pairs::widen(one);
#else
  float most = Pairs::widen(v.at[0]);
  for (int k = 1; k < N; ++k) most = Greatest ? fs_maximum(most, Pairs::widen(v.at[k])) : fs_minimum(most, Pairs::widen(v.at[k]));
  return most;
#endif
}
)"},
    {"fs_inverse", R"(// 1 / b for fs_divide, or NaN where that could not rely on it.
__device__ __forceinline__ float fs_inverse(float b) {
  return fabsf(b) > 0x1p-40f && fabsf(b) < 0x1p60f ? __frcp_rn(b) : __int_as_float(0x7fffffff);
}
)"},
    {"fs_divisor", R"(// a / b for many a, within 2 ulp, in two factors: 1 / b alone may be no normal number.
struct fs_Divisor {
  float scale, inverse;
  __device__ __forceinline__ float divide(float a) const { return a * inverse * scale; }
};
__device__ __forceinline__ fs_Divisor fs_divisor(float b) {
  const float scale = fabsf(b) > 0x1p64f ? 0x1p-64f : fabsf(b) < 0x1p-64f ? 0x1p64f : 1.0f;
  return {scale, __frcp_rn(b * scale)};
}
)"},
    {"fs_divide",
     R"(// a / b, rounded once, for many a: two corrections of a · (1 / b) by its exact remainder. Near the ends of the range, or for
// zeros, infinities and NaN, divides.
__device__ __forceinline__ float fs_divide(float a, float b, float inverse) {
  float q = __fmul_rn(a, inverse);
  q = __fmaf_rn(__fmaf_rn(-q, b, a), inverse, q);
  q = __fmaf_rn(__fmaf_rn(-q, b, a), inverse, q);
  return fabsf(q) > 0x1p-60f && fabsf(q) < 0x1p60f ? q : __fdiv_rn(a, b);
}
)"},
    {"fs_add_square", R"(// sum += x², rounded once.
__device__ __forceinline__ void fs_add_square(float& sum, float x) { sum = fmaf(x, x, sum); }
__device__ __forceinline__ void fs_add_square(double& sum, double x) { sum = fma(x, x, sum); }
)"},
    {"fs_commutes",
     R"(// a + b, a · b and the greater of a and b are b's with a to the bit: which of two NaNs comes out is known of 32 bits since sm_80 only.
template <class T>
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
constexpr bool fs_commutes = (T)0.5 == (T)0 || sizeof(T) == 4;
#else
constexpr bool fs_commutes = (T)0.5 == (T)0;
#endif
)"},
    {"fs_Sum", R"(template <class T>
struct fs_Sum {
  static constexpr bool kCommutes = fs_commutes<T>;
  T value;
  __device__ __forceinline__ void add(T x) { value += x; }
  __device__ __forceinline__ void merge(const fs_Sum& other) { value += other.value; }
};
)"},
    {"fs_Prod", R"(template <class T>
struct fs_Prod {
  static constexpr bool kCommutes = fs_commutes<T>;
  T value;
  __device__ __forceinline__ void add(T x) { value *= x; }
  __device__ __forceinline__ void merge(const fs_Prod& other) { value *= other.value; }
};
)"},
    {"fs_Max", R"(template <class T>
struct fs_Max {
  static constexpr bool kCommutes = fs_commutes<T>;
  T value;
  __device__ __forceinline__ void add(T x) { value = fs_maximum(value, x); }
  __device__ __forceinline__ void merge(const fs_Max& other) { add(other.value); }
};
)"},
    {"fs_Min", R"(template <class T>
struct fs_Min {
  static constexpr bool kCommutes = fs_commutes<T>;
  T value;
  __device__ __forceinline__ void add(T x) { value = fs_minimum(value, x); }
  __device__ __forceinline__ void merge(const fs_Min& other) { add(other.value); }
};
)"},
    {"fs_All", R"(template <class T>
struct fs_All {
  static constexpr bool kCommutes = true;
  T value;
  __device__ __forceinline__ void add(T x) { value &= x; }
  __device__ __forceinline__ void merge(const fs_All& other) { add(other.value); }
};
)"},
    {"fs_Any", R"(template <class T>
struct fs_Any {
  static constexpr bool kCommutes = true;
  T value;
  __device__ __forceinline__ void add(T x) { value |= x; }
  __device__ __forceinline__ void merge(const fs_Any& other) { add(other.value); }
};
)"},
    {"fs_ArgMax", R"(// The first of the greatest; a NaN is greater than any number.
template <class T>
struct fs_ArgMax {
  static constexpr bool kCommutes = true;
  T value;
  long long index;
  __device__ __forceinline__ void add(T x, long long i) {
    const bool greater = x > value || (x != x && value == value);
    if (greater || ((x == value || (x != x && value != value)) && i < index)) value = x, index = i;
  }
  __device__ __forceinline__ void merge(const fs_ArgMax& other) { add(other.value, other.index); }
};
)"},
    {"fs_ArgMin", R"(// The first of the least; a NaN is less than any number.
template <class T>
struct fs_ArgMin {
  static constexpr bool kCommutes = true;
  T value;
  long long index;
  __device__ __forceinline__ void add(T x, long long i) {
    const bool less = x < value || (x != x && value == value);
    if (less || ((x == value || (x != x && value != value)) && i < index)) value = x, index = i;
  }
  __device__ __forceinline__ void merge(const fs_ArgMin& other) { add(other.value, other.index); }
};
)"},
    {"fs_share", R"(// a / n for 0 ≤ a ≤ n, within 2 ulp.
__device__ __forceinline__ float fs_share(float a, float n) {
#ifdef __CUDA_ARCH__
  return __fdividef(a, n);
#else
  return a / n;
#endif
}
__device__ __forceinline__ double fs_share(double a, double n) { return a / n; }
)"},
    {"fs_Moments", R"(// Count, mean and Σ (x - mean)², merged by Chan's update.
template <class T>
struct fs_Moments {
  static constexpr bool kCommutes = false;
  T count, mean, squares;
  // Elements that are all looked at, then all taken.
  struct Round {
    unsigned count;
    T mean, squares;
    __device__ __forceinline__ void look(T x) { count += 1, mean += x; }
    __device__ __forceinline__ void take(T x) { fs_add_square(squares, x - mean); }
  };
  __device__ __forceinline__ Round begin() const { return {}; }
  __device__ __forceinline__ void settle(Round& round) const { if (round.count > 0) round.mean /= (T)round.count; }
  __device__ __forceinline__ void end(const Round& round) { merge({(T)round.count, round.mean, round.squares}); }
  __device__ __forceinline__ void merge(const fs_Moments& other) {
    if (other.count == 0) return;
    const T n = count + other.count, d = other.mean - mean, share = fs_share(other.count, n);
    mean = count == 0 ? other.mean : mean + d * share;
    squares += other.squares + (count == 0 ? 0 : d * d * (count * share));
    count = n;
  }
};
)"},
    {"fs_LogSumExp", R"(// exp(d) of a term d ≤ 0 in a sum of at least 1: an error of |d| ulp is less than half an ulp of the sum.
__device__ __forceinline__ float fs_exp_below(float d) { return fs_exp2_approximate(d * 1.44269504f); }
__device__ __forceinline__ double fs_exp_below(double d) { return exp(d); }
__device__ __forceinline__ float fs_log_of(float x) { return logf(x); }
__device__ __forceinline__ double fs_log_of(double x) { return log(x); }
// The greatest element, and the sum of exp(x - greatest).
template <class T>
struct fs_LogSumExp {
  static constexpr bool kCommutes = false;
  T greatest, sum;
  // Elements that are all looked at, then all taken: relative to the greatest so far, which seldom changes.
  struct Round {
    T greatest, base, sum;
    __device__ __forceinline__ void look(T x) { greatest = fs_maximum(greatest, x); }
    __device__ __forceinline__ void take(T x) { sum += fs_exp_below(x - base); }
  };
  __device__ __forceinline__ Round begin() const { return {greatest}; }
  __device__ __forceinline__ void settle(Round& round) {
    if (round.greatest != greatest) sum *= fs_exp_below(greatest - round.greatest), greatest = round.greatest;
    round.base = greatest - greatest == 0 ? greatest : T(0);
    round.sum = sum;
  }
  __device__ __forceinline__ void end(const Round& round) { sum = round.sum; }
  __device__ __forceinline__ void merge(const fs_LogSumExp& other) {
    const T higher = fs_maximum(greatest, other.greatest), lower = greatest == higher ? other.greatest : greatest;
    const T share = lower == higher ? T(1) : fs_exp_below(lower - higher);
    sum = greatest == higher ? sum + other.sum * share : sum * share + other.sum;
    greatest = higher;
  }
  // Σ exp(x - greatest) as it is without shortcuts: infinities have no difference.
  __device__ __forceinline__ T sum_of_differences() const { return greatest - greatest + sum; }
  __device__ __forceinline__ T result() const { return greatest + fs_log_of(sum); }
};
)"},
    {"fs_shuffle", R"(// The value of another lane of the warp, word by word: of lane ^ `flip`, or of lane `from`.
template <class A>
__device__ __forceinline__ A fs_shuffle_xor(A a, int flip) {
  unsigned words[sizeof(A) / 4];
  memcpy(words, &a, sizeof a);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(A) / 4); ++i) words[i] = __shfl_xor_sync(0xffffffffu, words[i], flip);
  memcpy(&a, words, sizeof a);
  return a;
}
template <class A>
__device__ __forceinline__ A fs_shuffle(A a, int from) {
  unsigned words[sizeof(A) / 4];
  memcpy(words, &a, sizeof a);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(A) / 4); ++i) words[i] = __shfl_sync(0xffffffffu, words[i], from);
  memcpy(&a, words, sizeof a);
  return a;
}
)"},
    {"fs_scan_lanes", R"(// The states of the warp's lanes up to and including each one.
template <class A>
__device__ __forceinline__ A fs_scan_lanes(A a) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int from = 1; from < 32; from *= 2) {
    A before = fs_shuffle(a, lane >= from ? lane - from : lane);
    if (lane >= from) before.merge(a), a = before;
  }
  return a;
}
)"},
    {"fs_scan_warp",
     R"(// What comes before each lane, `total` first, and unless Exclusive its own state. `total` takes in those of the whole warp.
template <bool Exclusive, class A>
__device__ __forceinline__ A fs_scan_warp(A a, A& total) {
  const int lane = threadIdx.x % 32;
  a = fs_scan_lanes(a);
  const A before = fs_shuffle(a, lane > 0 ? lane - 1 : 0);
  A result = total;
  if (!Exclusive) result.merge(a);
  else if (lane > 0) result.merge(before);
  total.merge(fs_shuffle(a, 31));
  return result;
}
)"},
    {"fs_scan_share",
     R"(// For a block: each warp leaves its state in `shared`. After a barrier fs_scan_collect gives what fs_scan_warp would.
template <class A>
__device__ __forceinline__ A fs_scan_share(A a, A* shared) {
  a = fs_scan_lanes(a);
  if (threadIdx.x % 32 == 31) shared[threadIdx.x / 32] = a;
  return a;
}
template <bool Exclusive, int W, class A>
__device__ __forceinline__ A fs_scan_collect(A a, A& total, const A* shared) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  A result = total;
#pragma unroll
  for (int w = 0; w < W; ++w) {
    if (w < warp) result.merge(shared[w]);
    total.merge(shared[w]);
  }
  const A before = fs_shuffle(a, lane > 0 ? lane - 1 : 0);
  if (!Exclusive) result.merge(a);
  else if (lane > 0) result.merge(before);
  return result;
}
)"},
    {"fs_scan_block", R"(// The same as fs_scan_warp for a block of W warps.
template <bool Exclusive, int W, class A>
__device__ __forceinline__ A fs_scan_block(A a, A& total, A* shared) {
  a = fs_scan_share(a, shared);
  __syncthreads();
  const A result = fs_scan_collect<Exclusive, W>(a, total, shared);
  __syncthreads();  // before the next states
  return result;
}
)"},
    {"fs_key_before", R"(// NaN is greatest.
template <bool Descending, class K>
__device__ __forceinline__ bool fs_key_before(K a, K b) {
  return Descending ? b < a || (a != a && b == b) : a < b || (b != b && a == a);
}
)"},
    {"fs_sort_by_counting",
     R"(// order[k]: which of n ≤ N keys in shared memory comes k-th; of equals the first. T threads, a warp or the block; some count for one
// key together.
template <int N, int T, bool Descending, class K>
__device__ __forceinline__ void fs_sort_by_counting(const K* keys, unsigned short* order, int n) {
  constexpr int G = T >= 8 * N ? 8 : T > N ? T / N : 1;
  const int member = threadIdx.x % T;
  for (int first = 0; first < n; first += T / G) {
    const int i = first + member / G;
    const K mine = keys[i < n ? i : 0];
    int before = 0, j = member % G;
#pragma unroll 4
    for (; j < n && j < i; j += G) before += !fs_key_before<Descending>(mine, keys[j]);
#pragma unroll 4
    for (; j < n; j += G) before += fs_key_before<Descending>(keys[j], mine);
#pragma unroll
    for (int flip = 1; flip < G; flip *= 2) before += __shfl_xor_sync(0xffffffffu, before, flip);
    if (i < n && member % G == 0) order[before] = (unsigned short)i;
  }
  if constexpr (T == 32) __syncwarp();
  else __syncthreads();
}
)"},
    {"fs_sort_by_merging",
     R"(// As fs_sort_by_counting, in runs of 32 keys; then each key of a run looks for its place among those of the run beside it. Returns the
// order, in one of its two arrays.
template <int N, int T, bool Descending, class K>
__device__ __forceinline__ unsigned short* fs_sort_by_merging(const K* keys, unsigned short* order, unsigned short* spare, int n) {
  for (int i = threadIdx.x; i < n; i += T) {
    const int begin = i / 32 * 32, end = begin + 32 < n ? begin + 32 : n;
    const K mine = keys[i];
    int at = begin, j = begin;
    for (; j < i; ++j) at += !fs_key_before<Descending>(mine, keys[j]);
    for (; j < end; ++j) at += fs_key_before<Descending>(keys[j], mine);
    order[at] = (unsigned short)i;
  }
  __syncthreads();
#pragma unroll
  for (int run = 32; run < N; run *= 2) {
    for (int p = threadIdx.x; p < n; p += T) {
      const int middle = p / (2 * run) * (2 * run) + run;
      const bool second = p >= middle;
      const int begin = second ? middle - run : middle < n ? middle : n, end = second ? middle : middle + run < n ? middle + run : n;
      const int i = order[p];
      const K mine = keys[i];
      int low = begin, high = end;
      while (low < high) {
        const int probe = (low + high) / 2;
        const K other = keys[order[probe]];
        if (second ? !fs_key_before<Descending>(mine, other) : fs_key_before<Descending>(other, mine)) low = probe + 1;
        else high = probe;
      }
      spare[p + (low - begin) - (second ? run : 0)] = (unsigned short)i;
    }
    __syncthreads();
    unsigned short* const sorted = spare;
    spare = order, order = sorted;
  }
  return order;
}
)"},
    {"fs_relaxed", R"(// Words that other blocks change while this one runs.
__device__ __forceinline__ int fs_relaxed(const int* p) {
  int value;
  asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
)"},
    {"fs_post", R"(__device__ __forceinline__ void fs_post(int* p, int value) {
  asm volatile("st.relaxed.gpu.s32 [%0], %1;" : : "l"(p), "r"(value) : "memory");
}
)"},
    {"fs_take_ticket",
     R"(// Tiles go to blocks as these come for them: whoever waits for a tile before its own waits for a block that runs or has ended.
__device__ __forceinline__ int fs_take_ticket(int* next) {
  __shared__ int ticket;
  if (threadIdx.x == 0) {
    int taken;
    asm volatile("atom.relaxed.gpu.add.s32 %0, [%1], %2;" : "=r"(taken) : "l"(next), "r"(1) : "memory");
    ticket = taken;
  }
  __syncthreads();
  return ticket;
}
)"},
    {"fs_take_number", R"(// As fs_take_ticket, over all launches: blocks and launches follow each other in the order of their numbers.
__device__ __forceinline__ unsigned long long fs_take_number(unsigned long long* next) {
  __shared__ unsigned long long number;
  if (threadIdx.x == 0) number = atomicAdd(next, 1ull);
  __syncthreads();
  return number;
}
)"},
    {"fs_published",
     R"(// Values that other blocks await, with a tag, 32 bits of each in a word: a word is seen as a whole, and words of one tag belong together.
template <int W, class V>
__device__ __forceinline__ void fs_publish(unsigned long long* words, unsigned tag, V value) {
  const unsigned long long bits = (unsigned long long)value;
#pragma unroll
  for (int w = 0; w < W; ++w)
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" : : "l"(words + w), "l"((unsigned long long)tag << 32 | (bits >> 32 * w & 0xffffffffu)) : "memory");
}
template <int W, class V>
__device__ __forceinline__ unsigned fs_published(const unsigned long long* words, V& value) {
  while (true) {
    unsigned long long low, high;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(low) : "l"(words) : "memory");
    if constexpr (W == 1) high = low;
    else asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(high) : "l"(words + 1) : "memory");
    if (low >> 32 != high >> 32) continue;
    value = W == 1 ? (V)(unsigned)low : (V)(high << 32 | (low & 0xffffffffu));
    return (unsigned)(low >> 32);
  }
}
)"},
    {"fs_look_back_scan",
     R"(// What comes before a chunk of a row in the order of a scan, for all threads of the block. A chunk publishes what it gives by itself, and
// then, as a whole, what the row gives up to its end; 32 chunks are asked at a time, and none before one that has told the whole.
template <int W, class A>
__device__ __forceinline__ A fs_look_back_scan(unsigned long long* words, int chunk, unsigned launch, A own, A start) {
  const unsigned by_itself = 2 * launch + 1, whole = by_itself + 1;
  __shared__ A found;
  if (threadIdx.x == 0) fs_publish<W>(words, chunk == 0 ? whole : by_itself, own.value);
  if (threadIdx.x < 32) {
    A before = start;
    for (int last = chunk - 1; last >= 0; last -= 32) {
      const int asked = last - (int)threadIdx.x;
      A other = start;
      unsigned tag = whole;
      if (asked >= 0) {
        do tag = fs_published<W>(words - (long long)(chunk - asked) * W, other.value);
        while (tag != by_itself && tag != whole);
      }
      const unsigned told = __ballot_sync(0xffffffffu, tag == whole);
      if (told == 0 || (int)threadIdx.x < __ffs(told)) before.merge(other);
      if (told != 0) break;
    }
#pragma unroll
    for (int flip = 1; flip < 32; flip *= 2) before.merge(fs_shuffle_xor(before, flip));
    if (threadIdx.x == 0) {
      found = before;
      own.merge(before);
      if (chunk > 0) fs_publish<W>(words, whole, own.value);
    }
  }
  __syncthreads();
  return found;
}
)"},
    {"fs_finish_tile", R"(// Counts a tile in `done`. Whoever waits for that many sees what the block has written.
__device__ __forceinline__ void fs_finish_tile(int* done) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(done, 1);
  }
}
)"},
    {"fs_await_tiles", R"(// Waits until `done` counts so many.
__device__ __forceinline__ void fs_await_tiles(const int* done, int tiles) {
  if (threadIdx.x == 0) {
    int finished = 0;
    while (true) {
      asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(finished) : "l"(done) : "memory");
      if (finished >= tiles) break;
      __nanosleep(32);
    }
  }
  __syncthreads();
}
)"},
    {"fs_raw", R"(// The bits of a value.
template <class B, class V>
__device__ __forceinline__ B fs_raw(V value) {
  B bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
)"},
    {"fs_value", R"(// The value of such bits.
template <class V, class B>
__device__ __forceinline__ V fs_value(B bits) {
  V value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
)"},
    {"fs_ordered_integer", R"(// Bits of N-bit values as unsigned numbers that are in the order of the values.
template <int N, class B>
__device__ __forceinline__ B fs_ordered_integer(B bits) { return bits ^ (B)1 << (N - 1); }
)"},
    {"fs_ordered_float", R"(// Bits of N-bit values as unsigned numbers that are in the order of the values.
// NaN, above `infinity`, is greatest, and -0 is +0.
template <int N, class B>
__device__ __forceinline__ B fs_ordered_float(B bits, B infinity) {
  const B sign = (B)1 << (N - 1), magnitude = bits & (sign - 1);
  if (magnitude > infinity) return sign | (sign - 1);
  if (magnitude == 0) return sign;
  return bits & sign ? sign - 1 - magnitude : bits | sign;
}
)"},
    {"fs_tally_digits",
     R"(// Counts the values of all P digits of a tile's keys in `tally`. A digit that a warp's keys share takes one update.
template <int P, int T, int I, class F>
__device__ __forceinline__ void fs_tally_digits(int* tally, unsigned* counts, int begin, int n, F key_at) {
  for (int i = threadIdx.x; i < P * 256; i += T) counts[i] = 0;
  __syncthreads();
  using B = decltype(key_at(0));
  B key[I], any = 0, all = ~(B)0;
  int mine = 0;
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int p = begin + k * T + threadIdx.x;
    key[k] = p < n ? key_at(p) : 0;
    if (p < n) any |= key[k], all &= key[k], ++mine;
  }
#pragma unroll
  for (int flip = 1; flip < 32; flip *= 2) {
    any |= __shfl_xor_sync(0xffffffffu, any, flip);
    all &= __shfl_xor_sync(0xffffffffu, all, flip);
    mine += __shfl_xor_sync(0xffffffffu, mine, flip);
  }
#pragma unroll
  for (int d = 0; d < P; ++d) {
    if (((any ^ all) >> 8 * d & 255) == 0) {
      if (threadIdx.x % 32 == 0 && mine > 0) atomicAdd(&counts[d * 256 + (int)(all >> 8 * d & 255)], (unsigned)mine);
      continue;
    }
#pragma unroll
    for (int k = 0; k < I; ++k)
      if (begin + k * T + (int)threadIdx.x < n) atomicAdd(&counts[d * 256 + (int)(key[k] >> 8 * d & 255)], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < P * 256; i += T)
    if (counts[i] != 0) asm volatile("red.relaxed.gpu.add.s32 [%0], %1;" : : "l"(tally + i), "r"((int)counts[i]) : "memory");
}
)"},
    {"fs_find_turn",
     R"(// What the turn-th turn sorts by: the turn-th of the digits in which the n keys of a row differ, the least one where they do not.
struct fs_Turn {
  int digit = -1;  // none is left
  bool last = false;
};
template <int P>
__device__ __forceinline__ fs_Turn fs_find_turn(const int* tally, int turn, int n) {
  __shared__ int shared_by_all;
  if (threadIdx.x == 0) shared_by_all = 0;
  __syncthreads();
  int mine = 0;
  if (threadIdx.x < 256) {
#pragma unroll
    for (int d = 0; d < P; ++d)
      if (fs_relaxed(tally + d * 256 + threadIdx.x) == n) mine |= 1 << d;
  }
  if (mine != 0) atomicOr(&shared_by_all, mine);
  __syncthreads();
  int differ = ~shared_by_all & ((1 << P) - 1);
  if (differ == 0) differ = 1;
  fs_Turn found;
#pragma unroll
  for (int d = 0; d < P; ++d)
    if ((differ >> d & 1) && turn-- == 0) found.digit = d, found.last = differ >> d == 1;
  return found;
}
)"},
    {"fs_rank_digit",
     R"(// How many keys of the warp had this digit before the lane's one; `counts`, of its digits, takes in those of the 32 lanes.
__device__ __forceinline__ int fs_rank_digit(int digit, unsigned short* counts) {
  unsigned same = 0xffffffffu;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    const unsigned with = __ballot_sync(0xffffffffu, digit >> bit & 1);
    same &= digit >> bit & 1 ? with : ~with;
  }
  const int lane = threadIdx.x % 32, last = 31 - __clz(same);
  int before = 0;
  if (lane == last) {
    before = counts[digit];
    counts[digit] = (unsigned short)(before + __popc(same));
  }
  __syncwarp();  // before the next lane that counts this digit
  return __shfl_sync(0xffffffffu, before, last) + __popc(same & ((1u << lane) - 1));
}
)"},
    {"fs_sum_before", R"(// The sum of what the threads before, of the first 256, have.
__device__ __forceinline__ long long fs_sum_before(long long mine) {
  __shared__ long long sums[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  long long sum = mine;
#pragma unroll
  for (int from = 1; from < 32; from *= 2) {
    const long long before = __shfl_up_sync(0xffffffffu, sum, from);
    if (lane >= from) sum += before;
  }
  if (lane == 31 && warp < 8) sums[warp] = sum;
  __syncthreads();
  sum -= mine;
#pragma unroll
  for (int w = 0; w < 8; ++w)
    if (w < warp) sum += sums[w];
  return sum;
}
)"},
    {"fs_look_back",
     R"(// How often a digit's value occurs in the tiles before: each posts what it holds itself, then what all up to it hold.
// A of them are asked at a time.
constexpr int fs_kCounted = 1 << 29, fs_kSummed = 1 << 30;
template <int A>
__device__ __forceinline__ int fs_look_back(const int* flags, int tile) {
  int sum = 0;
  for (int last = tile - 1; last >= 0; last -= A) {
    int words[A];
#pragma unroll
    for (int k = 0; k < A; ++k) words[k] = last >= k ? fs_relaxed(flags + (last - k) * 256) : fs_kSummed;
#pragma unroll
    for (int k = 0; k < A; ++k) {
      while (words[k] == 0) words[k] = fs_relaxed(flags + (last - k) * 256);
      sum += words[k] & (fs_kCounted - 1);
      if (words[k] & fs_kSummed) return sum;
    }
  }
  return sum;
}
)"},
    {"fs_place_digits",
     R"(// From the counts of each warp: where its keys of a digit go in the tile (`starts` plus `counts`), and from there in the row (`places`).
template <int T, int A>
__device__ __forceinline__ void fs_place_digits(unsigned short* counts, int* starts, int* places, const int* tally, int* flags, int tile) {
  const int d = threadIdx.x;
  int own = 0;
  if (d < 256) {
#pragma unroll
    for (int w = 0; w < T / 32; ++w) {
      const int of_warp = counts[w * 256 + d];
      counts[w * 256 + d] = (unsigned short)own;
      own += of_warp;
    }
    fs_post(flags + tile * 256 + d, own | (tile == 0 ? fs_kSummed : fs_kCounted));
  }
  const long long sums = fs_sum_before(d < 256 ? (long long)fs_relaxed(tally + d) << 32 | own : 0);
  if (d < 256) {
    const int before = fs_look_back<A>(flags + d, tile);
    if (tile > 0) fs_post(flags + tile * 256 + d, (before + own) | fs_kSummed);
    starts[d] = (int)(sums & 0xffffffff);
    places[d] = (int)(sums >> 32) + before - starts[d];
  }
}
)"},
    {"fs_stage", R"(// A key among N in shared memory, word by word.
template <int N, class B>
__device__ __forceinline__ void fs_stage(unsigned* staged, int at, B key) {
  staged[at] = (unsigned)key;
  if constexpr (sizeof(B) == 8) staged[N + at] = (unsigned)(key >> 32);
}
template <int N, class B>
__device__ __forceinline__ void fs_take_staged(const unsigned* staged, int at, B& key) {
  key = staged[at];
  if constexpr (sizeof(B) == 8) key |= (B)staged[N + at] << 32;
}
)"},
    {"fs_sort_tile",
     R"(// The `left` keys of a tile, I of each thread (32 apart, its warp's after each other), in the order of a digit: afterwards T apart, with
// their places in the row. What they come from moves along.
template <int T, int I, int A, class B, class F>
__device__ __forceinline__ void fs_sort_tile(B (&key)[I], int (&from)[I], int (&place)[I], unsigned* staged, const int* tally, int* flags,
                                             int tile, int left, F digit_of) {
  __shared__ unsigned short counts[T / 32 * 256];
  __shared__ int starts[256];
  __shared__ int places[256];
  const int first = threadIdx.x / 32 * (32 * I) + threadIdx.x % 32;
  unsigned short* const mine = counts + threadIdx.x / 32 * 256;
  for (int i = threadIdx.x % 32; i < 256; i += 32) mine[i] = 0;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < I; ++k) place[k] = fs_rank_digit(first + 32 * k < left ? digit_of(key[k]) : 255, mine);
  __syncthreads();
  fs_place_digits<T, A>(counts, starts, places, tally, flags, tile);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int digit = first + 32 * k < left ? digit_of(key[k]) : 255;
    place[k] += starts[digit] + mine[digit];
    fs_stage<T * I>(staged, place[k], key[k]);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < I; ++k) fs_take_staged<T * I>(staged, k * T + threadIdx.x, key[k]);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < I; ++k) {
    staged[place[k]] = (unsigned)from[k];
    place[k] = places[digit_of(key[k])] + k * T + (int)threadIdx.x;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < I; ++k) from[k] = (int)staged[k * T + threadIdx.x];
}
)"},
    {"fs_merge_lanes", R"(// Merges the states of G neighbouring lanes; all of them get the first one's result.
template <int G, class A>
__device__ __forceinline__ A fs_merge_lanes(A a) {
#pragma unroll
  for (int flip = 1; flip < G; flip *= 2) a.merge(fs_shuffle_xor(a, flip));
  if constexpr (A::kCommutes) return a;  // to the bit
  return fs_shuffle(a, (int)threadIdx.x % 32 / G * G);
}
)"},
    {"fs_share_row", R"(// Each warp's states merged into one, for the others to see after a barrier.
template <class A>
__device__ __forceinline__ void fs_share_row(A a, A* shared) {
  a = fs_merge_lanes<32>(a);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = a;
}
)"},
    {"fs_collect_row",
     R"(// The states that the warps of G neighbouring threads share, merged in the order of fs_merge_lanes. Cheap ones in few shuffles.
template <int G, class A>
__device__ __forceinline__ A fs_collect_row(const A* shared) {
  constexpr int kWarps = G / 32, kEach = !A::kCommutes ? 1 : kWarps <= 8 ? kWarps : 4;
  A a[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) a[i] = shared[threadIdx.x / G * kWarps + threadIdx.x % (kWarps / kEach) * kEach + i];
#pragma unroll
  for (int step = 1; step < kEach; step *= 2)
#pragma unroll
    for (int i = 0; i + step < kEach; i += 2 * step) a[i].merge(a[i + step]);
  return fs_merge_lanes<kWarps / kEach>(a[0]);
}
)"},
    {"fs_merge_column", R"(// Merges the states of threads R apart, G of them, for N lanes; all of them get the results.
template <int G, int R, class A, int N>
__device__ __forceinline__ void fs_merge_column(A (&a)[N]) {
  __shared__ A shared[N][G * R];
#pragma unroll
  for (int k = 0; k < N; ++k) shared[k][threadIdx.x] = a[k];
#pragma unroll
  for (int half = G / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half * R) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        a[k].merge(shared[k][threadIdx.x + half * R]);
        shared[k][threadIdx.x] = a[k];
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k) a[k] = shared[k][threadIdx.x % R];
  __syncthreads();
}
)"},
    {"fs_cluster_barrier", R"(// Waits for all blocks of the cluster; what they wrote before is seen after.
__device__ __forceinline__ void fs_cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
)"},
    {"fs_merge_cluster",
     R"(// Merges the states of the cluster's B blocks, in the same order everywhere; all threads get the result. `mine`: in shared memory.
template <int B, class A>
__device__ __forceinline__ A fs_merge_cluster(A a, A* mine) {
  if (threadIdx.x == 0) *mine = a;
  fs_cluster_barrier();
  A all;
#pragma unroll
  for (int block = 0; block < B; ++block) {
    unsigned words[sizeof(A) / 4], from;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(from) : "r"((unsigned)__cvta_generic_to_shared(mine)), "r"(block));
#pragma unroll
    for (int i = 0; i < (int)(sizeof(A) / 4); ++i)
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(words[i]) : "r"(from + 4 * i));
    A other;
    memcpy(&other, words, sizeof other);
    if (block == 0) all = other;
    else all.merge(other);
  }
  return all;
}
)"},
    {"fs_last_block",
     R"(// True in the last of `blocks` blocks that come here: it sees what all of them wrote before. Leaves the ticket at 0.
__device__ __forceinline__ bool fs_last_block(unsigned* ticket, unsigned blocks) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(ticket, blocks - 1) == blocks - 1;
  __syncthreads();
  __threadfence();
  return is_last;
}
)"},
};

bool is_identifier_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool mentions(std::string_view code, std::string_view name) {
  for (size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1)) {
    const bool starts = at == 0 || !is_identifier_char(code[at - 1]);
    const size_t end = at + name.size();
    if (starts && (end == code.size() || !is_identifier_char(code[end]))) return true;
  }
  return false;
}

}  // namespace

std::string prelude_for(const std::string& code) {
  constexpr size_t kCount = sizeof kEntries / sizeof *kEntries;
  std::vector<bool> needed(kCount);
  std::string functions;
  // Backwards, so that what an entry needs (above it) is seen before it is asked for.
  for (size_t i = kCount; i-- > 0;) {
    needed[i] = mentions(code, kEntries[i].name);
    for (size_t user = i + 1; user < kCount && !needed[i]; ++user)
      needed[i] = needed[user] && mentions(kEntries[user].text, kEntries[i].name);
  }
  for (size_t i = 0; i < kCount; ++i)
    if (needed[i]) functions += std::string(kEntries[i].text) + "\n";
  const std::string all = code + functions;
  auto contains = [&](std::string_view s) { return all.find(s) != std::string::npos; };
  std::string includes;
  if (contains("__nv_cvt_")) includes += "#include <cuda_fp8.h>\n";
  if (contains("bfloat16")) includes += "#include <cuda_bf16.h>\n";
  if (contains("__half")) includes += "#include <cuda_fp16.h>\n";
  if (!includes.empty()) includes += "\n";
  if (contains("INFINITY")) includes += "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n\n";
  return includes + functions;
}

}  // namespace fusec
