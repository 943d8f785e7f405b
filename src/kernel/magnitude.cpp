#include "kernel/magnitude.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fusec {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

double largest(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kU8:
      return 255;
    case DType::kI8:
      return 128;
    case DType::kI16:
      return 32768;
    case DType::kI32:
      return 0x1p31;
    case DType::kI64:
      return 0x1p63;
    case DType::kF8E4M3:
      return 448;
    case DType::kF8E5M2:
      return 57344;
    case DType::kF16:
      return 65504;
    default:
      return kUnknown;
  }
}

double bound_of(const Graph& graph, const Node& n, const std::vector<double>& bounds) {
  auto in = [&](size_t i) { return bounds[n.in[i].index]; };
  if (n.kind == Node::kConstant) return std::isfinite(n.constant.as_double()) ? std::fabs(n.constant.as_double()) : 0;
  if (n.kind == Node::kSelect) return std::max(in(0), in(1));
  if (n.kind == Node::kRandom) return graph[n.op].kind == OpKind::kUniform ? 1 : 16;
  if (n.kind != Node::kOp) return kUnknown;
  switch (graph[n.op].kind) {
    case OpKind::kTanh:
    case OpKind::kSin:
    case OpKind::kCos:
    case OpKind::kErf:
    case OpKind::kSigmoid:
    case OpKind::kSign:
      return 1;
    case OpKind::kAtan:
      return 2;
    case OpKind::kAsin:
      return 2;
    case OpKind::kAcos:
      return 4;
    case OpKind::kCast:
    case OpKind::kNeg:
    case OpKind::kAbs:
    case OpKind::kRelu:
    case OpKind::kSilu:
    case OpKind::kGelu:
    case OpKind::kGeluTanh:
      return in(0);
    case OpKind::kAdd:
    case OpKind::kSub:
      return in(0) + in(1);
    case OpKind::kMul:
      return in(0) * in(1);
    case OpKind::kMaximum:
    case OpKind::kMinimum:
      return std::max(in(0), in(1));
    case OpKind::kWhere:
      return std::max(in(1), in(2));
    default:
      return kUnknown;
  }
}

}  // namespace

std::vector<double> magnitude_bounds(const Graph& graph, const Part& part) {
  std::vector<double> bounds;
  for (const Node& n : part.nodes) {
    double b = bound_of(graph, n, bounds) * 1.01 + 1e-6;      // room for rounding to 16 bits, denormals included
    if (is_integer(n.dtype) || is_f8(n.dtype)) b = kUnknown;  // integers wrap; infinities become the largest number
    if (std::isnan(b)) b = kUnknown;                          // 0 · ∞
    bounds.push_back(std::min(b, largest(n.dtype)));
  }
  return bounds;
}

}  // namespace fusec
