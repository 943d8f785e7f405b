#include <cmath>

#include "catch.h"
#include "graph/literal.h"
#include "unit/graph/one_op.h"

using namespace fusec;
using enum DType;

TEST_CASE("elementwise ops broadcast as NumPy does") {
  CHECK(rule(OpKind::kAdd, {Type{kF32, {64, 1}}, Type{kF32, {128}}}) == "f32[64,128]");
  CHECK(rule(OpKind::kAdd, {Type{kF32, {}}, Type{kF32, {0, 3}}}) == "f32[0,3]");
  CHECK(rule(OpKind::kLt, {Type{kBF16, {2}}, Type{kBF16, {1}}}) == "bool[2]");
  CHECK(rule(OpKind::kWhere, {Type{kBool, {4, 1}}, Type{kI32, {3}}, integer(0)}) == "i32[4,3]");
  CHECK(rule(OpKind::kWhere, {boolean(true), Type{kBool, {3}}, boolean(false)}) == "bool[3]");
  CHECK(rule(OpKind::kFma, {Type{kF16, {2}}, Type{kF16, {2}}, number(1)}) == "f16[2]");
  CHECK(rule(OpKind::kAdd, {Type{kF32, {64, 128}}, Type{kF32, {64, 127}}}) ==
        "shape-mismatch: 'add' cannot broadcast [64,128] with [64,127]");
}

TEST_CASE("elementwise ops take one dtype of their class") {
  CHECK(rule(OpKind::kAdd, {Type{kBF16, {8}}, Type{kF32, {8}}}) == "dtype-mismatch: 'add' takes operands of one dtype, got bf16 and f32");
  CHECK(rule(OpKind::kDiv, {Type{kI32, {8}}, Type{kI32, {8}}}) == "dtype: 'div' takes floats, got i32");
  CHECK(rule(OpKind::kSub, {Type{kBool, {8}}, Type{kBool, {8}}}) == "dtype: 'sub' takes numbers, got bool");
  CHECK(rule(OpKind::kShl, {Type{kF32, {8}}, integer(1)}) == "dtype: 'shl' takes integers, got f32");
  CHECK(rule(OpKind::kLogicalAnd, {Type{kU8, {8}}, Type{kU8, {8}}}) == "dtype: 'logical_and' takes bool, got u8");
  CHECK(rule(OpKind::kWhere, {Type{kU8, {8}}, Type{kU8, {8}}, integer(0)}) == "dtype: 'where' takes a bool condition, got u8");
  CHECK(rule(OpKind::kAdd, {Type{kBool, {8}}, Type{kBool, {8}}}) == "bool[8]");
  CHECK(rule(OpKind::kPow, {Type{kI64, {8}}, integer(3)}) == "i64[8]");
}

TEST_CASE("a dtype mismatch names a remedy that parses") {
  OneOp one(OpKind::kAdd);
  one.on({Type{kBF16, {8}}, Type{kF32, {8}}});
  REQUIRE(one.diagnostics.all().at(0).notes.size() == 3);
  CHECK(one.diagnostics.all()[0].notes[2].text == R"(insert {"op": "cast", "in": ["a"], "dtype": "f32", "out": "a_f32"})");
}

TEST_CASE("literals take the type in which the op computes") {
  auto literal = [](OpKind kind, DType dtype, Literal written) {
    OneOp one(kind);
    const std::string got = one.on({Type{dtype, {8}}, written});
    return got.find(": ") == std::string::npos ? to_string(*one.graph[OpId(0)].in[1].literal) : got;
  };
  CHECK(literal(OpKind::kMul, kF64, number(0.1)) == "0.1");
  CHECK(literal(OpKind::kMul, kF32, number(0.1)) == "0.10000000149011612");
  CHECK(literal(OpKind::kMul, kBF16, number(0.1)) == "0.10000000149011612");
  CHECK(literal(OpKind::kLt, kBF16, number(0.1)) == "0.10009765625");
  CHECK(literal(OpKind::kMul, kF32, integer(16777217)) == "16777216");
  CHECK(literal(OpKind::kAdd, kI32, number(2.0)) == "2");
  CHECK(literal(OpKind::kAdd, kU8, integer(256)) == "literal: 'add' cannot take it: literal 256 does not fit u8 (0 to 255)");
  CHECK(literal(OpKind::kAdd, kI64, number(1e30)).find("does not fit i64") != std::string::npos);
  CHECK(literal(OpKind::kAdd, kI32, number(0.5)).find("no integer") != std::string::npos);
  CHECK(literal(OpKind::kAdd, kI32, number(NAN)).find("no integer") != std::string::npos);
  CHECK(literal(OpKind::kAdd, kF32, boolean(true)).find("is bool") != std::string::npos);
  CHECK(literal(OpKind::kAdd, kBool, integer(1)).find("takes true or false") != std::string::npos);
  CHECK(rule(OpKind::kAdd, {number(1), number(2)}) == "literals-only: 'add' has only literals; at least one operand must be a value");
  CHECK(rule(OpKind::kWhere, {Type{kBool, {2}}, number(1), number(2)}).starts_with("literals-only: "));
  CHECK(rule(OpKind::kAdd, {Type{kF32, {2}}}) == "operand-count: 'add' takes 2 operands, got 1");
}

TEST_CASE("rounding to every float format") {
  CHECK(round_to(kF16, 65519.0L) == 65504);
  CHECK(std::isinf(round_to(kF16, 65520.0L)));
  CHECK(round_to(kF16, std::ldexp(1.0L, -25)) == 0);  // half of the least, to even
  CHECK(round_to(kF16, std::ldexp(3.0L, -26)) == 0x1p-24);
  CHECK(round_to(kF8E4M3, 1e9L) == 448);
  CHECK(round_to(kF8E5M2, -INFINITY) == -57344);
  CHECK(round_to(kF8E4M3, 17.0L) == 16);
  CHECK(round_to(kF8E4M3, 19.0L) == 20);
  CHECK(round_to(kBF16, 3.395e38L) == 0x1.fep127);
  CHECK(std::isinf(round_to(kBF16, 3.397e38L)));
  CHECK(round_to(kF32, 0x1p-150L) == 0);
  CHECK(std::signbit(round_to(kF32, -0.0L)));
  CHECK(std::isnan(round_to(kF8E4M3, NAN)));
}

TEST_CASE("conversions and creation") {
  OneOp cast(OpKind::kCast);
  cast.dtype = kI8;
  CHECK(cast.on({Type{kF64, {2, 3}}}) == "i8[2,3]");
  OneOp bits(OpKind::kBitcast);
  bits.dtype = kF32;
  CHECK(bits.on({Type{kF64, {2}}}) == "bitcast-size: 'bitcast' takes dtypes of one size, got f64 (8 bytes) and f32 (4)");
  auto make = [](OpKind kind, DType dtype, const std::function<void(Attrs&)>& set) {
    OneOp one(kind);
    one.dtype = dtype;
    one.attrs.shape = {2, 3};
    set(one.attrs);
    return one.on({});
  };
  CHECK(make(OpKind::kFull, kBool, [](Attrs& a) { a.value = integer(1); }) == "bool[2,3]");
  CHECK(make(OpKind::kFull, kF32, [](Attrs& a) { a.value = number(NAN); }) == "f32[2,3]");
  CHECK(make(OpKind::kFull, kI8, [](Attrs& a) { a.value = integer(128); }) ==
        "literal: 'full' cannot take it: literal 128 does not fit i8 (-128 to 127)");
  CHECK(make(OpKind::kFull, kI8, [](Attrs& a) { a.shape = {2, -6}; }) == "negative-size: 'full' has the negative size -6 in its shape");
  CHECK(make(OpKind::kIota, kU8, [](Attrs& a) { a.step = integer(-1); }) == "u8[2,3]");
  CHECK(make(OpKind::kIota, kI32, [](Attrs& a) { a.start = number(0.5); }).starts_with("literal: "));
  CHECK(make(OpKind::kIota, kF32, [](Attrs& a) { a.dim = 2; }) == "dim-range: 'iota' has dim 2 for rank 2; allowed are -2 to 1");
  CHECK(make(OpKind::kUniform, kI32, [](Attrs&) {}) == "dtype: 'uniform' makes floats, got i32");
  CHECK(make(OpKind::kFull, kF64, [](Attrs& a) { a.shape = {int64_t{1} << 40, int64_t{1} << 20}; }).starts_with("too-large: "));
  CHECK(make(OpKind::kFull, kF64, [](Attrs& a) { a.shape = Shape(9, 1); }).starts_with("rank: "));
}
