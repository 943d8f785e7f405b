// The reference columns of ops.def as loops over blocks: what elementwise_float.cpp and elementwise_int.cpp instantiate.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "graph/ops.h"
#include "reference/math.h"

namespace fusec::reference {

// out[i] = op(a[i], b[i], c[i]) for i < n. Operands are of the computing type; so is the result, or bool.
using Kernel = void (*)(const void* a, const void* b, const void* c, void* out, int64_t n);

// Null when the op does not take the type. Instantiated for bool, the integers, float and double.
template <class T>
Kernel kernel_for(OpKind kind);

namespace rows {
#define FUSEC_ELEMENTWISE(e, name, arity, operands, result, cost, ref_float, ref_int, ...) \
  struct e {                                                                               \
    static constexpr OperandClass kOperands = OperandClass::operands;                      \
    static constexpr ResultRule kResult = ResultRule::result;                              \
    template <class T>                                                                     \
    static auto apply([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T c) {  \
      [[maybe_unused]] typedef double D;                                                   \
      [[maybe_unused]] typedef Wrapping<T> U;                                              \
      if constexpr (std::is_floating_point_v<T>) return ref_float;                         \
      else return ref_int;                                                                 \
    }                                                                                      \
  };
#include "graph/ops.def"
}  // namespace rows

template <class T>
constexpr bool accepts(OperandClass operands) {
  switch (operands) {
    case OperandClass::kAny:
      return true;
    case OperandClass::kNumber:
      return !std::is_same_v<T, bool>;
    case OperandClass::kFloat:
      return std::is_floating_point_v<T>;
    case OperandClass::kInteger:
      return std::is_integral_v<T> && !std::is_same_v<T, bool>;
    case OperandClass::kIntegerOrBool:
      return std::is_integral_v<T>;
    case OperandClass::kBoolOnly:
      return std::is_same_v<T, bool>;
  }
  return false;
}

template <class Row, class T>
void run(const void* a, const void* b, const void* c, void* out, int64_t n) {
  using Result = std::conditional_t<Row::kResult == ResultRule::kBool, bool, T>;
  const T *pa = static_cast<const T*>(a), *pb = static_cast<const T*>(b), *pc = static_cast<const T*>(c);
  Result* to = static_cast<Result*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Result>(Row::template apply<T>(pa[i], pb[i], pc[i]));
}

template <class T>
Kernel kernel_for(OpKind kind) {
  switch (kind) {
#define FUSEC_ELEMENTWISE(e, ...)                                          \
  case OpKind::k##e:                                                       \
    if constexpr (accepts<T>(rows::e::kOperands)) return &run<rows::e, T>; \
    else return nullptr;
#include "graph/ops.def"
    default:
      return nullptr;
  }
}

extern template Kernel kernel_for<bool>(OpKind);
extern template Kernel kernel_for<uint8_t>(OpKind);
extern template Kernel kernel_for<int8_t>(OpKind);
extern template Kernel kernel_for<int16_t>(OpKind);
extern template Kernel kernel_for<int32_t>(OpKind);
extern template Kernel kernel_for<int64_t>(OpKind);
extern template Kernel kernel_for<float>(OpKind);
extern template Kernel kernel_for<double>(OpKind);

}  // namespace fusec::reference
