// Scatters after make_deterministic: the values of the format, in any order of the updates.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "catch.h"
#include "graph/builder.h"
#include "reference/evaluate.h"
#include "rewrite/rewrite.h"

using namespace fusec;
using enum DType;

namespace {

constexpr double kInf = HUGE_VAL;

Tensor converted(const Tensor& t, DType to) {
  Graph one;
  Builder builder(one);
  const ValueId x = builder.input("x", t.dtype, Shape(t.shape.begin(), t.shape.end()));
  builder.output(builder.value(OpKind::kCast, {operand(x)}, "y", nullptr, to));
  return evaluate(one, {t})[0];
}

Tensor tensor_of(std::vector<int64_t> shape, const std::vector<double>& values, DType dtype) {
  Tensor t(kF64, std::move(shape));
  std::memcpy(t.data.data(), values.data(), t.data.size());
  return dtype == kF64 ? t : converted(t, dtype);
}
Tensor index_of(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  Tensor t(kI64, std::move(shape));
  std::memcpy(t.data.data(), values.data(), t.data.size());
  return t;
}
std::vector<double> numbers(const Tensor& t) {
  const Tensor wide = t.dtype == kF64 ? t : converted(t, kF64);
  return {wide.as<double>(), wide.as<double>() + wide.elems()};
}

struct Case {
  OpKind kind = OpKind::kScatter;
  Accumulate how = Accumulate::kNone;
  int64_t dim = 0;
  Tensor x, index, src;

  Graph graph() const {
    Graph g;
    Builder builder(g);
    auto input = [&](const char* name, const Tensor& t) { return builder.input(name, t.dtype, Shape(t.shape.begin(), t.shape.end())); };
    const ValueId a = input("x", x), i = input("i", index), s = input("s", src);
    Attrs attrs;
    attrs.dim = dim;
    attrs.accumulate = how;
    builder.output(builder.value(kind, {operand(a), operand(i), operand(s)}, "y", &attrs));
    return g;
  }
  Tensor as_written() const { return evaluate(graph(), {x, index, src})[0]; }
  Tensor rewritten() const {
    RewriteLog log;
    const Graph after = make_deterministic(graph(), log);
    verify(after);
    CHECK(log.deterministic.contains("y"));
    return evaluate(after, {x, index, src})[0];
  }
};

// t with the positions along `dim` in another order.
Tensor reordered(const Tensor& t, size_t dim, const std::vector<size_t>& order) {
  Tensor out = t;
  size_t inner = static_cast<size_t>(bytes_of(t.dtype)), outer = 1;
  for (size_t d = 0; d < t.shape.size(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : static_cast<size_t>(t.shape[d]);
  const size_t extent = static_cast<size_t>(t.shape[dim]);
  for (size_t o = 0; o < outer; ++o)
    for (size_t k = 0; k < order.size(); ++k)
      std::memcpy(out.data.data() + (o * extent + k) * inner, t.data.data() + (o * extent + order[k]) * inner, inner);
  return out;
}

class Cases {
 public:
  explicit Cases(uint64_t seed) : random_(seed) {}

  Case make(DType dtype, Accumulate how) {
    Case c;
    c.how = how;
    c.kind = pick(2) ? OpKind::kScatter : OpKind::kIndexPut;
    const size_t rank = 1 + pick(3);
    c.dim = static_cast<int64_t>(pick(rank));
    std::vector<int64_t> x, index, src;
    for (size_t d = 0; d < rank; ++d) {
      x.push_back(static_cast<int64_t>(1 + pick(6)));
      index.push_back(static_cast<int64_t>(d == static_cast<size_t>(c.dim) ? 2 + pick(30) : 1 + pick(static_cast<size_t>(x.back()))));
      src.push_back(index.back() + static_cast<int64_t>(pick(2)));
    }
    if (c.kind == OpKind::kIndexPut) {
      src = x;
      index = {src[static_cast<size_t>(c.dim)] = index[static_cast<size_t>(c.dim)]};
    }
    special_ = pick(3) == 0;
    c.x = values(x, dtype);
    c.src = values(src, dtype);
    c.index = Tensor(kI64, index);
    for (int64_t i = 0; i < c.index.elems(); ++i)
      c.index.as<int64_t>()[i] = static_cast<int64_t>(pick(static_cast<size_t>(x[static_cast<size_t>(c.dim)])));
    return c;
  }
  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  std::vector<size_t> order(size_t n) {
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

 private:
  Tensor values(const std::vector<int64_t>& shape, DType dtype) {
    static constexpr double kSpecial[] = {0.0, -0.0, kInf, -kInf, NAN, 1e-310, 5e-324, 1e-40, 1.7e308, -1.7e308, 3e38};
    std::vector<double> v(static_cast<size_t>(Tensor(kBool, shape).elems()));
    std::normal_distribution<double> normal;
    for (double& one : v) one = special_ && pick(4) == 0 ? kSpecial[pick(std::size(kSpecial))] : normal(random_);
    return tensor_of(shape, v, dtype);
  }
  std::mt19937_64 random_;
  bool special_ = false;
};

constexpr DType kFloats[] = {kF8E4M3, kF8E5M2, kF16, kBF16, kF32, kF64};
double epsilon(DType t) {
  switch (t) {
    case kF8E4M3:
      return 0x1p-4;
    case kF8E5M2:
      return 0x1p-3;
    case kF16:
      return 0x1p-11;
    case kBF16:
      return 0x1p-8;
    case kF32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

void check_near(const Tensor& got, const Tensor& wanted, double relative, double absolute) {
  REQUIRE(got.shape == wanted.shape);
  REQUIRE(got.dtype == wanted.dtype);
  const std::vector<double> a = numbers(got), b = numbers(wanted);
  for (size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i, a[i], b[i]);
    if (std::isnan(b[i])) REQUIRE(std::isnan(a[i]));
    else if (std::isinf(b[i]) || std::isinf(a[i])) REQUIRE(a[i] == b[i]);
    else REQUIRE(std::fabs(a[i] - b[i]) <= relative * std::fabs(b[i]) + absolute);
  }
}

Case one_element(DType dtype, double x, const std::vector<double>& updates) {
  Case c;
  c.how = Accumulate::kAdd;
  const auto n = static_cast<int64_t>(updates.size());
  c.x = tensor_of({2}, {x, x}, dtype);
  c.index = index_of({n}, std::vector<int64_t>(updates.size(), 1));
  c.src = tensor_of({n}, updates, dtype);
  return c;
}

}  // namespace

TEST_CASE("plain stores: what the last position stores") {
  for (uint64_t seed = 1; seed <= 60; ++seed)
    for (DType dtype : {kBool, kU8, kI16, kI64, kF8E5M2, kBF16, kF32, kF64}) {
      CAPTURE(seed, name_of(dtype));
      const Case c = Cases(seed).make(dtype, Accumulate::kNone);
      REQUIRE(c.rewritten() == c.as_written());
    }
}

TEST_CASE("sums of floats: near the reference, with the same bits in any order") {
  for (uint64_t seed = 1; seed <= 150; ++seed)
    for (DType dtype : kFloats) {
      CAPTURE(seed, name_of(dtype));
      Cases cases(seed);
      Case c = cases.make(dtype, Accumulate::kAdd);
      const Tensor first = c.rewritten();
      double greatest = 0;
      for (const Tensor* t : {&c.x, &c.src})
        for (double v : numbers(*t)) greatest = std::isfinite(v) ? std::max(greatest, std::fabs(v)) : greatest;
      check_near(first, c.as_written(), 2 * epsilon(dtype), greatest * 0x1p-45);
      const auto dim = static_cast<size_t>(c.dim);
      const bool slices = c.kind == OpKind::kIndexPut;
      const std::vector<size_t> order = cases.order(static_cast<size_t>(c.index.shape[slices ? 0 : dim]));
      c.index = reordered(c.index, slices ? 0 : dim, order);
      c.src = reordered(c.src, dim, order);
      REQUIRE(c.rewritten() == first);
    }
}

TEST_CASE("products of floats: near the reference") {
  for (uint64_t seed = 1; seed <= 60; ++seed)
    for (DType dtype : kFloats) {
      CAPTURE(seed, name_of(dtype));
      Cases cases(seed);
      Case c = cases.make(dtype, Accumulate::kMul);
      if (c.src.elems() + c.x.elems() > 400 || dtype == kF64) {
        // (f64 has no wider type for what is between: finite values of one size)
        std::vector<double> ones(static_cast<size_t>(c.src.elems()), 0.5);
        c.src = tensor_of(c.src.shape, ones, dtype);
      }
      check_near(c.rewritten(), c.as_written(), 4 * epsilon(dtype), dtype == kF64 ? 0x1p-1072 : 0);  // (denormals round each time)
    }
}

TEST_CASE("products of many updates: sorted by their places") {
  for (const OpKind kind : {OpKind::kScatter, OpKind::kIndexPut}) {
    Case c;
    c.kind = kind;
    c.how = Accumulate::kMul;
    c.dim = 1;
    const int64_t n = 40000, places = kind == OpKind::kScatter ? 20000 : 9000;
    std::mt19937_64 random(7);
    std::vector<double> x(static_cast<size_t>(3 * places)), src(static_cast<size_t>(3 * n));
    for (double& v : x) v = static_cast<double>(random() % 7) - 3;
    for (double& v : src) v = std::ldexp(random() % 2 ? 1.0 : -1.0, static_cast<int>(random() % 3) - 1);
    c.x = tensor_of({3, places}, x, kF32);
    c.src = tensor_of({3, n}, src, kF32);
    std::vector<int64_t> index(static_cast<size_t>(kind == OpKind::kScatter ? 2 * n : n));
    for (int64_t& i : index) i = static_cast<int64_t>(random() % static_cast<uint64_t>(places));
    c.index = index_of(kind == OpKind::kScatter ? std::vector<int64_t>{2, n} : std::vector<int64_t>{n}, index);
    RewriteLog log;
    make_deterministic(c.graph(), log);
    CHECK(log.deterministic["y"] == "products of updates sorted by their places");
    CHECK(c.rewritten() == c.as_written());
  }
}

TEST_CASE("sums of special values") {
  struct Row {
    double x;
    std::vector<double> updates;
    double sum;
  };
  const Row rows[] = {
      {-0.0, {-0.0, -0.0}, -0.0}, {-0.0, {-0.0, 0.0}, 0.0},      {0.0, {-0.0, -0.0}, 0.0},  {1.0, {-2.0, 1.0}, 0.0},
      {1.0, {kInf, 2.0}, kInf},   {-kInf, {1.0, 1.0}, -kInf},    {kInf, {-kInf, 1.0}, NAN}, {1.0, {kInf, -kInf}, NAN},
      {1.0, {NAN, kInf}, NAN},    {-1.0, {-kInf, -kInf}, -kInf}, {1e38, {1.0, -1e38}, 0.0}, {0.5, {0x1p-20, -0.5}, 0x1p-20},
  };
  for (DType dtype : {kF16, kBF16, kF32, kF64})
    for (const Row& row : rows) {
      if (dtype == kF16 && std::fabs(row.x) == 1e38) continue;
      CAPTURE(name_of(dtype), row.x, row.updates);
      const Case c = one_element(dtype, row.x, row.updates);
      const std::vector<double> got = numbers(c.rewritten()), before = numbers(c.x);
      if (std::isnan(row.sum)) CHECK(std::isnan(got[1]));
      else CHECK((got[1] == row.sum && std::signbit(got[1]) == std::signbit(row.sum)));
      // No update goes to the first element.
      CHECK((got[0] == before[0] && std::signbit(got[0]) == std::signbit(before[0])));
    }
  // Denormals, and sums beyond the range.
  CHECK(numbers(one_element(kF64, 5e-324, {5e-324, 1e-320}).rewritten())[1] == 5e-324 + 5e-324 + 1e-320);
  CHECK(numbers(one_element(kF32, 0x1p-149, {0x1p-149, 0x1p-126}).rewritten())[1] == 0x1p-148 + 0x1p-126);
  CHECK(numbers(one_element(kF64, 1.7e308, {1.7e308, 1.0}).rewritten())[1] == kInf);
  CHECK(numbers(one_element(kF32, 3e38, {3e38, 3e38}).rewritten())[1] == kInf);
  CHECK(numbers(one_element(kF64, 1e16, {1.0, -1e16}).rewritten())[1] == 1.0);
  // f8 saturates where there are updates, and keeps its bits where there are none.
  Case narrow = one_element(kF8E5M2, 1.0, {1.0, 1.0});
  for (uint8_t k = 0; k < 2; ++k) narrow.x.as<uint8_t>()[k] = 0x7c;
  const std::vector<double> f8 = numbers(narrow.rewritten());
  CHECK(f8[0] == kInf);
  CHECK(f8[1] == 57344.0);
}

TEST_CASE("without an update an element keeps every bit, NaNs too") {
  Case c;
  c.how = Accumulate::kAdd;
  c.x = Tensor(kF32, {4});
  const uint32_t patterns[] = {0xffabcdefu, 0x7f800001u, 0x80000001u, 0u};
  std::memcpy(c.x.data.data(), patterns, sizeof patterns);
  c.index = index_of({2}, {3, 3});
  c.src = tensor_of({2}, {1.0, 2.0}, kF32);
  for (const Accumulate how : {Accumulate::kNone, Accumulate::kAdd, Accumulate::kMul}) {
    c.how = how;
    CHECK(std::memcmp(c.rewritten().data.data(), patterns, 12) == 0);
  }
}

TEST_CASE("what is exact in any order stays as it is") {
  Case c;
  c.x = tensor_of({3}, {1, 2, 3}, kI32);
  c.index = index_of({2}, {1, 1});
  c.src = tensor_of({2}, {4, 5}, kI32);
  for (const Accumulate how : {Accumulate::kAdd, Accumulate::kMul, Accumulate::kMax, Accumulate::kMin}) {
    c.how = how;
    RewriteLog log;
    CHECK(make_deterministic(c.graph(), log) == c.graph());
    CHECK(log.deterministic["y"] == "exact in any order");
  }
}

TEST_CASE("an index out of range is refused in the name of the op as written") {
  for (const Accumulate how : {Accumulate::kNone, Accumulate::kAdd, Accumulate::kMul}) {
    Case c = one_element(kF32, 1, {1, 2, 3});
    c.how = how;
    c.index.as<int64_t>()[2] = 2;
    RewriteLog log;
    const Graph after = make_deterministic(c.graph(), log);
    for (const Op& op : after.ops)
      if (info(op.kind).category == OpCategory::kScatter) CHECK((op.origin == "y" || after[op.out[0]].name == "y"));
    CHECK_THROWS_AS(evaluate(after, {c.x, c.index, c.src}), Failure);
  }
}
