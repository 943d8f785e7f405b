#include "data/compare.h"

#include <limits>

#include "catch.h"
#include "data/summary.h"
#include "unit/reference/evaluate_one.h"

using namespace fusec;
using namespace fusec::test;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Comparison of(DType t, const std::vector<double>& got, const std::vector<double>& expected, int depth = 1) {
  return compare(vector_of(t, got), vector_of(t, expected), depth);
}
}  // namespace

TEST_CASE("floats agree within their dtype's tolerance", "[data]") {
  CHECK(of(DType::kF32, {1 + 1e-6}, {1}).ok());
  CHECK(!of(DType::kF32, {1 + 1e-4}, {1}).ok());
  CHECK(of(DType::kF32, {1 + 1e-4}, {1}, 1000).ok());
  CHECK(of(DType::kBF16, {1.0078125}, {1}).ok());
  CHECK(!of(DType::kF64, {1 + 1e-5}, {1}).ok());
  CHECK(of(DType::kF16, {}, {}).ok());
}

TEST_CASE("where terms cancel, a last bit of one that was rounded on the way is allowed", "[data]") {
  const Tensor got = vector_of(DType::kBF16, {1, -1, 0.0009}), expected = vector_of(DType::kBF16, {1, -1, 0});
  CHECK_FALSE(compare(got, expected, 1).ok());
  CHECK(compare(got, expected, 1, DType::kBF16).ok());
  CHECK_FALSE(compare(vector_of(DType::kBF16, {1, -1, 0.1}), expected, 1, DType::kBF16).ok());
}

TEST_CASE("NaN and infinities agree with themselves only", "[data]") {
  CHECK(of(DType::kF32, {kNan, kInf, -kInf}, {kNan, kInf, -kInf}).ok());
  CHECK(of(DType::kF32, {kNan, 1, kInf}, {1, kNan, -kInf}).mismatches == 3);
  CHECK(of(DType::kF32, {3e38}, {kInf}).mismatches == 1);
}

TEST_CASE("integers agree exactly, beyond what a double tells apart", "[data]") {
  Tensor a(DType::kI64, {2}), b(DType::kI64, {2});
  a.as<int64_t>()[1] = 9007199254740993;
  b.as<int64_t>()[1] = 9007199254740992;
  const Comparison c = compare(a, b, 1);
  CHECK(c.mismatches == 1);
  CHECK(c.worst_index == 1);
}

TEST_CASE("the worst element is reported", "[data]") {
  const Tensor expected = tensor(DType::kF32, {2, 2}, {1, 2, 3, 4});
  const Comparison c = compare(tensor(DType::kF32, {2, 2}, {1, 2.5, 3, 9}), expected, 1);
  CHECK(describe(c, expected) == "2 of 4 elements differ; worst at [1,1]: 9, expected 4");
}

TEST_CASE("summaries", "[data]") {
  const NamedTensors tensors = {{"y", tensor(DType::kF32, {2, 3}, {1, kNan, kInf, 2, 0.5, 3})}, {"long", vector_of(DType::kI64, {})}};
  CHECK(summary_text(tensors) == "y     f32[2,3]  min 0.5  max inf  nan 1  [1, nan, inf, 2, …]\nlong  i64[0]\n");
  CHECK(summary_json({tensors[0]}) ==
        R"([{"name": "y", "dtype": "f32", "shape": [2, 3], "min": 0.5, "max": "inf", "nan": 1, "first": [1, "nan", "inf", 2]}])");
}
