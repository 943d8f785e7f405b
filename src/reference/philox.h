// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011),
// and the numbers that `uniform` and `normal` make of its words.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "graph/dtype.h"

namespace fusec::reference {

using PhiloxWords = std::array<uint32_t, 4>;

constexpr PhiloxWords philox4x32_10(PhiloxWords counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0], p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {uint32_t(p1 >> 32) ^ counter[1] ^ key[0], uint32_t(p1), uint32_t(p0 >> 32) ^ counter[3] ^ key[1], uint32_t(p0)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

// The four words of counter block `block` of a stream.
constexpr PhiloxWords philox_block(uint64_t seed, uint64_t stream, uint64_t block) {
  return philox4x32_10({uint32_t(block), uint32_t(block >> 32), uint32_t(stream), uint32_t(stream >> 32)},
                       {uint32_t(seed), uint32_t(seed >> 32)});
}

// Two words as one, the first one high.
constexpr uint64_t word_pair(const PhiloxWords& words, size_t first) { return uint64_t{words[first]} << 32 | words[first + 1]; }

// The number of leading bits of a word that `uniform` keeps: every multiple of 2^-p in [0, 1) is a value of the dtype.
constexpr int uniform_bits(DType t) {
  switch (t) {
    case DType::kF8E5M2:
      return 3;
    case DType::kF8E4M3:
      return 4;
    case DType::kBF16:
      return 8;
    case DType::kF16:
      return 11;
    case DType::kF64:
      return 53;
    default:
      return 24;
  }
}

// Box–Muller of u in (0, 1] and an angle in half turns: {r cos πh, r sin πh}.
inline std::array<double, 2> box_muller(double u, double half_turns) {
  const double r = std::sqrt(-2 * std::log(u)), angle = 3.14159265358979323846 * half_turns;
  return {r * std::cos(angle), r * std::sin(angle)};
}
// The same in f32: each step is rounded to it, and the functions are within a hair of correctly rounded.
inline std::array<float, 2> box_muller(float u, float half_turns) {
  const float r = std::sqrt(-2 * static_cast<float>(std::log(static_cast<double>(u))));
  const double angle = 3.14159265358979323846 * static_cast<double>(half_turns);
  return {r * static_cast<float>(std::cos(angle)), r * static_cast<float>(std::sin(angle))};
}

// The four normal numbers of a block, in T, of its word pairs (w0, w1) and (w2, w3).
template <class T>
std::array<T, 4> normals(const PhiloxWords& w) {
  auto pair = [&](size_t i) { return box_muller(static_cast<T>(uint64_t{w[i]} + 1) * T(0x1p-32), static_cast<T>(w[i + 1]) * T(0x1p-31)); };
  const auto a = pair(0), b = pair(2);
  return {a[0], a[1], b[0], b[1]};
}

}  // namespace fusec::reference
