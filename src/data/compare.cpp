#include "data/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "reference/convert.h"
#include "support/check.h"

namespace fusec {

namespace {

struct Tolerance {
  double rtol, atol;
};

// torch.testing.assert_close's, and one step of the format for f8.
Tolerance tolerance_of(DType t) {
  switch (t) {
    case DType::kF8E4M3:
      return {0.125, 0x1p-9};
    case DType::kF8E5M2:
      return {0.25, 0x1p-16};
    case DType::kF16:
      return {1e-3, 1e-5};
    case DType::kBF16:
      return {1.6e-2, 1e-5};
    case DType::kF32:
      return {1.3e-6, 1e-5};
    case DType::kF64:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

// A short path has the plain tolerance; each further roundings' worth of steps adds as much again.
double widening(int depth) { return std::max(1.0, depth / 8.0); }

// How far an element is off, in units of its allowance; ≤ 1 agrees.
double error_of(double got, double expected, const Tolerance& allowed) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected) ? 0 : std::numeric_limits<double>::infinity();
  if (got == expected) return 0;
  if (std::isinf(got) || std::isinf(expected)) return std::numeric_limits<double>::infinity();
  const double allowance = allowed.atol + allowed.rtol * std::fabs(expected);
  return allowance > 0 ? std::fabs(got - expected) / allowance : std::numeric_limits<double>::infinity();
}

// Elements [start, start + count) as doubles, and as integers where the dtype is one (a double would lose bits of an i64).
struct Chunk {
  std::vector<double> real;
  std::vector<int64_t> whole;
  Chunk(const Tensor& t, int64_t start, int64_t count)
      : real(static_cast<size_t>(count)), whole(is_float(t.dtype) ? 0 : static_cast<size_t>(count)) {
    const std::byte* from = t.data.data() + start * bytes_of(t.dtype);
    convert(t.dtype, from, DType::kF64, real.data(), count);
    if (!whole.empty()) convert(t.dtype, from, DType::kI64, whole.data(), count);
  }
};

constexpr int64_t kChunk = 1 << 14;

// √(Σ x² / n) over the finite elements.
double usual_size(const Tensor& t) {
  double sum = 0;
  int64_t finite = 0;
  for (int64_t start = 0; start < t.elems(); start += kChunk)
    for (double x : Chunk(t, start, std::min(kChunk, t.elems() - start)).real)
      if (std::isfinite(x * x)) sum += x * x, ++finite;
  return finite > 0 ? std::sqrt(sum / static_cast<double>(finite)) : 0;
}

std::string number(double value, DType t) {
  char text[40];
  std::snprintf(text, sizeof text, is_float(t) ? "%.9g" : "%.0f", value);
  return text;
}

}  // namespace

Comparison compare(const Tensor& got, const Tensor& expected, int depth, DType roughest) {
  FUSEC_CHECK(got.dtype == expected.dtype && got.shape == expected.shape, "a comparison of different types");
  Tolerance allowed = tolerance_of(expected.dtype);
  if (is_float(expected.dtype) && tolerance_of(roughest).rtol > allowed.rtol) allowed = tolerance_of(roughest);
  if (is_float(expected.dtype) && roughest != DType::kF64) allowed.atol += tolerance_of(roughest).rtol / 4 * usual_size(expected);
  allowed.rtol *= widening(depth);
  allowed.atol *= widening(depth);
  Comparison result;
  result.elems = expected.elems();
  double worst = 0;
  for (int64_t start = 0; start < result.elems; start += kChunk) {
    const int64_t count = std::min(kChunk, result.elems - start);
    const Chunk a(got, start, count), b(expected, start, count);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const bool same = !a.whole.empty() && a.whole[i] == b.whole[i];
      double error = same ? 0 : error_of(a.real[i], b.real[i], allowed);
      if (!a.whole.empty() && !same) error = std::numeric_limits<double>::infinity();
      if (error > 1) ++result.mismatches;
      if (error > worst) {
        worst = error;
        result.worst_index = start + static_cast<int64_t>(i);
        result.worst_got = a.real[i];
        result.worst_expected = b.real[i];
        result.worst_error = std::fabs(a.real[i] - b.real[i]);
      }
    }
  }
  return result;
}

std::string describe(const Comparison& c, const Tensor& expected) {
  if (c.ok()) return std::to_string(c.elems) + " elements agree";
  std::string position;
  int64_t rest = c.worst_index;
  for (size_t d = expected.shape.size(); d-- > 0; rest /= expected.shape[d])
    position = std::to_string(rest % expected.shape[d]) + (position.empty() ? "" : "," + position);
  return std::to_string(c.mismatches) + " of " + std::to_string(c.elems) + " elements differ; worst at [" + position +
         "]: " + number(c.worst_got, expected.dtype) + ", expected " + number(c.worst_expected, expected.dtype);
}

}  // namespace fusec
