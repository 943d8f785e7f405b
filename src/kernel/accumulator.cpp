#include "kernel/accumulator.h"

#include <limits>

#include "support/check.h"

namespace fusec {

Accumulator::Kind accumulator_kind(OpKind kind) {
  switch (kind) {
    case OpKind::kSum:
    case OpKind::kMean:
      return Accumulator::kSum;
    case OpKind::kProd:
      return Accumulator::kProd;
    case OpKind::kMax:
      return Accumulator::kMax;
    case OpKind::kMin:
      return Accumulator::kMin;
    case OpKind::kAll:
      return Accumulator::kAll;
    case OpKind::kAny:
      return Accumulator::kAny;
    case OpKind::kArgmax:
      return Accumulator::kArgmax;
    case OpKind::kArgmin:
      return Accumulator::kArgmin;
    case OpKind::kVar:
    case OpKind::kVarMean:
      return Accumulator::kMoments;
    case OpKind::kLogsumexp:
      return Accumulator::kLogsumexp;
    default:
      FUSEC_CHECK(false, std::string(name_of(kind)) + " is no reduction");
  }
  return Accumulator::kSum;
}

DType accumulator_dtype(OpKind kind, DType operand, DType result) {
  const bool selects = kind == OpKind::kMax || kind == OpKind::kMin || kind == OpKind::kArgmax || kind == OpKind::kArgmin;
  const DType of = selects ? operand : result;
  if (kind == OpKind::kAll || kind == OpKind::kAny) return DType::kI32;
  if (is_float(of)) return of == DType::kF64 || (is_float(operand) && operand == DType::kF64) ? DType::kF64 : DType::kF32;
  return selects && of != DType::kI64 ? DType::kI32 : DType::kI64;
}

DType scan_dtype(DType operand) {
  if (is_float(operand)) return operand == DType::kF64 ? DType::kF64 : DType::kF32;
  return operand == DType::kI64 ? DType::kI64 : DType::kI32;  // (the low bits of a sum need no more)
}

Literal neutral_update(Accumulate how, DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  const int64_t least = dtype == DType::kI64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  switch (how) {
    case Accumulate::kMul:
      return is_float(dtype) ? Literal{1.0} : Literal{int64_t{1}};
    case Accumulate::kMax:
      return is_float(dtype) ? Literal{-infinity} : Literal{least};
    case Accumulate::kMin:
      return is_float(dtype) ? Literal{infinity} : Literal{~least};
    default:
      return is_float(dtype) ? Literal{-0.0} : Literal{int64_t{0}};
  }
}

int state_bytes(const Accumulator& a) {
  const int value = bytes_of(a.dtype);
  switch (a.kind) {
    case Accumulator::kArgmax:
    case Accumulator::kArgmin:
      return 16;
    case Accumulator::kMoments:
      return 3 * value;
    case Accumulator::kLogsumexp:
      return 2 * value;
    default:
      return value;
  }
}

}  // namespace fusec
