// Reductions: the reduced dimensions are moved last, then every row gives one result.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/math.h"
#include "reference/op_call.h"
#include "reference/wide.h"
#include "support/check.h"

namespace fusec::reference {

namespace {

// The operand with its rows dense: rows × cols elements, one row per result.
struct Rows {
  Tensor x;
  int64_t rows = 1, cols = 1;
};

Rows rows_of(const Tensor& x, const std::vector<int64_t>& dims) {
  Rows r;
  const View view = view_of(x);
  View moved{view.base, {}, {}, view.elem_bytes};
  for (const bool reduced : {false, true})
    for (size_t d = 0; d < x.shape.size(); ++d) {
      if ((std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end()) != reduced) continue;
      moved.shape.push_back(view.shape[d]);
      moved.strides.push_back(view.strides[d]);
      (reduced ? r.cols : r.rows) *= view.shape[d];
    }
  r.x = is_dense(moved) ? x : materialize(moved, x.dtype);
  return r;
}

// One result per row: `reduce(first element, count)`.
template <class Wide, class F>
std::vector<Wide> each_row(const Rows& r, const F& reduce) {
  std::vector<Wide> row(static_cast<size_t>(r.cols)), results(static_cast<size_t>(r.rows));
  const int64_t bytes = bytes_of(r.x.dtype);
  for (int64_t i = 0; i < r.rows; ++i) {
    convert(r.x.dtype, r.x.data.data() + i * r.cols * bytes, kWideType<Wide>, row.data(), r.cols);
    results[static_cast<size_t>(i)] = reduce(row.data(), r.cols);
  }
  return results;
}

long double sum_of(const double* x, int64_t n) {
  long double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// Σ (x - mean)² over n - correction, in two passes.
long double variance_of(const double* x, int64_t n, int64_t correction) {
  const long double mean = sum_of(x, n) / n;
  long double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return squares / std::max<int64_t>(0, n - correction);
}

long double logsumexp_of(const double* x, int64_t n) {
  double greatest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i) greatest = maximum(greatest, x[i]);
  if (!std::isfinite(greatest)) return greatest;
  long double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<long double>(x[i]) - greatest);
  return greatest + std::log(sum);
}

// sum, prod and mean in the class of the result's dtype; an operand of another class is cast to it first.
template <class Wide>
std::vector<Wide> accumulated(OpKind kind, const Rows& r, DType result) {
  return each_row<Wide>(r, [&](const Wide* x, int64_t n) {
    using A = Accumulator<Wide>;
    A total = kind == OpKind::kProd ? 1 : 0;
    for (int64_t i = 0; i < n; ++i) {
      if (kind == OpKind::kProd) total *= static_cast<A>(x[i]);
      else total += static_cast<A>(x[i]);
    }
    // (A mean is always a float.)
    if constexpr (std::is_floating_point_v<Wide>)
      if (kind == OpKind::kMean) total /= static_cast<A>(n);
    return settled<Wide>(total, result);
  });
}

template <class Wide>
std::vector<Wide> extremes(OpKind kind, const Rows& r) {
  FUSEC_CHECK(r.cols > 0 || r.rows == 0, "max or min of nothing");
  return each_row<Wide>(r, [&](const Wide* x, int64_t n) {
    Wide best = x[0];
    for (int64_t i = 1; i < n; ++i) best = kind == OpKind::kMax ? maximum(best, x[i]) : minimum(best, x[i]);
    return best;
  });
}

// Position of the first greatest (least) element; a NaN wins.
template <class Wide>
std::vector<int64_t> positions(OpKind kind, const Rows& r) {
  FUSEC_CHECK(r.cols > 0 || r.rows == 0, "argmax or argmin of nothing");
  std::vector<int64_t> results;
  each_row<Wide>(r, [&](const Wide* x, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n && x[best] == x[best]; ++i)
      if (x[i] != x[i] || (kind == OpKind::kArgmax ? x[i] > x[best] : x[i] < x[best])) best = i;
    results.push_back(best);
    return Wide();
  });
  return results;
}

// all, any of bool operands.
std::vector<int64_t> quantified(OpKind kind, const Rows& r) {
  return each_row<int64_t>(r, [&](const int64_t* x, int64_t n) -> int64_t {
    if (kind == OpKind::kAll) return std::all_of(x, x + n, [](int64_t v) { return v != 0; });
    return std::any_of(x, x + n, [](int64_t v) { return v != 0; });
  });
}

std::vector<Tensor> variances(const OpCall& call, const Rows& r) {
  const bool with_mean = call.op.kind == OpKind::kVarMean;
  std::vector<Tensor> results(with_mean ? 2 : 1);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!call.op.out[i].valid()) continue;
    const DType t = call.dtype(i);
    results[i] = narrow(
        each_row<double>(
            r, [&](const double* x, int64_t n) { return settle(i == 0 ? variance_of(x, n, call.attrs.correction) : sum_of(x, n) / n, t); }),
        t, call.shape(i));
  }
  return results;
}

}  // namespace

std::vector<Tensor> evaluate_reduction(const OpCall& call) {
  const OpKind kind = call.op.kind;
  const bool is_position = kind == OpKind::kArgmax || kind == OpKind::kArgmin;
  const Rows r = rows_of(*call.in[0], is_position ? std::vector<int64_t>{call.attrs.dim} : call.attrs.dims);
  if (kind == OpKind::kVar || kind == OpKind::kVarMean) return variances(call, r);
  const DType t = call.dtype();
  const Extents shape = call.shape();
  const bool floats = is_float(is_position ? r.x.dtype : t);
  switch (kind) {
    case OpKind::kSum:
    case OpKind::kProd:
    case OpKind::kMean: {
      if (floats) return {narrow(accumulated<double>(kind, r, t), t, shape)};
      return {narrow(accumulated<int64_t>(kind, r, t), t, shape)};
    }
    case OpKind::kMax:
    case OpKind::kMin: {
      if (floats) return {narrow(extremes<double>(kind, r), t, shape)};
      return {narrow(extremes<int64_t>(kind, r), t, shape)};
    }
    case OpKind::kArgmax:
    case OpKind::kArgmin:
      return {narrow(floats ? positions<double>(kind, r) : positions<int64_t>(kind, r), t, shape)};
    case OpKind::kAll:
    case OpKind::kAny:
      return {narrow(quantified(kind, r), t, shape)};
    case OpKind::kLogsumexp:
      return {narrow(each_row<double>(r, [&](const double* x, int64_t n) { return settle(logsumexp_of(x, n), t); }), t, shape)};
    default:
      FUSEC_CHECK(false, "not a reduction: " + call.name());
  }
  return {};
}

}  // namespace fusec::reference
