#include "catch.h"
#include "support/check.h"
#include "unit/graph/one_op.h"

using namespace fusec;
using enum DType;

TEST_CASE("reductions") {
  const Type x{kBF16, {4, 5, 6}};
  CHECK(rule(OpKind::kSum, {x}) == "bf16[]");
  CHECK(rule(OpKind::kSum, {x}, [](Attrs& a) { a.dims = {-1, 0}; }) == "bf16[5]");
  CHECK(rule(OpKind::kSum, {x}, [](Attrs& a) { a.dims = {}; }) == "bf16[4,5,6]");
  CHECK(rule(OpKind::kMean, {x}, [](Attrs& a) { a.dims = {1}, a.keepdim = true, a.dtype = kF64; }) == "f64[4,1,6]");
  CHECK(rule(OpKind::kSum, {x}, [](Attrs& a) { a.dims = {3}; }) == "dim-range: 'sum' has dims 3 for rank 3; allowed are -3 to 2");
  CHECK(rule(OpKind::kSum, {Type{kBool, {2}}}) == "dtype: 'sum' of bool needs the attribute 'dtype'");
  CHECK(rule(OpKind::kMean, {Type{kI32, {2}}}) == "dtype: 'mean' of i32 needs the attribute 'dtype'");
  CHECK(rule(OpKind::kMean, {Type{kI32, {2}}}, [](Attrs& a) { a.dtype = kI32; }) == "dtype: 'mean' gives floats, its dtype cannot be i32");
  CHECK(rule(OpKind::kMax, {Type{kF32, {4, 0}}}, [](Attrs& a) { a.dims = {1}; }) ==
        "empty-reduction: 'max' of nothing has no value: dimension 1 of f32[4,0] has size 0");
  CHECK(rule(OpKind::kMax, {Type{kF32, {4, 0}}}, [](Attrs& a) { a.dims = {0}; }) == "f32[0]");
  CHECK(rule(OpKind::kMax, {Type{kBool, {4}}}) == "dtype: 'max' takes numbers, got bool");
  CHECK(rule(OpKind::kAll, {Type{kBool, {4}}}) == "bool[]");
  CHECK(rule(OpKind::kArgmax, {x}, [](Attrs& a) { a.dim = 1; }) == "i64[4,6]");
  CHECK(rule(OpKind::kVarMean, {x}, [](Attrs& a) { a.dims = {2}; }) == "bf16[4,5] bf16[4,5]");
  CHECK(rule(OpKind::kLogsumexp, {Type{kI8, {2}}}) == "dtype: 'logsumexp' takes floats, got i8");
}

TEST_CASE("attributes come out in normal form") {
  OneOp sum(OpKind::kSum);
  sum.attrs.dims = {-1, 0};
  sum.on({Type{kF32, {2, 3, 4}}});
  CHECK(sum.normalized().dims == std::vector<int64_t>{0, 2});
  OneOp all(OpKind::kSum);
  all.on({Type{kF32, {2, 3}}});
  CHECK(all.normalized().dims == std::vector<int64_t>{0, 1});
  OneOp norm(OpKind::kLayerNorm);
  norm.on({Type{kF32, {2, 3}}});
  CHECK(norm.normalized().dims == std::vector<int64_t>{1});
  OneOp scan(OpKind::kCumsum);
  scan.on({Type{kF32, {2, 3}}});
  CHECK(scan.normalized().dim == 1);
  OneOp slice(OpKind::kSlice);
  slice.attrs.starts = {0};
  slice.attrs.stops = {2};
  slice.on({Type{kF32, {2}}});
  CHECK(slice.normalized().steps == std::vector<int64_t>{1});
}

TEST_CASE("sorts and scans") {
  const Type x{kF32, {4, 8}};
  CHECK(rule(OpKind::kSort, {x}) == "f32[4,8] i64[4,8]");
  CHECK(rule(OpKind::kArgsort, {x}) == "i64[4,8]");
  CHECK(rule(OpKind::kTopk, {x}, [](Attrs& a) { a.k = 3; }) == "f32[4,3] i64[4,3]");
  CHECK(rule(OpKind::kTopk, {x}, [](Attrs& a) { a.k = 9; }) == "k-range: 'topk' has k 9 for size 8 of dimension 1");
  CHECK(rule(OpKind::kTopk, {x}, [](Attrs& a) { a.k = -1; }) == "k-range: 'topk' has the negative k -1");
  CHECK(rule(OpKind::kCumsum, {Type{kBool, {3}}}) == "dtype: 'cumsum' takes numbers, got bool");
  CHECK(rule(OpKind::kCumsum, {Type{kF32, {}}}) == "dim-range: 'cumsum' has dim -1 for rank 0; a 0-d tensor has no dimensions");
}

TEST_CASE("gathers") {
  const Type x{kF32, {4, 8}};
  CHECK(rule(OpKind::kGather, {x, Type{kI64, {9, 8}}}) == "f32[9,8]");
  CHECK(rule(OpKind::kGather, {x, Type{kI64, {9, 9}}}) ==
        "index-size: 'gather' has an index larger than its operand in dimension 1 ([9,9] and [4,8]): 9 is greater than 8");
  CHECK(rule(OpKind::kGather, {x, Type{kF32, {3}}}) == "index-dtype: 'gather' takes an index of i32 or i64, got f32");
  CHECK(rule(OpKind::kTakeAlongAxis, {x, Type{kI32, {1, 5}}}, [](Attrs& a) { a.dim = 1; }) == "f32[4,5]");
  CHECK(rule(OpKind::kTakeAlongAxis, {x, Type{kI32, {3, 5}}}, [](Attrs& a) { a.dim = 1; }).starts_with("shape-mismatch: "));
  CHECK(rule(OpKind::kIndexSelect, {x, Type{kI32, {3}}}, [](Attrs& a) { a.dim = -1; }) == "f32[4,3]");
  CHECK(rule(OpKind::kEmbedding, {Type{kI64, {2, 3}}, x}) == "f32[2,3,8]");
}

TEST_CASE("scatters") {
  const Type x{kF32, {4, 8}};
  CHECK(rule(OpKind::kScatter, {x, Type{kI64, {3, 2}}, Type{kF32, {5, 6}}}) == "f32[4,8]");
  CHECK(rule(OpKind::kScatter, {x, Type{kI64, {3, 2}}, number(1)}) == "f32[4,8]");
  CHECK(rule(OpKind::kScatter, {x, Type{kI64, {4, 9}}, x}, [](Attrs& a) { a.dim = 1; }) ==
        "index-size: 'scatter' has an index larger than src in dimension 1 ([4,9] and [4,8]): 9 is greater than 8");
  CHECK(rule(OpKind::kScatter, {x, Type{kI64, {8}}, x}).starts_with("rank: 'scatter' takes an index of rank 2, got rank 1"));
  CHECK(rule(OpKind::kScatter, {x, Type{kI64, {4, 8}}, Type{kF16, {4, 8}}}).starts_with("dtype-mismatch: "));
  CHECK(rule(OpKind::kIndexPut, {x, Type{kI64, {3}}, Type{kF32, {3, 8}}}) == "f32[4,8]");
  CHECK(rule(OpKind::kIndexPut, {x, Type{kI64, {3}}, Type{kF32, {4, 8}}}) ==
        "shape-mismatch: 'index_put' takes a src whose dimension 0 has the length of the index: 4 and 3");
}

TEST_CASE("composites") {
  const Type x{kBF16, {2, 6, 4}};
  CHECK(rule(OpKind::kSoftmax, {x}) == "bf16[2,6,4]");
  CHECK(rule(OpKind::kLayerNorm, {x, Type{kF32, {4}}, Type{kF64, {4}}}) == "bf16[2,6,4]");
  CHECK(rule(OpKind::kLayerNorm, {x, Type{kF32, {6}}}) == "shape-mismatch: 'layer_norm' takes a weight of shape [4], got [6]");
  CHECK(rule(OpKind::kLayerNorm, {x}, [](Attrs& a) { a.eps = -1; }) ==
        "attribute-range: 'layer_norm' has eps -1; it is finite and at least 0");
  CHECK(rule(OpKind::kGroupNorm, {x}, [](Attrs& a) { a.groups = 4; }) == "groups: 'group_norm' cannot divide 6 channels into 4 groups");
  CHECK(rule(OpKind::kRope, {x, Type{kF32, {6, 4}}, Type{kF32, {4}}}) == "bf16[2,6,4]");
  CHECK(rule(OpKind::kRope, {x, Type{kF32, {3, 2, 6, 4}}, x}).starts_with("shape-mismatch: "));
  CHECK(rule(OpKind::kDropout, {x}, [](Attrs& a) { a.p = 1.5; }) == "attribute-range: 'dropout' has p 1.5; it is between 0 and 1");
  CHECK(rule(OpKind::kCrossEntropy, {x, Type{kI64, {2, 6}}}) == "bf16[2,6]");
  CHECK(rule(OpKind::kCrossEntropy, {x, Type{kI64, {2}}}) == "shape-mismatch: 'cross_entropy' takes a target of shape [2,6], got [2]");
}

TEST_CASE("matrix products") {
  CHECK(rule(OpKind::kMatmul, {Type{kF16, {5, 1, 2, 3}}, Type{kF16, {4, 3, 7}}}) == "f16[5,4,2,7]");
  CHECK(rule(OpKind::kMatmul, {Type{kF16, {3}}, Type{kF16, {3}}}) == "f16[]");
  CHECK(rule(OpKind::kMatmul, {Type{kF16, {2, 3}}, Type{kF16, {4, 3}}}).starts_with("shape-mismatch: "));
  CHECK(rule(OpKind::kMatmul, {Type{kF8E4M3, {3}}, Type{kF8E4M3, {3}}}) == "dtype: 'matmul' of f8e4m3 needs the attribute 'dtype'");
  CHECK(rule(OpKind::kLinear, {Type{kF32, {2, 3}}, Type{kF32, {5, 3}}, Type{kF32, {5}}}) == "f32[2,5]");
}

TEST_CASE("verify finds what a pass broke") {
  Graph graph;
  Builder builder(graph);
  const ValueId x = builder.input("x", kF32, {8});
  const ValueId y = builder.value(OpKind::kNeg, {operand(x)}, "y");
  const ValueId z = builder.value(OpKind::kExp, {operand(y)}, "z");
  builder.output(z);
  CHECK_NOTHROW(verify(graph));
  auto broken = [&](const std::function<void(Graph&)>& change) {
    Graph copy = graph;
    change(copy);
    CHECK_THROWS_AS(verify(copy), InternalError);
  };
  broken([&](Graph& g) { g.values[y].dtype = kF16; });
  broken([&](Graph& g) { g.values[z].shape = {9}; });
  broken([&](Graph& g) { g.values[z].name = "y"; });
  broken([&](Graph& g) { std::swap(g.ops[OpId(0)], g.ops[OpId(1)]); });
  broken([&](Graph& g) { g.ops[OpId(1)].out[0] = y; });
  broken([&](Graph& g) { g.outputs.clear(); });
  broken([&](Graph& g) { g.outputs.push_back(g.outputs[0]); });
  broken([&](Graph& g) { g.outputs[0].alias = 3; });
}
