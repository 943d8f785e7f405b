#include "reference/philox.h"

#include "catch.h"
#include "unit/reference/evaluate_one.h"

using namespace fusec;
using namespace fusec::reference;
using namespace fusec::test;

// The known answers that Random123 is published with.
TEST_CASE("Philox4x32-10 gives its known answers", "[reference]") {
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) == PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform takes the leading bits of its word", "[reference]") {
  Attrs attrs;
  auto first = [&](DType t) { return numbers(evaluate_one(OpKind::kUniform, {}, {{t, {5}}}, attrs)[0]); };
  CHECK(first(DType::kF32)[0] == (0x6627e8d5 >> 8) * 0x1p-24);
  CHECK(first(DType::kF32)[3] == (0x9b00dbd8 >> 8) * 0x1p-24);
  CHECK(first(DType::kF16)[1] == (0xe169c58d >> 21) * 0x1p-11);
  CHECK(first(DType::kBF16)[2] == (0xbc57ac4c >> 24) * 0x1p-8);
  CHECK(first(DType::kF8E4M3)[0] == 6 * 0x1p-4);
  CHECK(first(DType::kF8E5M2)[0] == 3 * 0x1p-3);
  CHECK(first(DType::kF64)[1] == static_cast<double>(0xbc57ac4c9b00dbd8 >> 11) * 0x1p-53);
  // The second block of four.
  CHECK(first(DType::kF32)[4] == (philox_block(0, 0, 1)[0] >> 8) * 0x1p-24);
}

TEST_CASE("normal numbers have mean 0 and variance 1", "[reference]") {
  Attrs attrs;
  attrs.seed = 99;
  for (const DType t : {DType::kF32, DType::kF64, DType::kBF16}) {
    const auto x = numbers(evaluate_one(OpKind::kNormal, {}, {{t, {20000}}}, attrs)[0]);
    double sum = 0, squares = 0;
    for (double v : x) {
      sum += v;
      squares += v * v;
    }
    CHECK(std::abs(sum / 20000) < 0.03);
    CHECK(std::abs(squares / 20000 - 1) < 0.04);
  }
}
