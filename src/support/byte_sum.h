// Sums of sizes in bytes: each fits 63 bits, their sum may not. It stays at the greatest number then, never wraps.
#pragma once

#include <cstdint>

namespace fusec {

inline int64_t byte_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
inline void add_bytes(int64_t& sum, int64_t more) { sum = byte_sum(sum, more); }

}  // namespace fusec
