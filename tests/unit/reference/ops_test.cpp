// Shape, creation, reduction, scan, sort and index ops on small tensors.
#include <cmath>

#include "catch.h"
#include "support/diag.h"
#include "unit/reference/evaluate_one.h"

using namespace fusec;
using namespace fusec::test;

namespace {

using List = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor count_up(std::vector<int64_t> shape) {
  int64_t n = 1;
  for (int64_t e : shape) n *= e;
  List values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
  return tensor(DType::kI32, std::move(shape), values);
}

List run(OpKind kind, const std::vector<Given>& in, Result result, const Attrs& attrs) {
  return numbers(evaluate_one(kind, in, {result}, attrs)[0]);
}

}  // namespace

TEST_CASE("views", "[reference]") {
  const Tensor x = count_up({2, 3});
  Attrs a;
  a.perm = {1, 0};
  CHECK(run(OpKind::kPermute, {x}, {DType::kI32, {3, 2}}, a) == List{0, 3, 1, 4, 2, 5});
  a.dims = {0, 1};
  CHECK(run(OpKind::kFlip, {x}, {DType::kI32, {2, 3}}, a) == List{5, 4, 3, 2, 1, 0});
  a.starts = {0, 0};
  a.stops = {2, 3};
  a.steps = {1, 2};
  CHECK(run(OpKind::kSlice, {x}, {DType::kI32, {2, 2}}, a) == List{0, 2, 3, 5});
  CHECK(run(OpKind::kExpand, {count_up({2, 1})}, {DType::kI32, {2, 2, 2}}, a) == List{0, 0, 1, 1, 0, 0, 1, 1});
  a.low = {1, -1};
  a.high = {0, 1};
  a.value = Literal{int64_t{9}};
  CHECK(run(OpKind::kPad, {x}, {DType::kI32, {3, 3}}, a) == List{9, 9, 9, 1, 2, 9, 4, 5, 9});
  a.low = {-2, 0};
  a.high = {1, 0};
  CHECK(run(OpKind::kPad, {x}, {DType::kI32, {1, 3}}, a) == List{9, 9, 9});
  a.dim = 1;
  CHECK(run(OpKind::kCat, {x, count_up({2, 1}), tensor(DType::kI32, {2, 0}, {})}, {DType::kI32, {2, 4}}, a) ==
        List{0, 1, 2, 0, 3, 4, 5, 1});
  CHECK(run(OpKind::kStack, {x, x}, {DType::kI32, {2, 2, 3}}, a) == List{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
}

TEST_CASE("a transposed tensor of many blocks", "[reference]") {
  Attrs a;
  a.perm = {2, 0, 1};
  const List y = run(OpKind::kPermute, {count_up({13, 17, 31})}, {DType::kI32, {31, 13, 17}}, a);
  for (int i = 0; i < 31; ++i)
    for (int j = 0; j < 13; ++j)
      for (int k = 0; k < 17; ++k) REQUIRE(y[static_cast<size_t>((i * 13 + j) * 17 + k)] == (j * 17 + k) * 31 + i);
}

TEST_CASE("iota is exact before it is rounded", "[reference]") {
  Attrs a;
  a.start = Literal{int64_t{10}};
  a.step = Literal{int64_t{-4}};
  CHECK(run(OpKind::kIota, {}, {DType::kI64, {3}}, a) == List{10, 6, 2});
  a.start = Literal{0.1};
  a.step = Literal{0.1};
  CHECK(run(OpKind::kIota, {}, {DType::kF64, {3}}, a)[2] == std::fma(2, 0.1, 0.1));
  a.start = Literal{int64_t{1} << 40};
  a.step = Literal{(int64_t{1} << 32) + 1};
  CHECK(run(OpKind::kIota, {}, {DType::kBF16, {2}}, a)[1] == 0x1p40 + 0x1p33);
  // One unit below a tie of bf16, 150 binary places down.
  a.start = Literal{1 + 0x1p-8};
  a.step = Literal{-0x1p-150};
  CHECK(run(OpKind::kIota, {}, {DType::kBF16, {2}}, a)[1] == 1);
  a.step = Literal{0x1p-150};
  CHECK(run(OpKind::kIota, {}, {DType::kBF16, {2}}, a)[1] == 1 + 0x1p-7);
  a.start = Literal{int64_t{250}};
  a.step = Literal{int64_t{3}};
  CHECK(run(OpKind::kIota, {}, {DType::kU8, {3}}, a) == List{250, 253, 0});
}

TEST_CASE("sums, products and means", "[reference]") {
  Attrs a;
  a.dims = {0};
  CHECK(run(OpKind::kSum, {count_up({2, 3})}, {DType::kI32, {3}}, a) == List{3, 5, 7});
  a.dims = {0, 2};
  CHECK(run(OpKind::kSum, {count_up({2, 2, 3})}, {DType::kI32, {2}}, a) == List{24, 42});
  a.dims = {0};
  CHECK(run(OpKind::kSum, {vector_of(DType::kI8, {100, 100})}, {DType::kI8, {}}, a) == List{-56});
  CHECK(run(OpKind::kSum, {vector_of(DType::kF16, List(4096, 1))}, {DType::kF16, {}}, a) == List{4096});
  CHECK(run(OpKind::kProd, {vector_of(DType::kI32, {})}, {DType::kI32, {}}, a) == List{1});
  CHECK(run(OpKind::kMean, {vector_of(DType::kBool, {1, 0, 0, 1})}, {DType::kF32, {}}, a) == List{0.5});
  CHECK(std::isnan(run(OpKind::kMean, {vector_of(DType::kF32, {})}, {DType::kF32, {}}, a)[0]));
  CHECK(run(OpKind::kSum, {tensor(DType::kF32, {0, 2}, {})}, {DType::kF32, {2}}, a) == List{0, 0});
  a.dims = {};
  CHECK(run(OpKind::kSum, {count_up({2})}, {DType::kI32, {2}}, a) == List{0, 1});
}

TEST_CASE("extremes and their positions", "[reference]") {
  Attrs a;
  a.dims = {0};
  const Tensor x = vector_of(DType::kF32, {1, 3, kNan, 3, kNan}), zeros = vector_of(DType::kF32, {-0.0, 0.0, -0.0});
  CHECK(std::isnan(run(OpKind::kMax, {x}, {DType::kF32, {}}, a)[0]));
  CHECK(!std::signbit(run(OpKind::kMax, {zeros}, {DType::kF32, {}}, a)[0]));
  CHECK(std::signbit(run(OpKind::kMin, {zeros}, {DType::kF32, {}}, a)[0]));
  CHECK(run(OpKind::kArgmax, {x}, {DType::kI64, {}}, a) == List{2});
  CHECK(run(OpKind::kArgmin, {vector_of(DType::kI32, {4, 2, 2})}, {DType::kI64, {}}, a) == List{1});
  CHECK(run(OpKind::kAny, {vector_of(DType::kBool, {0, 1})}, {DType::kBool, {}}, a) == List{1});
  CHECK(run(OpKind::kAll, {vector_of(DType::kBool, {})}, {DType::kBool, {}}, a) == List{1});
}

TEST_CASE("variance and logsumexp", "[reference]") {
  Attrs a;
  a.dims = {0};
  CHECK(run(OpKind::kVar, {vector_of(DType::kF32, {1e6 + 1, 1e6 + 2, 1e6 + 3})}, {DType::kF32, {}}, a) == List{1});
  CHECK(std::isnan(run(OpKind::kVar, {vector_of(DType::kF32, {3})}, {DType::kF32, {}}, a)[0]));
  CHECK(std::isnan(run(OpKind::kVar, {vector_of(DType::kF32, {})}, {DType::kF32, {}}, a)[0]));
  const auto both = evaluate_one(OpKind::kVarMean, {vector_of(DType::kF64, {2, 4})}, {{DType::kF64, {}}, {DType::kF64, {}}}, a);
  CHECK(numbers(both[0]) == List{2});
  CHECK(numbers(both[1]) == List{3});
  CHECK(run(OpKind::kLogsumexp, {vector_of(DType::kF32, {1000, 1000})}, {DType::kF32, {}}, a)[0] ==
        static_cast<float>(1000 + std::log(2.0)));
  CHECK(run(OpKind::kLogsumexp, {vector_of(DType::kF32, {})}, {DType::kF32, {}}, a) == List{-kInf});
  CHECK(run(OpKind::kLogsumexp, {vector_of(DType::kF32, {kInf, 1})}, {DType::kF32, {}}, a) == List{kInf});
  CHECK(std::isnan(run(OpKind::kLogsumexp, {vector_of(DType::kF32, {kInf, kNan})}, {DType::kF32, {}}, a)[0]));
}

TEST_CASE("scans", "[reference]") {
  Attrs a;
  const Tensor x = vector_of(DType::kI32, {1, 2, 3});
  CHECK(run(OpKind::kCumsum, {x}, {DType::kI32, {3}}, a) == List{1, 3, 6});
  a.reverse = true;
  CHECK(run(OpKind::kCumsum, {x}, {DType::kI32, {3}}, a) == List{6, 5, 3});
  a.exclusive = true;
  CHECK(run(OpKind::kCumprod, {x}, {DType::kI32, {3}}, a) == List{6, 3, 1});
  a.reverse = false;
  CHECK(run(OpKind::kCummax, {x}, {DType::kI32, {3}}, a) == List{INT32_MIN, 1, 2});
  CHECK(run(OpKind::kCummin, {vector_of(DType::kU8, {7, 3})}, {DType::kU8, {2}}, a) == List{255, 7});
  CHECK(run(OpKind::kCummax, {vector_of(DType::kF32, {2, 1})}, {DType::kF32, {2}}, a) == List{-kInf, 2});
  a.exclusive = false;
  const List y = run(OpKind::kCummax, {vector_of(DType::kF32, {2, kNan, 5})}, {DType::kF32, {3}}, a);
  CHECK(y[0] == 2);
  CHECK(std::isnan(y[2]));
}

TEST_CASE("sorting is stable and takes NaN for the greatest", "[reference]") {
  Attrs a;
  const Tensor x = vector_of(DType::kF32, {3, kNan, 1, 3, -0.0, 0.0});
  CHECK(run(OpKind::kArgsort, {x}, {DType::kI64, {6}}, a) == List{4, 5, 2, 0, 3, 1});
  a.descending = true;
  CHECK(run(OpKind::kArgsort, {x}, {DType::kI64, {6}}, a) == List{1, 0, 3, 2, 4, 5});
  a.k = 2;
  a.largest = false;
  const auto least = evaluate_one(OpKind::kTopk, {x}, {{DType::kF32, {2}}, {DType::kI64, {2}}}, a);
  CHECK(numbers(least[1]) == List{4, 5});
  a.dim = 0;
  const auto columns =
      evaluate_one(OpKind::kSort, {tensor(DType::kI32, {2, 2}, {1, 5, 2, 4})}, {{DType::kI32, {2, 2}}, {DType::kI64, {2, 2}}}, a);
  CHECK(numbers(columns[0]) == List{2, 5, 1, 4});
  CHECK(numbers(columns[1]) == List{1, 0, 0, 1});
}

TEST_CASE("gathering", "[reference]") {
  Attrs a;
  a.dim = 1;
  const Tensor x = count_up({2, 3});
  CHECK(run(OpKind::kGather, {x, tensor(DType::kI64, {1, 2}, {2, 0})}, {DType::kI32, {1, 2}}, a) == List{2, 0});
  CHECK(run(OpKind::kTakeAlongAxis, {x, tensor(DType::kI32, {1, 2}, {2, 0})}, {DType::kI32, {2, 2}}, a) == List{2, 0, 5, 3});
  CHECK(run(OpKind::kIndexSelect, {x, vector_of(DType::kI32, {1, 1})}, {DType::kI32, {2, 2}}, a) == List{1, 1, 4, 4});
  CHECK(run(OpKind::kEmbedding, {tensor(DType::kI64, {1, 2}, {1, 0}), x}, {DType::kI32, {1, 2, 3}}, a) == List{3, 4, 5, 0, 1, 2});
}

TEST_CASE("scattering", "[reference]") {
  Attrs a;
  const Tensor x = vector_of(DType::kF16, {1, 2, 4}), at = vector_of(DType::kI64, {0, 2, 0}),
               src = vector_of(DType::kF16, {10, 20, 30, 99});
  CHECK(run(OpKind::kScatter, {x, at, src}, {DType::kF16, {3}}, a) == List{30, 2, 20});
  a.accumulate = Accumulate::kAdd;
  CHECK(run(OpKind::kScatter, {x, at, src}, {DType::kF16, {3}}, a) == List{41, 2, 24});
  CHECK(run(OpKind::kScatter, {x, at, 0.5}, {DType::kF16, {3}}, a) == List{2, 2, 4.5});
  // 2048 + 1 + 1 is 2050 when only the total is rounded.
  CHECK(run(OpKind::kScatter, {vector_of(DType::kF16, {2048}), vector_of(DType::kI32, {0, 0}), 1.0}, {DType::kF16, {1}}, a) == List{2050});
  a.accumulate = Accumulate::kMax;
  CHECK(std::isnan(run(OpKind::kScatter, {x, at, kNan}, {DType::kF16, {3}}, a)[0]));
  a.accumulate = Accumulate::kMul;
  CHECK(run(OpKind::kScatter, {vector_of(DType::kI8, {100, 1}), vector_of(DType::kI32, {0}), 2.0}, {DType::kI8, {2}}, a) == List{-56, 1});
  a.accumulate = Accumulate::kAdd;
  a.dim = 1;
  const Tensor columns = tensor(DType::kI32, {2, 2}, {1, 2, 3, 4});
  CHECK(run(OpKind::kIndexPut, {count_up({2, 3}), vector_of(DType::kI64, {2, 2}), columns}, {DType::kI32, {2, 3}}, a) ==
        List{0, 1, 5, 3, 4, 12});
  CHECK(run(OpKind::kScatter, {count_up({2, 3}), tensor(DType::kI64, {0, 3}, {}), tensor(DType::kI32, {0, 3}, {})}, {DType::kI32, {2, 3}},
            a) == List{0, 1, 2, 3, 4, 5});
}

TEST_CASE("an index out of range is named", "[reference]") {
  Attrs a;
  a.dim = 1;
  try {
    run(OpKind::kGather, {count_up({2, 3}), tensor(DType::kI64, {2, 2}, {0, 1, 2, -1})}, {DType::kI32, {2, 2}}, a);
    FAIL("no failure");
  } catch (const Failure& failure) {
    CHECK(failure.exit == Exit::kRefused);
    CHECK(std::string(failure.what()) == "'y0' (gather): the index at position [1,1] is -1, outside the range [0, 3)");
  }
}
