#include "data/accuracy.h"

#include <algorithm>
#include <bit>

namespace fusec {

namespace {

constexpr DType kByPrecision[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};

// Functions that the format allows some ulps.
bool is_inexact_function(OpKind kind) {
  switch (kind) {
    case OpKind::kExp:
    case OpKind::kExp2:
    case OpKind::kExpm1:
    case OpKind::kLog:
    case OpKind::kLog2:
    case OpKind::kLog10:
    case OpKind::kLog1p:
    case OpKind::kRsqrt:
    case OpKind::kReciprocal:
    case OpKind::kSin:
    case OpKind::kCos:
    case OpKind::kTan:
    case OpKind::kAsin:
    case OpKind::kAcos:
    case OpKind::kAtan:
    case OpKind::kSinh:
    case OpKind::kCosh:
    case OpKind::kTanh:
    case OpKind::kAsinh:
    case OpKind::kAcosh:
    case OpKind::kAtanh:
    case OpKind::kErf:
    case OpKind::kErfc:
    case OpKind::kErfinv:
    case OpKind::kLgamma:
    case OpKind::kSigmoid:
    case OpKind::kSilu:
    case OpKind::kGelu:
    case OpKind::kGeluTanh:
    case OpKind::kPow:
    case OpKind::kAtan2:
    case OpKind::kHypot:
    case OpKind::kNormal:
      return true;
    default:
      return false;
  }
}

// The steps that an op adds when it is inexact, else 0. Sums of n terms in another order differ like ~log n roundings.
int inexact_steps(const Graph& graph, const Op& op, bool contract) {
  const DType operand = op.in.empty() || !op.in[0].is_value() ? DType::kF32 : graph[op.in[0].value].dtype;
  const bool floats = std::any_of(op.out.begin(), op.out.end(), [&](ValueId v) { return v.valid() && is_float(graph[v].dtype); });
  if (!floats) return 0;
  if (is_inexact_function(op.kind)) return 1;
  if (contract && (op.kind == OpKind::kAdd || op.kind == OpKind::kSub || op.kind == OpKind::kMul || op.kind == OpKind::kLerp)) return 1;
  const bool orders_matter = op.kind == OpKind::kScatter || op.kind == OpKind::kIndexPut
                                 ? graph.attrs(op).accumulate == Accumulate::kAdd || graph.attrs(op).accumulate == Accumulate::kMul
                                 : op.kind == OpKind::kSum || op.kind == OpKind::kProd || op.kind == OpKind::kMean ||
                                       op.kind == OpKind::kVar || op.kind == OpKind::kVarMean || op.kind == OpKind::kLogsumexp ||
                                       op.kind == OpKind::kCumsum || op.kind == OpKind::kCumprod || op.kind == OpKind::kMatmul ||
                                       op.kind == OpKind::kLinear;
  if (!orders_matter || !is_float(operand)) return 0;
  int64_t terms = 1;
  for (const Operand& in : op.in)
    if (in.is_value()) terms = std::max(terms, element_count(graph[in.value].shape).value());
  return 1 + static_cast<int>(std::bit_width(static_cast<uint64_t>(terms)));
}

}  // namespace

DType rougher(DType a, DType b) {
  auto rank = [](DType t) { return std::find(std::begin(kByPrecision), std::end(kByPrecision), t) - std::begin(kByPrecision); };
  return rank(a) >= rank(b) ? a : b;
}

std::vector<Accuracy> accuracy_of_outputs(const Graph& graph, bool contract) {
  IdVec<ValueId, Accuracy> accuracy(graph.values.size());
  for (const Op& op : graph.ops) {
    Accuracy result;
    for (const Operand& in : op.in) {
      if (!in.is_value()) continue;
      const Accuracy& operand = accuracy[in.value];
      result.exact = result.exact && operand.exact;
      result.depth = std::max(result.depth, operand.depth);
      result.roughest = rougher(result.roughest, operand.roughest);
    }
    const int steps = inexact_steps(graph, op, contract);
    result.depth += steps;
    result.exact = result.exact && steps == 0;
    for (ValueId out : op.out) {
      if (!out.valid()) continue;
      accuracy[out] = result;
      const DType dtype = graph[out].dtype;
      if (!result.exact && is_float(dtype)) accuracy[out].roughest = rougher(result.roughest, dtype);
    }
  }
  std::vector<Accuracy> outputs;
  for (const Output& output : graph.outputs) outputs.push_back(accuracy[output.value]);
  return outputs;
}

}  // namespace fusec
