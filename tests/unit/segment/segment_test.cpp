#include "segment/segment.h"

#include "graphs.h"

using namespace fusec;
using namespace fusec::testing;

namespace {

const std::string kLarge = R"({"name": "x", "dtype": "bf16", "shape": [33554432]})";

// y = x · Σx, as casts around each op write it: a grid-wide dependence.
std::string times_sum(const std::string& x, const std::string& y) {
  auto c = [](const std::string& from, const std::string& dtype, const std::string& to) {
    return R"({"op": "cast", "in": [")" + from + R"("], "dtype": ")" + dtype + R"(", "out": ")" + to + "\"}, ";
  };
  return c(x, "f32", y + "_a") + R"({"op": "sum", "in": [")" + y + R"(_a"], "out": ")" + y + "_t\"}, " + c(y + "_t", "bf16", y + "_s") +
         c(y + "_s", "f32", y + "_v") + c(x, "f32", y + "_u") + R"({"op": "mul", "in": [")" + y + R"(_u", ")" + y + R"(_v"], "out": ")" +
         y + "_w\"}, " + R"({"op": "cast", "in": [")" + y + R"(_w"], "dtype": "bf16", "out": ")" + y + "\"}";
}

bool is_wide(const Graph& g, const Edge& e) { return g[e.value].dtype == DType::kF32 && element_count(g[e.value].shape).value() > 65536; }

std::set<std::set<std::string>> partition(const Graph& g, const Segmentation& s) {
  std::set<std::set<std::string>> parts;
  for (const Segment& segment : s.segments) parts.insert(names(g, segment.ops));
  return parts;
}

}  // namespace

TEST_CASE("what a grid-wide dependence cuts is recomputed from narrow values") {
  const Graph g = graph(
      kLarge,
      R"({"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"}, {"op": "neg", "in": ["u"], "out": "n"}, {"op": "cast", "in": ["n"], "dtype": "bf16", "out": "d"}, )" +
          times_sum("d", "m") + R"(, {"op": "cast", "in": ["m"], "dtype": "f32", "out": "mu"}, {"op": "add", "in": ["n", "mu"], "out": "p"},
      {"op": "cast", "in": ["p"], "dtype": "bf16", "out": "y"})",
      R"("y")");
  const Segmentation s = segment_h200(g);
  REQUIRE(s.segments.size() == 2);
  CHECK(edge_names(g, s) == std::set<std::string>{"m_t"});
  CHECK(s.edges[0].why.find("grid-wide dependence: `m_t`") != std::string::npos);
  for (const CastGroup& group : s.cast_groups) CHECK(group.whole);
}

TEST_CASE("stores appear where recomputing everything would cost more") {
  std::string ops, x = "x";
  for (int k = 0; k < 8; ++k) {
    const std::string b = "b" + std::to_string(k);
    ops += (k ? ", " : "") + times_sum(x, b) + R"(, {"op": "tanh", "in": [")" + b + R"("], "out": "r)" + std::to_string(k) + "\"}";
    x = "r" + std::to_string(k);
  }
  const Graph g = graph(kLarge, ops, "\"" + x + "\"");
  const Segmentation s = segment_h200(g);
  CHECK(s.segments.size() == 9);
  int stored = 0;
  for (const Edge& e : s.edges) {
    CHECK(!is_wide(g, e));
    stored += !element_count(g[e.value].shape).is(1);
  }
  CHECK(stored >= 2);
  CHECK(stored <= 8);
}

TEST_CASE("constants and expanded views are made again, not stored") {
  const Graph g = graph(
      kLarge + R"(, {"name": "c", "dtype": "bf16", "shape": [1024]})",
      R"({"op": "expand", "in": ["c"], "shape": [32768, 1024], "out": "e"}, {"op": "reshape", "in": ["e"], "shape": [33554432], "out": "f"},
      {"op": "full", "shape": [33554432], "dtype": "bf16", "value": 2.0, "out": "two"}, {"op": "mul", "in": ["x", "f"], "out": "a"}, {"op": "mul", "in": ["a", "two"], "out": "b"}, )" +
          times_sum("b", "m") + R"(, {"op": "add", "in": ["m", "f"], "out": "p"}, {"op": "add", "in": ["p", "two"], "out": "y"})",
      R"("y")");
  const std::set<std::string> stored = edge_names(g, segment_h200(g));
  for (const char* name : {"e", "f", "two"}) CHECK(!stored.contains(name));
}

TEST_CASE("siblings and strangers share a launch") {
  const Graph g =
      graph(R"({"name": "x", "dtype": "f32", "shape": [4096, 64]}, {"name": "z", "dtype": "i32", "shape": [7]})",
            R"({"op": "sin", "in": ["x"], "out": "a"}, {"op": "cos", "in": ["x"], "out": "b"}, {"op": "add", "in": ["z", 1], "out": "c"})",
            R"("a", "b", "c")");
  const Segmentation s = segment_h200(g);
  CHECK(s.segments.size() == 1);
  CHECK(s.edges.empty());
}

TEST_CASE("a kernel takes no more pointers than its parameters hold") {
  std::string inputs, ops, last = "x0";
  for (int k = 0; k < 900; ++k) {
    const std::string n = std::to_string(k);
    inputs += (k ? ", " : "") + std::string(R"({"name": "x)") + n + R"(", "dtype": "f32", "shape": [4096]})";
    if (k == 0) continue;
    ops += (k > 1 ? ", " : "") + std::string(R"({"op": "add", "in": [")") + last + R"(", "x)" + n + R"("], "out": "s)" + n + "\"}";
    last = "s" + n;
  }
  const Graph g = graph(inputs, ops, "\"" + last + "\"");
  const Segmentation s = segment_h200(g);
  CHECK(s.segments.size() == 2);
  CHECK(s.edges[0].why.find("kernel parameters") != std::string::npos);
}

TEST_CASE("a long chain is cut at narrow values into full kernels") {
  std::string ops, last = "x";
  for (int k = 0; k < 1500; ++k) {
    const std::string n = std::to_string(k);
    ops += (k ? ", " : "") + std::string(R"({"op": "cast", "in": [")") + last + R"("], "dtype": "f32", "out": "u)" + n +
           R"("}, {"op": "tanh", "in": ["u)" + n + R"("], "out": "t)" + n + R"("}, {"op": "sin", "in": ["t)" + n + R"("], "out": "s)" + n +
           R"("}, {"op": "cast", "in": ["s)" + n + R"("], "dtype": "bf16", "out": "d)" + n + "\"}";
    last = "d" + n;
  }
  const Graph g = graph(R"({"name": "x", "dtype": "bf16", "shape": [4096]})", ops, "\"" + last + "\"");
  const Segmentation s = segment_h200(g);
  CHECK(s.segments.size() == 2);
  for (const Edge& e : s.edges) {
    CHECK(g[e.value].dtype == DType::kBF16);
    CHECK(e.why.find("too many ops") != std::string::npos);
  }
  for (const CastGroup& group : s.cast_groups) CHECK(group.whole);
}

TEST_CASE("a group of many branches is one kernel, or few that hand on a sum each") {
  for (const int branches : {900, 2500}) {
    std::string ops = R"({"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"})", last = "u";
    for (int k = 0; k < branches; ++k) {
      const std::string n = std::to_string(k);
      ops += R"(, {"op": "sub", "in": ["u", )" + n + R"(], "out": "a)" + n + R"("}, {"op": "sin", "in": ["a)" + n + R"("], "out": "b)" + n +
             R"("}, {"op": "add", "in": [")" + last + R"(", "b)" + n + R"("], "out": "c)" + n + "\"}";
      last = "c" + n;
    }
    ops += R"(, {"op": "cast", "in": [")" + last + R"("], "dtype": "bf16", "out": "y"})";
    const Graph g = graph(R"({"name": "x", "dtype": "bf16", "shape": [65536]})", ops, R"("y")");
    const Segmentation s = segment_h200(g);
    CHECK(s.segments.size() <= (branches == 900 ? 1 : 4));
    CHECK(s.edges.size() + 1 == s.segments.size());
  }
}

TEST_CASE("views that would make a value again at too many places cut the kernel") {
  std::string ops, last = "x";
  for (int k = 0; k < 12; ++k) {
    const std::string n = std::to_string(k);
    ops += (k ? ", " : "") + std::string(R"({"op": "flip", "in": [")") + last + R"("], "dims": [0], "out": "a)" + n +
           R"("}, {"op": "flip", "in": [")" + last + R"("], "dims": [1], "out": "b)" + n + R"("}, {"op": "mul", "in": ["a)" + n +
           R"(", "b)" + n + R"("], "out": "m)" + n + R"("}, {"op": "add", "in": ["m)" + n + R"(", ")" + last + R"("], "out": "y)" + n +
           "\"}";
    last = "y" + n;
  }
  const Graph g = graph(R"({"name": "x", "dtype": "f32", "shape": [512, 512]})", ops, "\"" + last + "\"");
  const Segmentation s = segment_h200(g);
  CHECK(s.segments.size() > 1);
  CHECK(s.segments.size() < 8);
}

TEST_CASE("bytes of the largest tensors add up to the greatest number, not to a negative one") {
  const Graph g =
      graph(R"({"name": "x", "dtype": "u8", "shape": [4611686018427387904]}, {"name": "z", "dtype": "u8", "shape": [4611686018427387904]})",
            R"({"op": "add", "in": ["x", "z"], "out": "y"})", R"("y")");
  const Segmentation s = segment_h200(g);
  REQUIRE(s.segments.size() == 1);
  CostModel model(g, target_for("sm_90"));
  CHECK(model.cost_of(s.segments[0]).bytes_read == INT64_MAX);
  CHECK(model.lower_bound_bytes() == INT64_MAX);
}

TEST_CASE("an in-place update moves what it touches") {
  Graph g = read(
      R"({"version": 1, "name": "g", "inputs": [{"name": "cache", "dtype": "bf16", "shape": [100000, 512]}, {"name": "slot", "dtype": "i64", "shape": [16]},
    {"name": "row", "dtype": "bf16", "shape": [16, 512]}], "ops": [{"op": "index_put", "in": ["cache", "slot", "row"], "dim": 0, "out": "y"}], "outputs": [{"value": "y", "alias": "cache"}]})");
  const Segmentation s = segment_h200(g);
  const SegmentCost cost = cost_of(g, s.segments[0], target_for("sm_90"));
  CHECK(cost.bytes_read == 16 * 8 + 16 * 512 * 2);
  CHECK(cost.bytes_written == 16 * 512 * 2);
  // As a new tensor it is copied first.
  g.outputs[0].alias.reset();
  const SegmentCost copied = cost_of(g, segment_h200(g).segments[0], target_for("sm_90"));
  CHECK(copied.bytes_written == 100000 * 512 * 2);
}

TEST_CASE("an input is overwritten by the kernel that reads it last") {
  Graph g = read(
      R"({"version": 1, "name": "g", "inputs": [{"name": "p", "dtype": "f32", "shape": [33554432]}, {"name": "d", "dtype": "f32", "shape": [33554432]}],
    "ops": [{"op": "sub", "in": ["p", "d"], "out": "p2"}, {"op": "sum", "in": ["p2"], "out": "t"}, {"op": "div", "in": ["p", "t"], "out": "y"}],
    "outputs": [{"value": "p2", "alias": "p"}, "y"]})");
  const Segmentation s = segment_h200(g);
  REQUIRE(s.segments.size() == 2);
  CHECK(std::find(s.segments[0].outputs.begin(), s.segments[0].outputs.end(), g.outputs[0].value) == s.segments[0].outputs.end());
  CHECK(std::find(s.segments[1].outputs.begin(), s.segments[1].outputs.end(), g.outputs[0].value) != s.segments[1].outputs.end());
}

TEST_CASE("a group that no schedule holds says which rule cut it") {
  const Graph g = graph(
      R"({"name": "a", "dtype": "bf16", "shape": [4096, 4096]}, {"name": "b", "dtype": "bf16", "shape": [4096, 4096]})",
      R"({"op": "cast", "in": ["a"], "dtype": "f32", "out": "u"}, {"op": "cast", "in": ["b"], "dtype": "f32", "out": "v"}, {"op": "mul", "in": ["u", "v"], "out": "m"},
      {"op": "sum", "in": ["m"], "dims": [0], "keepdim": true, "out": "c"}, {"op": "mul", "in": ["v", "c"], "out": "q"}, {"op": "cast", "in": ["q"], "dtype": "bf16", "out": "d"})",
      R"("d")");
  // (columns of 4096 fit on an H200, not here)
  const Segmentation s = segment(g, target_for("sm_86"));
  verify(g, s);
  REQUIRE(s.segments.size() == 2);
  bool cut = false;
  for (const CastGroup& group : s.cast_groups) {
    CHECK(group.whole == group.why.empty());
    cut |= !group.whole;
  }
  CHECK(cut);
  for (const Edge& e : s.edges) CHECK(!is_wide(g, e));
}

TEST_CASE("a sliced input counts what is read") {
  const Graph g = graph(
      R"({"name": "x", "dtype": "f32", "shape": [1000, 1000]})",
      R"({"op": "slice", "in": ["x"], "starts": [0, 0], "stops": [1000, 100], "out": "a"}, {"op": "slice", "in": ["x"], "starts": [0, 500], "stops": [1000, 600], "out": "b"},
      {"op": "add", "in": ["a", "b"], "out": "y"})",
      R"("y")");
  CHECK(cost_of(g, segment_h200(g).segments[0], target_for("sm_90")).bytes_read == 2 * 1000 * 100 * 4);
}

TEST_CASE("random graphs: verified for every target, whatever the order of the ops") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const Graph g = random_graph(seed, 10 + seed);
    for (const char* arch : {"sm_80", "sm_86"}) verify(g, segment(g, target_for(arch)));
    const Segmentation s = segment_h200(g);
    const Graph other = shuffled(g, seed);
    const Segmentation t = segment_h200(other);
    CHECK(partition(g, s) == partition(other, t));
    CHECK(edge_names(g, s) == edge_names(other, t));
  }
}

TEST_CASE("verify notices a damaged segmentation") {
  const Graph g = graph(kLarge, times_sum("x", "y"), R"("y")");
  const Segmentation good = segment_h200(g);
  REQUIRE(good.segments.size() == 2);
  Segmentation s = good;
  std::swap(s.segments[0], s.segments[1]);
  CHECK_THROWS(verify(g, s));
  s = good;
  s.edges[0].why.clear();
  CHECK_THROWS(verify(g, s));
  s = good;
  s.segments[1].ops.pop_back();
  CHECK_THROWS(verify(g, s));
  s = good;
  s.segments[0].inputs.clear();
  CHECK_THROWS(verify(g, s));
}

TEST_CASE("a partition drawn at random is legal, keeps cast groups whole, and is another for another seed") {
  std::string ops;
  for (int k = 0; k < 6; ++k) {
    const std::string n = std::to_string(k), from = k ? "d" + std::to_string(k - 1) : "x";
    ops += (k ? ", " : "") + std::string(R"({"op": "cast", "in": [")") + from + R"("], "dtype": "f32", "out": "u)" + n +
           R"("}, {"op": "tanh", "in": ["u)" + n + R"("], "out": "t)" + n + R"("}, {"op": "cast", "in": ["t)" + n +
           R"("], "dtype": "bf16", "out": "d)" + n + "\"}";
  }
  const Graph g = graph(R"({"name": "x", "dtype": "bf16", "shape": [100000]})", ops, R"("d0", "d1", "d2", "d3", "d4", "d5")");
  CHECK(segment(g, target_for("sm_90")).segments.size() == 1);
  std::set<std::set<std::set<std::string>>> found;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Segmentation s = segment(g, target_for("sm_90"), Forced{{}, {}, {}, seed}).segmentation;
    verify(g, s);
    CHECK(partition(g, s) == partition(g, segment(g, target_for("sm_90"), Forced{{}, {}, {}, seed}).segmentation));
    found.insert(partition(g, s));
    for (const CastGroup& group : s.cast_groups) CHECK(group.whole);
    for (const Edge& e : s.edges) CHECK(!is_wide(g, e));
  }
  CHECK(found.size() > 5);
}

TEST_CASE("a kernel that reads long rows again may store one more of their statistics") {
  const Graph g = graph(
      R"({"name": "a", "dtype": "bf16", "shape": [5, 18430]}, {"name": "b", "dtype": "bf16", "shape": [5, 18430]}, {"name": "m", "dtype": "bool", "shape": [5, 18430]})",
      R"({"op": "cast", "in": ["a"], "dtype": "f32", "out": "u"}, {"op": "cast", "in": ["b"], "dtype": "f32", "out": "v"}, {"op": "mul", "in": ["u", "v"], "out": "p"},
      {"op": "where", "in": ["m", 0, "p"], "out": "w"}, {"op": "min", "in": ["w"], "dims": [1], "keepdim": true, "out": "least"},
      {"op": "maximum", "in": ["w", "least"], "out": "y"}, {"op": "sum", "in": ["y"], "out": "s"})",
      R"("s", "y")");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    const Segmentation s = segment(g, target_for("sm_72"), Forced{{}, {}, {}, seed}).segmentation;
    verify(g, s);
    for (const Edge& e : s.edges) CHECK(!is_wide(g, e));
  }
}

TEST_CASE("an input that is its own output may be read again") {
  const Graph g = graph(
      R"({"name": "x", "dtype": "bf16", "shape": [3, 400000]})",
      R"({"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"}, {"op": "clamp", "in": ["u", 0, 1], "out": "w"}, {"op": "sum", "in": ["w"], "out": "s"},
      {"op": "sub", "in": ["w", "s"], "out": "y"}, {"op": "cast", "in": ["y"], "dtype": "bf16", "out": "d"})",
      R"("d", {"value": "x", "alias": "x"})");
  const Segmentation s = segment_h200(g);
  REQUIRE(s.segments.size() == 2);
  for (const Edge& e : s.edges) CHECK(!is_wide(g, e));
}
