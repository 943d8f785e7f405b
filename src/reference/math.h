// The functions that the reference column of ops.def calls by name. T is float, double or an integer type.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fusec::reference {

// The unsigned type in which T's arithmetic wraps (at least 32 bits, so that no product is promoted to a signed int).
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// --- division, as in PyTorch: floats through fmod, which is exact
template <std::floating_point T>
T remainder(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

template <std::floating_point T>
T floor_div(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T floor = std::floor(quotient);
  return quotient - floor > T(0.5) ? floor + 1 : floor;
}

template <std::integral T>
T trunc_div(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return T(Wrapping<T>(0) - Wrapping<T>(a));
  return T(a / b);
}

template <std::integral T>
T trunc_mod(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return T(a % b);
}

template <std::integral T>
T floor_div(T a, T b) {
  const T rest = trunc_mod(a, b), quotient = trunc_div(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? T(quotient - 1) : quotient;
}

template <std::integral T>
T ceil_div(T a, T b) {
  const T rest = trunc_mod(a, b), quotient = trunc_div(a, b);
  return rest != 0 && (rest < 0) == (b < 0) ? T(quotient + 1) : quotient;
}

template <std::integral T>
T remainder(T a, T b) {
  const T rest = trunc_mod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
}

// --- integers
template <std::integral T>
T int_pow(T base, T exponent) {
  using U = Wrapping<T>;
  if (exponent < 0) {
    if (base == 1) return 1;
    if constexpr (std::is_signed_v<T>)
      if (base == -1) return exponent % 2 == 0 ? T(1) : T(-1);
    return 0;
  }
  U result = 1, power = U(base);
  for (U e = U(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= power;
    power *= power;
  }
  return T(result);
}

template <std::integral T>
T shift_left(T a, T by) {
  constexpr int kWidth = 8 * sizeof(T);
  return by < 0 || by >= kWidth ? T(0) : T(Wrapping<T>(a) << by);
}

template <std::integral T>
T shift_right(T a, T by) {
  constexpr int kWidth = 8 * sizeof(T);
  if (by < 0 || by >= kWidth) return a < 0 ? T(-1) : T(0);
  return T(a >> by);
}

template <std::integral T>
T bitwise_not(T a) {
  if constexpr (std::is_same_v<T, bool>) return !a;
  else return T(~a);
}

// --- order: NaN if either is, and -0 below +0
template <class T>
T maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

template <class T>
T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

// --- special functions. float is computed in double; double in long double where an argument's rounding would be amplified.
template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

inline double sigmoid(double x) {
  // Never an infinite exponential: the small side keeps its relative accuracy.
  const double e = std::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// (x·sigmoid(x) and its kin tend to -0 at -∞, where the product would be NaN.)
template <std::floating_point T>
T silu(T x) {
  using W = Wider<T>;
  if (x == -std::numeric_limits<T>::infinity()) return T(-0.0);
  const W e = std::exp(-std::fabs(W(x)));
  return T(W(x) * (x < 0 ? e / (1 + e) : 1 / (1 + e)));
}

template <std::floating_point T>
T gelu_erf(T x) {
  using W = Wider<T>;
  if (x == -std::numeric_limits<T>::infinity()) return T(-0.0);
  constexpr W kHalfRoot = 0.707106781186547524400844362104849039L;  // √½
  return T(W(0.5) * W(x) * std::erfc(-W(x) * kHalfRoot));
}

// ½·x·(1 + tanh u) = x·sigmoid(2u), u = √(2/π)·(x + 0.044715·x³)
template <std::floating_point T>
T gelu_tanh(T x) {
  using W = Wider<T>;
  if (x == -std::numeric_limits<T>::infinity()) return T(-0.0);
  constexpr W kTwiceRoot = 1.595769121605730711759542623797966063L;  // 2·√(2/π)
  const W w = x, u = kTwiceRoot * (w + W(0.044715L) * w * w * w), e = std::exp(-std::fabs(u));
  return T(w * (u < 0 ? e / (1 + e) : 1 / (1 + e)));
}

double erfinv(double y);
double log_gamma(double x);

}  // namespace fusec::reference
