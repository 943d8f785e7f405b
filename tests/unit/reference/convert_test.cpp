#include "reference/convert.h"

#include <vector>

#include "catch.h"

using namespace fusec;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double round_to(DType t, double value) {
  std::byte stored[8];
  double back = 0;
  store(value, t, stored);
  convert(t, stored, DType::kF64, &back, 1);
  return back;
}

template <class Int>
Int to_int(DType t, double value) {
  Int stored{};
  store(value, t, &stored);
  return stored;
}

// Every pattern comes back; between neighbours the midpoint goes to the even pattern, and anything beyond it to its own side.
template <class Narrow>
void check_all_patterns() {
  using Bits = typename Narrow::Bits;
  for (uint32_t bits = 0; bits <= Narrow::kMaxFinite; ++bits) {
    const float value = decode_narrow(Narrow{static_cast<Bits>(bits)});
    REQUIRE(encode_narrow<Narrow>(value).bits == bits);
    REQUIRE(encode_narrow<Narrow>(-value).bits == (bits | 1u << (8 * sizeof(Bits) - 1)));
    if (bits == Narrow::kMaxFinite) continue;
    const float next = decode_narrow(Narrow{static_cast<Bits>(bits + 1)});
    REQUIRE(next > value);
    const double middle = (double{value} + double{next}) / 2;
    const float single = static_cast<float>(middle);
    REQUIRE(encode_narrow<Narrow>(single).bits == bits + (bits & 1));
    REQUIRE(encode_narrow<Narrow>(std::nextafter(single, 0.0f)).bits == bits);
    REQUIRE(encode_narrow<Narrow>(std::nextafter(single, std::numeric_limits<float>::infinity())).bits == bits + 1);
    // From f64, far below what a float can tell from the midpoint.
    REQUIRE(stored_as<Narrow>(std::nextafter(middle, 0.0)).bits == bits);
    REQUIRE(stored_as<Narrow>(std::nextafter(middle, kInf)).bits == bits + 1);
    REQUIRE(stored_as<Narrow>(middle).bits == bits + (bits & 1));
  }
}

}  // namespace

TEST_CASE("narrow floats round to nearest even at every pattern", "[reference]") {
  check_all_patterns<F8E4M3>();
  check_all_patterns<F8E5M2>();
  check_all_patterns<F16>();
  check_all_patterns<BF16>();
}

TEST_CASE("narrow floats at the ends of their range", "[reference]") {
  CHECK(round_to(DType::kF16, 65519.99) == 65504);
  CHECK(round_to(DType::kF16, 65520) == kInf);
  CHECK(round_to(DType::kF16, -1e300) == -kInf);
  CHECK(round_to(DType::kBF16, 3.3961775292304601e38) == kInf);  // halfway beyond the greatest
  CHECK(round_to(DType::kBF16, 3.39e38) == 3.3895313892515355e38);
  CHECK(round_to(DType::kF8E4M3, 1e9) == 448);
  CHECK(round_to(DType::kF8E4M3, -kInf) == -448);
  CHECK(round_to(DType::kF8E5M2, kInf) == 57344);
  for (const DType t : {DType::kF8E4M3, DType::kF8E5M2, DType::kF16, DType::kBF16, DType::kF32}) {
    CHECK(std::isnan(round_to(t, kNan)));
    CHECK(std::signbit(round_to(t, -0.0)));
    CHECK(round_to(t, 1e-300) == 0);
  }
  CHECK(std::isinf(decode_narrow(F8E5M2{0x7c})));
  CHECK(std::isnan(decode_narrow(F8E5M2{0x7d})));
  CHECK(std::isnan(decode_narrow(F8E4M3{0xff})));
  CHECK(std::isnan(decode_narrow(F16{0x7c01})));
}

TEST_CASE("wide sources are rounded once", "[reference]") {
  // By way of f32 each of these would become a tie and go the other way.
  CHECK(round_to(DType::kBF16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
  CHECK(round_to(DType::kF16, 1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10);
  CHECK(round_to(DType::kF8E4M3, 1 + 0x1p-4 - 0x1p-40) == 1);
  int64_t whole = (int64_t{1} << 40) + (int64_t{1} << 32) + 1;
  BF16 narrow{};
  convert(DType::kI64, &whole, DType::kBF16, &narrow, 1);
  CHECK(decode_narrow(narrow) == 0x1p40f + 0x1p33f);
  whole = (int64_t{1} << 62) + (int64_t{1} << 38) + 1;
  float single = 0;
  convert(DType::kI64, &whole, DType::kF32, &single, 1);
  CHECK(single == 0x1p62f + 0x1p39f);
  whole = INT64_MAX;
  convert(DType::kI64, &whole, DType::kBF16, &narrow, 1);
  CHECK(decode_narrow(narrow) == 0x1p63f);
  CHECK(round_to_odd<float>(1e300) == std::numeric_limits<float>::max());
}

TEST_CASE("floats to integers truncate and saturate", "[reference]") {
  CHECK(to_int<int8_t>(DType::kI8, -1.9) == -1);
  CHECK(to_int<int8_t>(DType::kI8, -128.9) == -128);
  CHECK(to_int<int8_t>(DType::kI8, 128) == 127);
  CHECK(to_int<uint8_t>(DType::kU8, -0.9) == 0);
  CHECK(to_int<uint8_t>(DType::kU8, 255.9) == 255);
  CHECK(to_int<uint8_t>(DType::kU8, 1e30) == 255);
  CHECK(to_int<int32_t>(DType::kI32, 2147483647.5) == INT32_MAX);
  CHECK(to_int<int64_t>(DType::kI64, 9.3e18) == INT64_MAX);
  CHECK(to_int<int64_t>(DType::kI64, -kInf) == INT64_MIN);
  CHECK(to_int<int64_t>(DType::kI64, kNan) == 0);
  CHECK(to_int<uint8_t>(DType::kBool, 0.25) == 1);
  CHECK(to_int<uint8_t>(DType::kBool, kNan) == 1);
  CHECK(to_int<uint8_t>(DType::kBool, -0.0) == 0);
}

TEST_CASE("integers to integers keep the low bits", "[reference]") {
  const int64_t from[] = {300, -1, 0x1'0000'0080};
  uint8_t bytes[3];
  convert(DType::kI64, from, DType::kU8, bytes, 3);
  CHECK(std::vector<int>(bytes, bytes + 3) == std::vector<int>{44, 255, 128});
  int8_t small[3];
  convert(DType::kI64, from, DType::kI8, small, 3);
  CHECK(std::vector<int>(small, small + 3) == std::vector<int>{44, -1, -128});
  const int64_t multiple = 1 << 20;
  uint8_t truth = 0;
  convert(DType::kI64, &multiple, DType::kBool, &truth, 1);
  CHECK(truth == 1);
}

TEST_CASE("literals convert from what was written", "[reference]") {
  int64_t whole = 0;
  store(Literal{int64_t{9007199254740993}}, DType::kI64, &whole);
  CHECK(whole == 9007199254740993);
  float single = 0;
  store(Literal{0.1}, DType::kF32, &single);
  CHECK(single == 0.1f);
  store(Literal{true}, DType::kF32, &single);
  CHECK(single == 1.0f);
}
