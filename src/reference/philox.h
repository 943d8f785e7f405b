// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011),
// and the numbers that `uniform` and `normal` make of its words.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

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

// Two words as one, the first one low.
constexpr uint64_t word_pair(const PhiloxWords& words, size_t first) { return words[first] | uint64_t{words[first + 1]} << 32; }

// Box–Muller of u in (0, 1] and an angle in turns: {r cos θ, r sin θ}. Each step is rounded in T, functions are correctly rounded nearly always.
inline std::array<float, 2> box_muller(float u, float turns) {
  const float r = std::sqrt(-2 * static_cast<float>(std::log(double{u})));
  const float theta = 6.28318530717958647692f * turns;
  return {r * static_cast<float>(std::cos(double{theta})), r * static_cast<float>(std::sin(double{theta}))};
}
inline std::array<double, 2> box_muller(double u, double turns) {
  const double r = std::sqrt(-2 * std::log(u)), theta = 6.28318530717958647692 * turns;
  return {r * std::cos(theta), r * std::sin(theta)};
}

// The four f32 normals of a block.
inline std::array<float, 4> normals_f32(const PhiloxWords& w) {
  auto pair = [&](size_t i) { return box_muller(static_cast<float>(uint64_t{w[i]} + 1) * 0x1p-32f, static_cast<float>(w[i + 1]) * 0x1p-32f); };
  const auto a = pair(0), b = pair(2);
  return {a[0], a[1], b[0], b[1]};
}

// The two f64 normals of a block: one each of the word pairs (w0, w1) and (w2, w3), its r cos θ.
inline std::array<double, 2> normals_f64(const PhiloxWords& w) {
  auto one = [&](size_t i) { return box_muller((double(w[i]) + 1) * 0x1p-32, double(w[i + 1]) * 0x1p-32)[0]; };
  return {one(0), one(2)};
}

}  // namespace fusec::reference
