#include "catch.h"
#include "unit/graph/one_op.h"

using namespace fusec;
using enum DType;

TEST_CASE("reshape keeps the element count") {
  auto reshape = [](Shape from, Shape to) { return rule(OpKind::kReshape, {Type{kF32, from}}, [&](Attrs& a) { a.shape = to; }); };
  CHECK(reshape({4, 6}, {2, -1}) == "f32[2,12]");
  CHECK(reshape({}, {1, -1}) == "f32[1,1]");
  CHECK(reshape({0, 3}, {-1, 3}) == "f32[0,3]");
  CHECK(reshape({4, 6}, {5, 5}) == "reshape-count: 'reshape' cannot make [5,5] (25 elements) of [4,6] (24)");
  CHECK(reshape({4, 6}, {5, -1}) == "reshape-count: 'reshape' cannot divide 24 elements by 5 for the size -1");
  CHECK(reshape({0}, {0, -1}) == "reshape-count: 'reshape' has -1 beside a size 0: any size would fit");
  CHECK(reshape({4}, {-1, -1}) == "negative-size: 'reshape' has -1 twice in its shape");
  CHECK(reshape({4}, {-2, -2}) == "negative-size: 'reshape' has the negative size -2 in its shape");
}

TEST_CASE("permute, squeeze, unsqueeze, expand, flip") {
  const Type x{kF32, {4, 1, 2}};
  CHECK(rule(OpKind::kPermute, {x}, [](Attrs& a) { a.perm = {2, 0, -2}; }) == "f32[2,4,1]");
  CHECK(rule(OpKind::kPermute, {x}, [](Attrs& a) { a.perm = {0, 2, 2}; }) == "perm: 'permute' has dimension 2 twice in perm");
  CHECK(rule(OpKind::kPermute, {x}, [](Attrs& a) { a.perm = {0, 1}; }) == "perm: 'permute' has perm of length 2 for rank 3");
  CHECK(rule(OpKind::kSqueeze, {x}, [](Attrs& a) { a.dims = {-2}; }) == "f32[4,2]");
  CHECK(rule(OpKind::kSqueeze, {x}, [](Attrs& a) { a.dims = {0}; }) == "squeeze-size: 'squeeze' needs size 1 in dimension 0: 4 and 1");
  CHECK(rule(OpKind::kUnsqueeze, {x}, [](Attrs& a) { a.dims = {-1, 0}; }) == "f32[1,4,1,2,1]");
  CHECK(rule(OpKind::kExpand, {x}, [](Attrs& a) { a.shape = {3, 4, 5, 2}; }) == "f32[3,4,5,2]");
  CHECK(rule(OpKind::kExpand, {x}, [](Attrs& a) { a.shape = {4, 5, 3}; }) == "shape-mismatch: 'expand' cannot expand [4,1,2] to [4,5,3]");
  CHECK(rule(OpKind::kFlip, {x}, [](Attrs& a) { a.dims = {0, -3}; }) == "dim-repeated: 'flip' has dimension 0 twice in dims");
  CHECK(rule(OpKind::kFlip, {number(1)}, [](Attrs& a) { a.dims = {0}; }) == "operand: 'flip' takes a value as operand 1, got literal 1");
}

TEST_CASE("slice is Python's within the size") {
  auto slice = [](int64_t start, int64_t stop, int64_t step) {
    return rule(OpKind::kSlice, {Type{kF32, {10}}}, [&](Attrs& a) {
      a.starts = {start};
      a.stops = {stop};
      if (step) a.steps = {step};
    });
  };
  CHECK(slice(1, 10, 0) == "f32[9]");
  CHECK(slice(1, 10, 4) == "f32[3]");
  CHECK(slice(7, 3, 2) == "f32[0]");
  CHECK(slice(10, 10, 1) == "f32[0]");
  CHECK(slice(0, 11, 1) == "slice-range: 'slice' has stop 11 in dimension 0, beyond the size 10");
  CHECK(slice(-1, 3, 1) == "slice-range: 'slice' has the negative start -1 in dimension 0; allowed are 0 to 10");
  CHECK(slice(0, 3, -1) == "slice-step: 'slice' has step -1 in dimension 0; steps are at least 1");
}

TEST_CASE("pad, cat, stack") {
  const Type x{kI32, {2, 3}}, y{kI32, {4, 3}};
  CHECK(rule(OpKind::kPad, {x}, [](Attrs& a) { a.low = {1, -1}, a.high = {0, -1}; }) == "i32[3,1]");
  CHECK(rule(OpKind::kPad, {x}, [](Attrs& a) { a.low = {0, -2}, a.high = {0, -2}; }) ==
        "pad-size: 'pad' crops more than dimension 1 has: size 3, low -2, high -2");
  CHECK(rule(OpKind::kPad, {Type{kBool, {2}}}, [](Attrs& a) { a.low = {1}, a.high = {0}; }) == "bool[3]");
  CHECK(rule(OpKind::kCat, {x, y, x}) == "i32[8,3]");
  CHECK(rule(OpKind::kCat, {x, y}, [](Attrs& a) { a.dim = 1; }) ==
        "shape-mismatch: 'cat' needs one size in dimension 0 of [2,3] and [4,3]: 2 and 4");
  CHECK(rule(OpKind::kCat, {x, Type{kI32, {2}}}) == "rank: 'cat' takes operands of one rank, got [2,3] and [2]");
  CHECK(rule(OpKind::kCat, {x, Type{kI64, {2, 3}}}).starts_with("dtype-mismatch: "));
  CHECK(rule(OpKind::kStack, {x, x}, [](Attrs& a) { a.dim = -1; }) == "i32[2,3,2]");
  CHECK(rule(OpKind::kStack, {x, y}).starts_with("shape-mismatch: "));
}

namespace {
struct Dynamic : OneOp {
  Size n;
  explicit Dynamic(OpKind k) : OneOp(k) { n = Size::symbol(graph.symbols.push({"N", 48, 16, 4096})); }
};
}  // namespace

TEST_CASE("dynamic sizes are proved, not guessed") {
  Dynamic add(OpKind::kAdd);
  CHECK(add.on({Type{kF32, {add.n, 1}}, Type{kF32, {8}}}) == "f32[N,8]");
  Dynamic bad(OpKind::kAdd);
  CHECK(bad.on({Type{kF32, {bad.n}}, Type{kF32, {48}}}).starts_with("shape-mismatch: 'add' cannot broadcast [N] with [48]"));
  Dynamic flat(OpKind::kReshape);
  flat.attrs.shape = {flat.n, -1};
  CHECK(flat.on({Type{kF32, {flat.n * 4, 3}}}) == "f32[N,12]");
  Dynamic rows(OpKind::kReshape);
  rows.attrs.shape = {-1, 16};
  CHECK(rows.on({Type{kF32, {rows.n}}}) == "f32[y0_size0,16]");
  CHECK(rows.graph.symbols[SymbolId(1)].typical == 3);
  Dynamic lowest(OpKind::kReshape);
  lowest.attrs.shape = {-1, 32};
  CHECK(lowest.on({Type{kF32, {lowest.n, 8}}}) == "f32[y0_size0,32]");
  CHECK(lowest.graph.symbols[SymbolId(1)].denominator == 4);
  Dynamic odd(OpKind::kReshape);
  odd.attrs.shape = {-1, 5};
  CHECK(odd.on({Type{kF32, {odd.n}}}).starts_with("reshape-count: "));
}

TEST_CASE("a derived size multiplies back") {
  Graph graph;
  const Size n = Size::symbol(graph.symbols.push({"N", 48, 16, 4096}));
  Builder builder(graph);
  Attrs rows, flat;
  rows.shape = {-1, 16};
  flat.shape = {n};
  const ValueId x = builder.input("x", kF32, {n});
  const ValueId y = builder.value(OpKind::kReshape, {operand(x)}, "y", &rows);
  builder.output(builder.value(OpKind::kReshape, {operand(y)}, "z", &flat));
  verify(graph);
}

TEST_CASE("bounds that cannot be proved become constraints") {
  Dynamic slice(OpKind::kSlice);
  slice.attrs.starts = {8};
  slice.attrs.stops = {slice.n};
  slice.attrs.steps = {3};
  CHECK(slice.on({Type{kF32, {slice.n}}}) == "f32[y0_size0]");
  CHECK(evaluate(slice.graph[slice.graph[OpId(0)].out[0]].shape[0], typical_values(slice.graph.symbols)) == 14);
  REQUIRE(slice.graph.constraints.size() == 1);
  CHECK(slice.graph.constraints[0].lhs == Size(8));
  Dynamic beyond(OpKind::kSlice);
  beyond.attrs.starts = {0};
  beyond.attrs.stops = {64};
  CHECK(beyond.on({Type{kF32, {beyond.n}}}).starts_with("slice-range: "));
}
