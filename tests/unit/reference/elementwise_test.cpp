#include <cmath>
#include <string>

#include "catch.h"
#include "unit/reference/evaluate_one.h"

using namespace fusec;
using namespace fusec::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The row on one element of each operand.
double apply(OpKind kind, DType t, const std::vector<double>& x) {
  std::vector<Given> operands;
  for (double v : x) operands.emplace_back(vector_of(t, {v}));
  const DType result = info(kind).result == ResultRule::kBool ? DType::kBool : t;
  return numbers(evaluate_one(kind, operands, {{result, {1}}})[0])[0];
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

bool near(double got, double expected, double relative) { return std::abs(got - expected) <= relative * std::abs(expected); }

}  // namespace

TEST_CASE("integer division for all signs, zero and the least integer", "[reference]") {
  const DType t = DType::kI32;
  CHECK(apply(OpKind::kFloorDiv, t, {-7, 2}) == -4);
  CHECK(apply(OpKind::kCeilDiv, t, {-7, 2}) == -3);
  CHECK(apply(OpKind::kTruncDiv, t, {-7, 2}) == -3);
  CHECK(apply(OpKind::kRemainder, t, {-7, 2}) == 1);
  CHECK(apply(OpKind::kFmod, t, {-7, 2}) == -1);
  CHECK(apply(OpKind::kCeilDiv, t, {7, 2}) == 4);
  CHECK(apply(OpKind::kRemainder, t, {7, -2}) == -1);
  for (const OpKind kind : {OpKind::kFloorDiv, OpKind::kCeilDiv, OpKind::kTruncDiv, OpKind::kRemainder, OpKind::kFmod})
    CHECK(apply(kind, t, {5, 0}) == 0);
  for (const OpKind kind : {OpKind::kFloorDiv, OpKind::kCeilDiv, OpKind::kTruncDiv}) {
    CHECK(apply(kind, t, {INT32_MIN, -1}) == INT32_MIN);
    CHECK(apply(kind, DType::kI8, {-128, -1}) == -128);
  }
  CHECK(apply(OpKind::kRemainder, t, {INT32_MIN, -1}) == 0);
  CHECK(apply(OpKind::kCeilDiv, DType::kU8, {255, 2}) == 128);
}

TEST_CASE("integer powers, shifts and wrapping", "[reference]") {
  CHECK(apply(OpKind::kPow, DType::kI32, {-2, 31}) == INT32_MIN);
  CHECK(apply(OpKind::kPow, DType::kI32, {3, 40}) == static_cast<int32_t>(12157665459056928801u));
  CHECK(apply(OpKind::kPow, DType::kI32, {2, -1}) == 0);
  CHECK(apply(OpKind::kPow, DType::kI32, {1, -5}) == 1);
  CHECK(apply(OpKind::kPow, DType::kI32, {-1, -3}) == -1);
  CHECK(apply(OpKind::kPow, DType::kI32, {0, 0}) == 1);
  CHECK(apply(OpKind::kShl, DType::kI8, {1, 7}) == -128);
  CHECK(apply(OpKind::kShl, DType::kI8, {1, 8}) == 0);
  CHECK(apply(OpKind::kShr, DType::kI16, {-4, 100}) == -1);
  CHECK(apply(OpKind::kShr, DType::kU8, {200, 8}) == 0);
  CHECK(apply(OpKind::kShr, DType::kI32, {200, -1}) == 0);
  CHECK(apply(OpKind::kMul, DType::kI16, {-32768, -32768}) == 0);
  CHECK(apply(OpKind::kNeg, DType::kU8, {1}) == 255);
  CHECK(apply(OpKind::kAbs, DType::kI8, {-128}) == -128);
  CHECK(apply(OpKind::kBitwiseNot, DType::kU8, {5}) == 250);
  CHECK(apply(OpKind::kBitwiseNot, DType::kBool, {1}) == 0);
  CHECK(apply(OpKind::kAdd, DType::kBool, {1, 1}) == 1);
  CHECK(apply(OpKind::kMul, DType::kBool, {1, 0}) == 0);
}

TEST_CASE("float division follows PyTorch", "[reference]") {
  const DType t = DType::kF32;
  CHECK(apply(OpKind::kFloorDiv, t, {-7, 2}) == -4);
  CHECK(apply(OpKind::kFloorDiv, t, {1, 0}) == kInf);
  CHECK(std::isnan(apply(OpKind::kFloorDiv, t, {0, 0})));
  CHECK(apply(OpKind::kCeilDiv, t, {-7, 2}) == -3);
  CHECK(apply(OpKind::kRemainder, t, {-5.5, 2}) == 0.5);
  CHECK(apply(OpKind::kFmod, t, {-5.5, 2}) == -1.5);
  CHECK(apply(OpKind::kFloorDiv, DType::kF64, {1, 0.1}) == 9);  // as in Python: 0.1 is a little more than a tenth
}

TEST_CASE("maximum, minimum, fmax and fmin with NaN and zeros", "[reference]") {
  const DType t = DType::kF32;
  CHECK(std::isnan(apply(OpKind::kMaximum, t, {kNan, 1})));
  CHECK(std::isnan(apply(OpKind::kMinimum, t, {1, kNan})));
  CHECK(apply(OpKind::kFmax, t, {kNan, 1}) == 1);
  CHECK(apply(OpKind::kFmin, t, {1, kNan}) == 1);
  CHECK(same(apply(OpKind::kMaximum, t, {-0.0, 0.0}), 0.0));
  CHECK(same(apply(OpKind::kMaximum, t, {0.0, -0.0}), 0.0));
  CHECK(same(apply(OpKind::kMinimum, t, {0.0, -0.0}), -0.0));
  CHECK(same(apply(OpKind::kRelu, t, {-0.0}), -0.0));
  CHECK(std::isnan(apply(OpKind::kRelu, t, {kNan})));
  CHECK(std::isnan(apply(OpKind::kClamp, t, {kNan, 0, 1})));
  CHECK(std::isnan(apply(OpKind::kSign, t, {kNan})));
}

TEST_CASE("special functions keep their tails", "[reference]") {
  CHECK(near(apply(OpKind::kErfinv, DType::kF64, {0.5}), 0.47693627620446987, 1e-15));
  CHECK(near(apply(OpKind::kErfinv, DType::kF64, {1 - 0x1p-53}), 5.8635847487551676, 1e-14));
  CHECK(near(apply(OpKind::kErfinv, DType::kF64, {1e-300}), 8.862269254527580e-301, 1e-15));
  CHECK(apply(OpKind::kErfinv, DType::kF32, {-1}) == -kInf);
  CHECK(std::isnan(apply(OpKind::kErfinv, DType::kF32, {1.5})));
  CHECK(apply(OpKind::kLgamma, DType::kF32, {-3}) == kInf);
  CHECK(near(apply(OpKind::kLgamma, DType::kF64, {-0.5}), 1.2655121234846454, 1e-15));
  CHECK(apply(OpKind::kSigmoid, DType::kF32, {-100}) == static_cast<float>(3.720075976020836e-44));
  CHECK(near(apply(OpKind::kSilu, DType::kF64, {-40}), -40 * 4.248354255291589e-18, 1e-15));
  CHECK(near(apply(OpKind::kGelu, DType::kF64, {-10}), -7.619853024160527e-23, 1e-14));
  CHECK(apply(OpKind::kGeluTanh, DType::kF32, {-20}) == 0);
  CHECK(std::signbit(apply(OpKind::kGeluTanh, DType::kF32, {-200})));
  CHECK(apply(OpKind::kGelu, DType::kF32, {50}) == 50);
  for (const OpKind kind : {OpKind::kSilu, OpKind::kGelu, OpKind::kGeluTanh}) CHECK(same(apply(kind, DType::kF32, {-kInf}), -0.0));
}

TEST_CASE("bf16 computes in f32 and rounds once", "[reference]") {
  // 3·(1 + 2^-7) = 3.0234375 is a tie in bf16's last place.
  CHECK(apply(OpKind::kMul, DType::kBF16, {3, 1 + 0x1p-7}) == 3.03125);
  // The f32 literal 0.1 is not rounded to bf16 first…
  CHECK(numbers(evaluate_one(OpKind::kMul, {vector_of(DType::kBF16, {1000}), 0.1}, {{DType::kBF16, {1}}})[0])[0] == 100);
  // …but in a comparison it is.
  CHECK(numbers(evaluate_one(OpKind::kEq, {vector_of(DType::kBF16, {0.1}), 0.1}, {{DType::kBool, {1}}})[0])[0] == 1);
  CHECK(apply(OpKind::kMul, DType::kF8E4M3, {448, 2}) == 448);
  CHECK(apply(OpKind::kCopy, DType::kBF16, {-0.0}) == 0);
}

TEST_CASE("mul and add are not contracted, fma is", "[reference]") {
  const double x = 1 + 0x1p-12;
  CHECK(apply(OpKind::kFma, DType::kF32, {x, x, -(1 + 0x1p-11)}) == 0x1p-24);
  CHECK(apply(OpKind::kMul, DType::kF32, {x, x}) == 1 + 0x1p-11);
  CHECK(apply(OpKind::kLerp, DType::kF32, {4, -4, 0.5}) == 0);
}

TEST_CASE("operands broadcast as in NumPy", "[reference]") {
  const Tensor column = tensor(DType::kI32, {2, 1}, {10, 20}), row = vector_of(DType::kI32, {1, 2, 3});
  const Tensor sum = evaluate_one(OpKind::kAdd, {column, row}, {{DType::kI32, {2, 3}}})[0];
  CHECK(numbers(sum) == std::vector<double>{11, 12, 13, 21, 22, 23});
  const Tensor mask = vector_of(DType::kBool, {1, 0, 1});
  const Tensor chosen = evaluate_one(OpKind::kWhere, {mask, column, -1.0}, {{DType::kI32, {2, 3}}})[0];
  CHECK(numbers(chosen) == std::vector<double>{10, -1, 10, 20, -1, 20});
  const Tensor none =
      evaluate_one(OpKind::kAdd, {tensor(DType::kF16, {0, 3}, {}), vector_of(DType::kF16, {1, 2, 3})}, {{DType::kF16, {0, 3}}})[0];
  CHECK(none.elems() == 0);
}

TEST_CASE("blocks of a long broadcast join up", "[reference]") {
  Attrs attrs;
  attrs.dim = 1;
  const Tensor iota = evaluate_one(OpKind::kIota, {}, {{DType::kI32, {7, 3001}}}, attrs)[0];
  std::vector<double> column;
  for (int i = 0; i < 7; ++i) column.push_back(10000 * i);
  const auto sum = numbers(evaluate_one(OpKind::kAdd, {iota, tensor(DType::kI32, {7, 1}, column)}, {{DType::kI32, {7, 3001}}})[0]);
  for (int64_t i = 0; i < 7 * 3001; ++i) REQUIRE(sum[static_cast<size_t>(i)] == static_cast<double>(i / 3001 * 10000 + i % 3001));
}
