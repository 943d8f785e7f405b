// Conversions between all element types: each rounds once, from the exact source value, to nearest even.
// f8 saturates to its finite range; float → integer truncates, saturates and takes NaN to 0; integer → integer keeps the low bits.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "graph/dtype.h"
#include "graph/graph.h"

namespace fusec {

// A quad-precision type where the compiler has one: exact sums of an index times a step.
#ifdef __SIZEOF_FLOAT128__
using Quad = __float128;
#else
using Quad = long double;
#endif

// Memory formats that C++ has no type for.
struct Bool8 {
  uint8_t byte;
};
template <int exponent_bits, int mantissa_bits, bool has_infinity>
struct NarrowFloat {
  static constexpr int kMantissa = mantissa_bits, kBias = (1 << (exponent_bits - 1)) - 1;
  static constexpr bool kHasInfinity = has_infinity;  // e4m3: only NaN beyond the finite values
  static constexpr bool kSaturates = exponent_bits + mantissa_bits < 8;
  using Bits = std::conditional_t<(exponent_bits + mantissa_bits < 8), uint8_t, uint16_t>;
  static constexpr uint32_t kMaxFinite =
      has_infinity ? (((1u << exponent_bits) - 1) << mantissa_bits) - 1 : (1u << (exponent_bits + mantissa_bits)) - 2;
  static constexpr uint32_t kNan =
      has_infinity ? (((2u << exponent_bits) - 1) << (mantissa_bits - 1)) : (1u << (exponent_bits + mantissa_bits)) - 1;
  Bits bits;
};
using F8E4M3 = NarrowFloat<4, 3, false>;
using F8E5M2 = NarrowFloat<5, 2, true>;
using F16 = NarrowFloat<5, 10, true>;
using BF16 = NarrowFloat<8, 7, true>;

template <class T>
inline constexpr bool kIsNarrowFloat = false;
template <int e, int m, bool i>
inline constexpr bool kIsNarrowFloat<NarrowFloat<e, m, i>> = true;

// --- narrow float → float: always exact
template <class Narrow>
inline float decode_narrow(Narrow x) {
  constexpr int kM = Narrow::kMantissa, kBias = Narrow::kBias, kWidth = 8 * sizeof(x.bits);
  const uint32_t sign = uint32_t(x.bits) >> (kWidth - 1) << 31, magnitude = x.bits & ((1u << (kWidth - 1)) - 1);
  if constexpr (kBias == 127) {
    return std::bit_cast<float>(sign | magnitude << (23 - kM));
  } else {
    // Placed in the float's exponent field the value is 2^(127 - bias) too small; denormals come out right by the product as well.
    constexpr float kScale = std::bit_cast<float>(uint32_t(127 + 127 - kBias) << 23);
    const uint32_t value = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << (23 - kM)) * kScale);
    const uint32_t special = Narrow::kHasInfinity ? 0x7f800000u | magnitude << (23 - kM) : 0x7fc00000u;
    return std::bit_cast<float>(sign | (magnitude > Narrow::kMaxFinite ? special : value));
  }
}

// --- float → narrow float: one rounding to nearest even
template <class Narrow>
inline Narrow encode_narrow(float x) {
  constexpr int kM = Narrow::kMantissa, kBias = Narrow::kBias, kShift = 23 - kM, kWidth = 8 * sizeof(typename Narrow::Bits);
  const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu, sign = bits >> 31 << (kWidth - 1);
  // Normal results: re-bias the exponent and add just less than half a unit, a half when the kept part is odd.
  const uint32_t odd = magnitude >> kShift & 1;
  const uint32_t normal = (magnitude - (uint32_t(127 - kBias) << 23) + (1u << (kShift - 1)) - 1 + odd) >> kShift;
  uint32_t result = normal;
  if constexpr (kBias != 127) {
    // Denormal results: adding a number whose last bit weighs as much as theirs makes the float adder round.
    constexpr uint32_t kMagic = uint32_t(127 + 24 - kBias - kM) << 23, kLeastNormal = uint32_t(127 + 1 - kBias) << 23;
    const uint32_t small = magnitude < kLeastNormal ? magnitude : 0;
    const uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(small) + std::bit_cast<float>(kMagic)) - kMagic;
    result = magnitude < kLeastNormal ? denormal : normal;
    constexpr uint32_t kGreatest = Narrow::kSaturates ? Narrow::kMaxFinite : Narrow::kMaxFinite + 1;
    result = result < kGreatest ? result : kGreatest;
  }
  result = magnitude > 0x7f800000u ? Narrow::kNan : result;
  return Narrow{static_cast<typename Narrow::Bits>(sign | result)};
}

// x as a To, truncated, its last bit set when anything was cut off: rounding the result again to a format at least two bits
// narrower is as good as rounding x once.
template <std::floating_point To, class From>
inline To round_to_odd(From x) {
  using Bits = std::conditional_t<sizeof(To) == 4, uint32_t, uint64_t>;
  using Wide = std::conditional_t<std::is_integral_v<From>, std::conditional_t<(sizeof(From) < 8), double, long double>, From>;
  const To nearest = static_cast<To>(x);
  if (nearest != nearest || Wide(nearest) == Wide(x)) return nearest;
  Bits bits = std::bit_cast<Bits>(nearest);
  const bool away_from_zero = x > 0 ? Wide(nearest) > Wide(x) : Wide(nearest) < Wide(x);
  if (away_from_zero) --bits;  // an infinity becomes the greatest finite number
  return std::bit_cast<To>(bits | 1);
}

template <std::integral To, class From>
inline To truncate_to_int(From x) {
  constexpr From kLeast = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From kBeyond = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;  // a power of two
  if (x != x) return 0;
  if (x <= kLeast) return std::numeric_limits<To>::min();
  if (x >= kBeyond) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

// The C++ value of a stored element (a float for narrow floats, a bool for Bool8).
template <class Stored>
inline auto value_of(Stored x) {
  if constexpr (std::is_same_v<Stored, Bool8>) return x.byte != 0;
  else if constexpr (kIsNarrowFloat<Stored>) return decode_narrow(x);
  else return x;
}

// An element of type To from a C++ value: bool, an integer, float, double, long double or Quad.
template <class To, class From>
inline To stored_as(From x) {
  constexpr bool kFromInt = std::is_integral_v<From>;
  if constexpr (std::is_same_v<To, Bool8>) return Bool8{x != From(0)};
  else if constexpr (std::is_integral_v<To> && kFromInt) return static_cast<To>(x);
  else if constexpr (std::is_integral_v<To>) return truncate_to_int<To>(x);
  else if constexpr (!kIsNarrowFloat<To>) return static_cast<To>(x);
  else if constexpr (std::is_same_v<From, float> || (kFromInt && sizeof(From) <= 2)) return encode_narrow<To>(static_cast<float>(x));
  else return encode_narrow<To>(round_to_odd<float>(x));
}

// Calls f with a value of the storage type of `t`.
template <class F>
inline decltype(auto) with_stored_type(DType t, F&& f) {
  switch (t) {
    case DType::kBool:
      return f(Bool8{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kF8E4M3:
      return f(F8E4M3{});
    case DType::kF8E5M2:
      return f(F8E5M2{});
    case DType::kF16:
      return f(F16{});
    case DType::kBF16:
      return f(BF16{});
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      break;
  }
  return f(double{});
}

// One value, stored as an element of `t` at `out`.
template <class From>
inline void store(From value, DType t, void* out) {
  with_stored_type(t, [&]<class To>(To) { *static_cast<To*>(out) = stored_as<To>(value); });
}
// A literal, converted once from what was written.
void store(const Literal& literal, DType t, void* out);

// n elements of `from` at `src` to `to` at `dst`.
void convert(DType from, const void* src, DType to, void* dst, int64_t n);

}  // namespace fusec
