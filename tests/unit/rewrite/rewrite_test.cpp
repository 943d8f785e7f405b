#include "rewrite/rewrite.h"

#include <chrono>
#include <cmath>

#include "catch.h"
#include "data/inputs.h"
#include "graph/builder.h"
#include "reference/evaluate.h"

using namespace fusec;
using enum DType;

namespace {

struct Test {
  Graph graph;
  Builder builder{graph};
  RewriteLog log;

  ValueId in(const char* name, DType dtype, Shape shape) { return builder.input(name, dtype, std::move(shape)); }
  ValueId op(OpKind kind, std::vector<Operand> in, const char* name, Attrs attrs = {}, DType dtype = kF32) {
    return builder.value(kind, std::move(in), name, attrs == Attrs{} ? nullptr : &attrs, dtype);
  }
  ValueId op(OpKind kind, ValueId a, const char* name) { return op(kind, std::vector<Operand>{operand(a)}, name); }
  ValueId op(OpKind kind, ValueId a, ValueId b, const char* name) { return op(kind, {operand(a), operand(b)}, name); }
  ValueId cast(ValueId a, DType dtype, const char* name) { return op(OpKind::kCast, {operand(a)}, name, {}, dtype); }
  ValueId full(Literal value, DType dtype, const char* name) {
    Attrs a;
    a.shape = {2, 3};
    a.value = value;
    return op(OpKind::kFull, {}, name, a, dtype);
  }

  // A pass keeps the invariants and, given `same_values`, the results.
  void run(Graph (*pass)(Graph, RewriteLog&), bool same_values = true) {
    const Graph before = graph;
    verify(before);
    graph = pass(before, log);
    verify(graph);
    if (!same_values) return;
    const std::vector<Tensor> inputs = make_inputs(before, {}, 1);
    CHECK(evaluate(before, inputs) == evaluate(graph, inputs));
  }
  // "y=copy(x) z=full()"
  std::string text() const {
    std::string text;
    for (const Op& op : graph.ops) {
      for (ValueId v : op.out)
        text += (text.empty() || text.back() == ',' ? "" : " ") + (v.valid() ? graph[v].name : "_") + (v == op.out.back() ? "" : ",");
      text += "=" + std::string(name_of(op.kind)) + "(";
      for (const Operand& o : op.in) text += (text.back() == '(' ? "" : ",") + (o.is_value() ? graph[o.value].name : "#");
      text += ")";
    }
    return text;
  }
};

}  // namespace

TEST_CASE("dead ops go, unread results lose their name") {
  Test t;
  const ValueId x = t.in("x", kF32, {4});
  t.op(OpKind::kNeg, x, "dead");
  const Attrs sort = default_attrs(OpKind::kSort);
  const OpId sorted = t.builder.op(OpKind::kSort, {operand(x)}, {"v", "i"}, &sort);
  t.builder.output(t.graph[sorted].out[1]);
  t.run(remove_dead_ops);
  CHECK(t.text() == "_,i=sort(x)");
  CHECK(t.graph.values.size() == 2);
}

TEST_CASE("the order of a permutation is its inverse, by a scatter") {
  Test t;
  const ValueId x = t.in("x", kF32, {5});
  const Attrs sort = default_attrs(OpKind::kArgsort);
  const ValueId order = t.op(OpKind::kArgsort, {operand(x)}, "order", sort);
  Attrs falling = sort;
  falling.descending = true;
  t.builder.output(t.op(OpKind::kArgsort, {operand(order)}, "rank", sort));
  t.builder.output(t.op(OpKind::kArgsort, {operand(order)}, "last", falling));
  const ValueId near = t.op(OpKind::kSub, {operand(Literal{int64_t{3}}), operand(order)}, "near");
  t.builder.output(t.op(OpKind::kArgsort, {operand(near)}, "sorted", sort));
  t.run(invert_permutations);
  CHECK(t.text() ==
        "order=argsort(x) rank.zeros=full() rank.positions=iota() rank=scatter(rank.zeros,order,rank.positions) "
        "last.places=sub(#,order) last.zeros=full() last.positions=iota() last=scatter(last.zeros,last.places,last.positions) "
        "near=sub(#,order) sorted=argsort(near)");
  CHECK(t.log.inverted.size() == 2);
  CHECK(t.log.inverted["rank"] == "argsort of a permutation: its inverse, by a scatter of positions");
}

TEST_CASE("identities become copies where they are exact for every value") {
  Test t;
  const ValueId x = t.in("x", kF32, {4}), i = t.in("i", kI32, {4}), b = t.in("b", kBool, {4}), h = t.in("h", kF8E5M2, {4});
  auto with = [&](OpKind kind, ValueId v, Literal l, const char* name) { t.builder.output(t.op(kind, {operand(v), operand(l)}, name)); };
  with(OpKind::kMul, x, {1.0}, "mul1");
  with(OpKind::kAdd, x, {0.0}, "add0");  // −0 + 0 is +0
  with(OpKind::kAdd, x, {-0.0}, "addm0");
  with(OpKind::kSub, x, {0.0}, "sub0");
  with(OpKind::kSub, x, {-0.0}, "subm0");  // −0 − −0 is +0
  with(OpKind::kMul, x, {0.0}, "mul0");
  with(OpKind::kAdd, i, {int64_t{0}}, "iadd0");
  with(OpKind::kLogicalAnd, b, {true}, "and1");
  with(OpKind::kLogicalAnd, b, {false}, "and0");
  with(OpKind::kMul, h, {1.0}, "hmul1");  // saturates
  t.builder.output(t.op(OpKind::kSub, {operand(Literal{0.0}), operand(x)}, "neg"));
  t.builder.output(t.op(OpKind::kAdd, {operand(Literal{-0.0}), operand(x)}, "left"));
  t.builder.output(t.cast(x, kF32, "same"));
  t.run(simplify);
  CHECK(
      t.text() ==
      "mul1=copy(x) add0=add(x,#) addm0=copy(x) sub0=copy(x) subm0=sub(x,#) mul0=mul(x,#) iadd0=copy(i) and1=copy(b) and0=logical_and(b,#) "
      "hmul1=mul(h,#) neg=sub(#,x) left=copy(x) same=copy(x)");
}

TEST_CASE("constants fold in the op's own dtype and rounding") {
  Test t;
  const ValueId tenth = t.full({0.1}, kBF16, "tenth");
  const ValueId wide = t.cast(tenth, kF32, "wide");
  const ValueId product = t.op(OpKind::kMul, {operand(wide), operand(Literal{3.0})}, "product");
  const ValueId nan = t.op(OpKind::kSqrt, {operand(t.full({-1.0}, kF16, "minus"))}, "nan");
  const ValueId wrapped = t.op(OpKind::kAdd, {operand(t.full({int64_t{127}}, kI8, "most")), operand(Literal{int64_t{1}})}, "wrapped");
  Attrs pair;
  pair.shape = {3, 2};
  const ValueId view = t.op(OpKind::kReshape, {operand(product)}, "view", pair);
  const ValueId x = t.in("x", kF32, {3, 2});
  t.builder.output(t.op(OpKind::kAdd, view, x, "y"));
  for (ValueId v : {nan, wrapped}) t.builder.output(v);
  t.run(fold_constants);
  t.run(remove_dead_ops);
  CHECK(t.text() == "nan=full() wrapped=full() view=full() y=add(view,x)");
  CHECK(std::isnan(t.graph.attrs(t.graph[OpId(0)]).value.as_double()));
  CHECK(t.graph.attrs(t.graph[OpId(1)]).value == Literal{int64_t{-128}});
  CHECK(t.graph.attrs(t.graph[OpId(2)]).value == Literal{static_cast<double>(0.10009765625f * 3.0f)});
  // Every op as written is accounted for.
  CHECK(t.log.standing_for("tenth") == "view");
  CHECK(t.log.standing_for("minus") == "nan");
}

TEST_CASE("constants of different values do not fold through cat and pad") {
  Test t;
  const ValueId a = t.full({1.0}, kF32, "a"), b = t.full({2.0}, kF32, "b");
  t.builder.output(t.op(OpKind::kCat, a, a, "same"));
  t.builder.output(t.op(OpKind::kCat, a, b, "differ"));
  Attrs ones, zeros;
  ones.low = ones.high = zeros.low = zeros.high = {1, 1};
  ones.value = {1.0};
  t.builder.output(t.op(OpKind::kPad, {operand(a)}, "ones", ones));
  t.builder.output(t.op(OpKind::kPad, {operand(a)}, "zeros", zeros));
  t.run(fold_constants);
  CHECK(t.text() == "a=full() b=full() same=full() differ=cat(a,b) ones=full() zeros=pad(a)");
}

TEST_CASE("equal ops are shared, through chains, and outputs follow") {
  Test t;
  const ValueId x = t.in("x", kF32, {4});
  const ValueId a = t.op(OpKind::kExp, x, "a"), b = t.op(OpKind::kExp, x, "b");
  const ValueId c = t.op(OpKind::kAdd, {operand(a), operand(Literal{0.0})}, "c"),
                d = t.op(OpKind::kAdd, {operand(b), operand(Literal{0.0})}, "d");
  const ValueId e = t.op(OpKind::kAdd, {operand(b), operand(Literal{-0.0})}, "e");  // not equal bit for bit
  const ValueId f = t.cast(x, kF16, "f"), g = t.cast(x, kBF16, "g");
  for (ValueId v : {c, d, e, f, g}) t.builder.output(v);
  t.run(share_equal_ops);
  CHECK(t.text() == "a=exp(x) c=add(a,#) e=add(a,#) f=cast(x) g=cast(x)");
  CHECK(t.log.merged == std::map<std::string, std::string>{{"b", "a"}, {"d", "c"}});
  CHECK(t.graph.outputs[1].name == "d");
  CHECK(t.graph.outputs[1].value == t.graph.outputs[0].value);
}

TEST_CASE("a shared op keeps results that only its like had") {
  Test t;
  const ValueId x = t.in("x", kF32, {4});
  const Attrs sort = default_attrs(OpKind::kSort);
  const OpId first = t.builder.op(OpKind::kSort, {operand(x)}, {"", "i"}, &sort),
             second = t.builder.op(OpKind::kSort, {operand(x)}, {"v", "j"}, &sort);
  for (ValueId v : {t.graph[first].out[1], t.graph[second].out[0], t.graph[second].out[1]}) t.builder.output(v);
  t.run(share_equal_ops);
  CHECK(t.text() == "v,i=sort(x)");
}

TEST_CASE("what an expansion made gives way to ops as written") {
  Test t;
  const ValueId x = t.in("x", kF32, {4, 8});
  Attrs dim;
  dim.dim = -1;
  t.builder.output(t.op(OpKind::kSoftmax, {operand(x)}, "y", dim));
  t.builder.output(t.op(OpKind::kLogSoftmax, {operand(x)}, "z", dim));
  Attrs rows;
  rows.dims = {1};
  rows.keepdim = true;
  t.builder.output(t.op(OpKind::kMax, {operand(x)}, "m", rows));
  t.run(expand_composites, false);
  t.run(share_equal_ops);
  CHECK(t.text() == "m=max(x) y.sub=sub(x,m) y.exp=exp(y.sub) y.sum=sum(y.exp) y=div(y.exp,y.sum) z.log=log(y.sum) z=sub(y.sub,z.log)");
  CHECK(t.log.merged ==
        std::map<std::string, std::string>{{"y.max", "m"}, {"z.max", "m"}, {"z.sub", "y.sub"}, {"z.exp", "y.exp"}, {"z.sum", "y.sum"}});
  CHECK(t.graph[OpId(0)].origin.empty());
  CHECK(t.graph[OpId(1)].origin == "y");
}

TEST_CASE("relaxed casts drop a rounding that only up-casts read") {
  Test t;
  const ValueId x = t.in("x", kF32, {4});
  const ValueId down = t.cast(x, kBF16, "down"), kept = t.cast(x, kF16, "kept");
  t.builder.output(t.cast(down, kF32, "same"));
  t.builder.output(t.cast(down, kF64, "wider"));
  t.builder.output(t.cast(kept, kF32, "up"));
  t.builder.output(kept);
  t.run(relax_casts, false);
  t.run(remove_dead_ops);
  CHECK(t.text() == "kept=cast(x) same=copy(x) wider=cast(x) up=cast(kept)");
  CHECK(t.log.standing_for("down") == "same");
}

namespace {
std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.elems(); ++i) out.push_back(t.dtype == kF64 ? t.as<double>()[i] : static_cast<double>(t.as<float>()[i]));
  return out;
}

// Evaluates a composite on f64 inputs: inputs, then the result.
std::vector<std::vector<double>> composite(Test& t, ValueId y) {
  t.builder.output(y);
  t.run(expand_composites, false);
  std::vector<std::vector<double>> all;
  const std::vector<Tensor> inputs = make_inputs(t.graph, {}, 7);
  for (const Tensor& i : inputs) all.push_back(numbers(i));
  all.push_back(numbers(evaluate(t.graph, inputs)[0]));
  return all;
}
}  // namespace

TEST_CASE("softmax and layer_norm compute what they are called") {
  Test s;
  Attrs dim;
  dim.dim = 0;
  const auto soft = composite(s, s.op(OpKind::kSoftmax, {operand(s.in("x", kF64, {5}))}, "y", dim));
  double sum = 0;
  for (double v : soft[0]) sum += std::exp(v);
  for (size_t i = 0; i < 5; ++i) CHECK(soft[1][i] == Approx(std::exp(soft[0][i]) / sum));

  Test n;
  Attrs over;
  over.dims = {0, 2};
  over.eps = 0.5;
  const ValueId x = n.in("x", kF64, {2, 1, 3}), w = n.in("w", kF64, {2, 3}), b = n.in("b", kF64, {2, 3});
  const auto norm = composite(n, n.op(OpKind::kLayerNorm, {operand(x), operand(w), operand(b)}, "y", over));
  double mean = 0, var = 0;
  for (double v : norm[0]) mean += v / 6;
  for (double v : norm[0]) var += (v - mean) * (v - mean) / 6;
  for (size_t i = 0; i < 6; ++i) CHECK(norm[3][i] == Approx((norm[0][i] - mean) / std::sqrt(var + 0.5) * norm[1][i] + norm[2][i]));
}

TEST_CASE("rms_norm, group_norm, rope, cross_entropy") {
  Test r;
  Attrs last;
  last.dims = {-1};
  const auto rms = composite(r, r.op(OpKind::kRmsNorm, {operand(r.in("x", kF64, {4})), operand(r.in("w", kF64, {4}))}, "y", last));
  double square = 0;
  for (double v : rms[0]) square += v * v / 4;
  for (size_t i = 0; i < 4; ++i) CHECK(rms[2][i] == Approx(rms[0][i] / std::sqrt(square + 1e-5) * rms[1][i]));

  Test g;
  Attrs groups;
  groups.groups = 2;
  const auto grouped =
      composite(g, g.op(OpKind::kGroupNorm, {operand(g.in("x", kF64, {1, 4, 3})), {}, operand(g.in("b", kF64, {4}))}, "y", groups));
  for (size_t half = 0; half < 2; ++half) {
    double mean = 0, var = 0;
    for (size_t i = 0; i < 6; ++i) mean += grouped[0][6 * half + i] / 6;
    for (size_t i = 0; i < 6; ++i) var += std::pow(grouped[0][6 * half + i] - mean, 2) / 6;
    for (size_t i = 0; i < 6; ++i)
      CHECK(grouped[2][6 * half + i] == Approx((grouped[0][6 * half + i] - mean) / std::sqrt(var + 1e-5) + grouped[1][2 * half + i / 3]));
  }

  Test p;
  const auto rope =
      composite(p, p.op(OpKind::kRope, {operand(p.in("x", kF64, {4})), operand(p.in("c", kF64, {4})), operand(p.in("s", kF64, {4}))}, "y"));
  for (size_t i = 0; i < 4; ++i)
    CHECK(rope[3][i] == Approx(rope[0][i] * rope[1][i] + (i < 2 ? -rope[0][i + 2] : rope[0][i - 2]) * rope[2][i]));

  Test c;
  const ValueId target = c.in("t", kI64, {2});
  c.graph.inputs[0].init = {Init::kArange};
  c.builder.output(c.op(OpKind::kCrossEntropy, {operand(c.in("x", kF64, {2, 3})), operand(target)}, "y"));
  c.run(expand_composites, false);
  const std::vector<Tensor> inputs = make_inputs(c.graph, {}, 7);
  const std::vector<double> loss = numbers(evaluate(c.graph, inputs)[0]), x = numbers(inputs[1]);
  for (size_t i = 0; i < 2; ++i)
    CHECK(loss[i] == Approx(std::log(std::exp(x[3 * i]) + std::exp(x[3 * i + 1]) + std::exp(x[3 * i + 2])) - x[3 * i + i]));
}

TEST_CASE("dropout keeps by its random numbers and scales; p = 1 gives 0") {
  for (double p : {0.25, 1.0}) {
    Test t;
    Attrs a;
    a.p = p;
    a.seed = 5;
    const auto dropped = composite(t, t.op(OpKind::kDropout, {operand(t.in("x", kF64, {1000}))}, "y", a));
    int kept = 0;
    for (size_t i = 0; i < 1000; ++i) {
      if (dropped[1][i] == 0) continue;
      ++kept;
      CHECK(dropped[1][i] == Approx(dropped[0][i] / (1 - p)));
    }
    CHECK((p == 1 ? kept == 0 : kept > 700 && kept < 800));
  }
}

TEST_CASE("composites of narrow operands compute in f32, between casts") {
  Test t;
  const ValueId x = t.in("x", kBF16, {2, 4}), w = t.in("w", kF32, {4});
  Attrs last;
  last.dims = {-1};
  t.builder.output(t.op(OpKind::kRmsNorm, {operand(x), operand(w)}, "y", last));
  t.in("y.square", kF32, {});  // a name that the expansion would give
  t.run(expand_composites, false);
  CHECK(t.text() ==
        "y.x=cast(x) y.square2=mul(y.x,y.x) y.mean=mean(y.square2) y.eps=add(y.mean,#) y.rsqrt=rsqrt(y.eps) y.norm=mul(y.x,y.rsqrt) "
        "y.scale=mul(y.norm,w) "
        "y=cast(y.scale)");
  CHECK(t.graph.ops[OpId(0)].origin == "y");
  CHECK(t.graph.ops[OpId(7)].origin.empty());
}

TEST_CASE("softmax of nothing") {
  Test t;
  Attrs dim;
  dim.dim = 1;
  t.builder.output(t.op(OpKind::kSoftmax, {operand(t.in("x", kF16, {4, 0}))}, "y", dim));
  t.run(expand_composites, false);
  CHECK(t.text() == "y=copy(x)");
}

TEST_CASE("softmax over a run-time size that may be 0") {
  for (const int64_t typical : {0, 5}) {
    Test t;
    const Size n = Size::symbol(t.graph.symbols.push({"N", typical, 1, INT64_MAX, false, {}, 1}));
    Attrs dim;
    dim.dim = 1;
    t.builder.output(t.op(OpKind::kSoftmax, {operand(t.in("x", kBF16, {2, n}))}, "y", dim));
    t.graph = expand_composites(t.graph, t.log);
    verify(t.graph);
    CHECK(t.text().find("y.max=max(y.x)") != std::string::npos);
    // A maximum that was written needs an element.
    CHECK(t.graph.constraints.empty());
  }
}

TEST_CASE("rewriting 100,000 ops stays near linear") {
  auto seconds = [](size_t ops) {
    Test t;
    ValueId v = t.in("x", kBF16, {1024});
    for (size_t i = 0; i < ops; ++i) {
      const std::string name = "t" + std::to_string(i);
      if (i % 10 == 0) v = t.cast(v, kF32, name.c_str());
      else if (i % 10 == 9) v = t.cast(v, kBF16, name.c_str());
      else v = t.op(OpKind::kMul, {operand(v), operand(Literal{0.5})}, name.c_str());
    }
    t.builder.output(v);
    const auto start = std::chrono::steady_clock::now();
    for (auto pass : {expand_composites, remove_dead_ops, fold_constants, simplify, share_equal_ops, remove_dead_ops})
      t.graph = pass(std::move(t.graph), t.log);
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    CHECK(t.graph.ops.size() == ops);
    return s;
  };
  const double small = seconds(10000), large = seconds(100000);
  INFO(small << " s, " << large << " s");
  CHECK(large < 40 * small + 1);
}
