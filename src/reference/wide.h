// Tensors widened for the ops that accumulate or compare: floats to double, integers and bool to int64.
#pragma once

#include <vector>

#include "data/tensor.h"
#include "reference/convert.h"

namespace fusec::reference {

template <class Wide>
inline constexpr DType kWideType = std::is_floating_point_v<Wide> ? DType::kF64 : DType::kI64;

template <class Wide>
std::vector<Wide> widen(const Tensor& x) {
  std::vector<Wide> wide(static_cast<size_t>(x.elems()));
  convert(x.dtype, x.data.data(), kWideType<Wide>, wide.data(), x.elems());
  return wide;
}

template <class Wide>
Tensor narrow(const std::vector<Wide>& wide, DType t, std::vector<int64_t> shape) {
  Tensor out(t, std::move(shape));
  convert(kWideType<Wide>, wide.data(), t, out.data.data(), out.elems());
  return out;
}

// A sum or product ready to be rounded once more, to `result`: to f64 here, else to odd, which a later rounding does not see.
inline double settle(long double accumulated, DType result) {
  return result == DType::kF64 ? static_cast<double>(accumulated) : round_to_odd<double>(accumulated);
}

// The sum or product of integers wraps; that of floats is kept in extended precision.
template <class Wide>
using Accumulator = std::conditional_t<std::is_floating_point_v<Wide>, long double, uint64_t>;

template <class Wide>
Wide settled(Accumulator<Wide> accumulated, DType result) {
  if constexpr (std::is_floating_point_v<Wide>) return settle(accumulated, result);
  else return static_cast<Wide>(accumulated);
}

// `less` for sorting: NaN is greatest, and equal to itself.
template <class Wide>
bool ordered_before(Wide a, Wide b) {
  return a < b || (b != b && a == a);
}

}  // namespace fusec::reference
