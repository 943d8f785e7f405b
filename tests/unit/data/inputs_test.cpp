#include "data/inputs.h"

#include <algorithm>
#include <set>

#include "catch.h"
#include "graph/builder.h"
#include "reference/convert.h"
#include "support/diag.h"

using namespace fusec;

namespace {

Graph with_input(DType t, Shape shape, Init init = {}) {
  Graph graph;
  Builder builder(graph);
  builder.input("x", t, std::move(shape));
  graph.inputs[0].init = init;
  return graph;
}

std::vector<double> made(const Graph& graph, uint64_t seed = 0, size_t which = 0) {
  const Tensor t = make_inputs(graph, {}, seed)[which];
  std::vector<double> values(static_cast<size_t>(t.elems()));
  convert(t.dtype, t.data.data(), DType::kF64, values.data(), t.elems());
  return values;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Failure& e) {
    CHECK(e.exit == Exit::kBadInput);
    return e.what();
  }
  return "no failure";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("generated data depends on seed and name alone", "[data]") {
  const Graph graph = with_input(DType::kF32, {10000});
  const auto x = made(graph, 5);
  CHECK(made(graph, 5) == x);
  CHECK(made(graph, 6) != x);
  Graph renamed = graph;
  renamed.values[ValueId(size_t{0})].name = "y";
  CHECK(made(renamed, 5) != x);
  // A longer tensor begins with the same numbers.
  const auto longer = made(with_input(DType::kF32, {70000}), 5);
  CHECK(std::equal(x.begin(), x.end(), longer.begin()));
}

TEST_CASE("the kinds of init", "[data]") {
  Init init;
  const auto normal = made(with_input(DType::kF32, {40000}));
  double sum = 0, squares = 0;
  for (double v : normal) {
    sum += v;
    squares += v * v;
  }
  CHECK(std::abs(sum / 40000) < 0.03);
  CHECK(std::abs(squares / 40000 - 1) < 0.05);
  init.kind = Init::kUniform;
  const auto uniform = made(with_input(DType::kBF16, {20000}, init));
  CHECK(*std::max_element(uniform.begin(), uniform.end()) < 1);
  CHECK(*std::min_element(uniform.begin(), uniform.end()) >= 0);
  init.kind = Init::kArange;
  CHECK(made(with_input(DType::kI64, {2, 2}, init)) == std::vector<double>{0, 1, 2, 3});
  init.kind = Init::kOnes;
  CHECK(made(with_input(DType::kF16, {3}, init)) == std::vector<double>{1, 1, 1});
  init.kind = Init::kRandint;
  init.from = 3;
  init.to = 5;
  const auto ints = made(with_input(DType::kI32, {200}, init));
  CHECK(std::set<double>(ints.begin(), ints.end()) == std::set<double>{3, 4});
  init.kind = Init::kPermutation;
  init.to = 6;
  const auto rows = made(with_input(DType::kI64, {50, 4}, init));
  for (size_t r = 0; r < 50; ++r) {
    const std::set<double> row(rows.begin() + static_cast<long>(4 * r), rows.begin() + static_cast<long>(4 * r + 4));
    CHECK(row.size() == 4);
    CHECK(*row.rbegin() < 6);
  }
}

TEST_CASE("defaults of integers and bool", "[data]") {
  auto range = [](DType t) {
    const auto x = made(with_input(t, {4000}));
    return std::pair(*std::min_element(x.begin(), x.end()), *std::max_element(x.begin(), x.end()));
  };
  CHECK(range(DType::kI32) == std::pair(-8.0, 7.0));
  CHECK(range(DType::kU8) == std::pair(0.0, 7.0));
  CHECK(range(DType::kBool) == std::pair(0.0, 1.0));
}

TEST_CASE("an input that only indexes gets valid indices", "[data]") {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::kF32, {5, 3}), at = b.input("at", DType::kI32, {40, 10}),
                both = b.input("both", DType::kI64, {5, 400});
  Attrs flat;
  flat.shape = {400};
  const ValueId index =
      b.value(OpKind::kReshape, {operand(b.value(OpKind::kCast, {operand(at)}, "wide", nullptr, DType::kI64))}, "index", &flat);
  Attrs along;
  along.dim = 0;
  b.output(b.value(OpKind::kIndexSelect, {operand(x), operand(index)}, "rows", &along));
  along.dim = 1;
  b.output(b.value(OpKind::kTakeAlongAxis, {operand(x), operand(both)}, "columns", &along));
  b.output(b.value(OpKind::kNeg, {operand(both)}, "used"));
  const auto rows = made(graph, 0, 1), columns = made(graph, 0, 2);
  CHECK(*std::min_element(rows.begin(), rows.end()) == 0);
  CHECK(*std::max_element(rows.begin(), rows.end()) == 4);
  CHECK(*std::min_element(columns.begin(), columns.end()) == -8);  // it is an operand of neg as well
}

TEST_CASE("given tensors must fit", "[data]") {
  const Graph graph = with_input(DType::kF32, {2, 3});
  auto given = [&](const std::string& name, Tensor t) { return message_of([&] { make_inputs(graph, {{name, std::move(t)}}, 0); }); };
  CHECK(given("x", Tensor(DType::kF32, {2, 3})) == "no failure");
  CHECK(contains(given("x", Tensor(DType::kF64, {2, 3})), "'x' is f32[2,3] in the graph, but the file has f64[2,3]"));
  CHECK(contains(given("x", Tensor(DType::kF32, {3, 2})), "the file has f32[3,2]"));
  CHECK(contains(given("x", Tensor(DType::kF32, {6})), "the file has f32[6]"));
  CHECK(contains(given("z", Tensor(DType::kF32, {2, 3})), "'z' in the input file is no input"));
}

TEST_CASE("elements that share memory are equal", "[data]") {
  Graph graph = with_input(DType::kF32, {3, 2});
  graph.inputs[0].strides = std::vector<int64_t>{0, 1};
  const auto x = made(graph);
  CHECK(x[0] == x[2]);
  CHECK(x[1] == x[5]);
  CHECK(x[0] != x[1]);
  Tensor differing(DType::kF32, {3, 2});
  differing.as<float>()[4] = 1;
  CHECK(contains(message_of([&] { make_inputs(graph, {{"x", differing}}, 0); }), "elements 0 and 4"));
  graph.inputs[0].strides = std::vector<int64_t>{5, 2};  // gaps, nothing shared
  CHECK(made(graph)[4] != made(graph)[0]);
  // Far apart: the work goes with the elements, not with the memory between them.
  graph.inputs[0].strides = std::vector<int64_t>{int64_t{1} << 50, 0};
  const auto far = made(graph);
  CHECK(far[0] == far[1]);
  CHECK(far[0] != far[2]);
}

TEST_CASE("sizes are taken from the inputs", "[data]") {
  Graph graph;
  Symbol b, s;
  b.name = "B";
  b.typical = 4;
  s.name = "S";
  s.typical = 16;
  s.multiple_of = 8;
  s.max = 64;
  const Size B = Size::symbol(graph.symbols.push(b)), S = Size::symbol(graph.symbols.push(s));
  Builder builder(graph);
  builder.input("tokens", DType::kF32, {B * S, 2});
  builder.input("mask", DType::kBool, {S});
  auto sizes = [&](const NamedTensors& given) {
    const SymbolValues v = bind_symbols(graph, given);
    return std::pair(v[SymbolId(size_t{0})], v[SymbolId(size_t{1})]);
  };
  CHECK(sizes({}) == std::pair<int64_t, int64_t>(4, 16));
  CHECK(sizes({{"tokens", Tensor(DType::kF32, {48, 2})}, {"mask", Tensor(DType::kBool, {8})}}) == std::pair<int64_t, int64_t>(6, 8));
  CHECK(contains(message_of([&] { sizes({{"tokens", Tensor(DType::kF32, {9, 2})}, {"mask", Tensor(DType::kBool, {8})}}); }), "f32[9,2]"));
  CHECK(contains(message_of([&] { sizes({{"mask", Tensor(DType::kBool, {12})}}); }), "not a multiple of 8"));
  CHECK(contains(message_of([&] { sizes({{"mask", Tensor(DType::kBool, {72})}}); }), "above its max of 64"));
}
