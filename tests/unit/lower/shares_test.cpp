// Which positions of a row a block takes, where blocks share it, and which rows, where they take them in turns.
#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

std::string graph(const std::string& inputs, const std::string& ops, const std::string& outputs, const std::string& dims = "{}") {
  return R"({"version": 1, "name": "g", "dims": )" + dims + R"(, "inputs": [)" + inputs + R"(], "ops": [)" + ops + R"(], "outputs": )" +
         outputs + "}";
}

std::string matrix(const std::string& name, const std::string& rows, int columns, const std::string& dtype = "f32") {
  return R"({"name": ")" + name + R"(", "dtype": ")" + dtype + R"(", "shape": [)" + rows + ", " + std::to_string(columns) + "]}";
}

}  // namespace

TEST_CASE("blocks of a cluster stop at the end of their share, though their threads have more steps") {
  const std::string ops = R"(
    {"op": "sum", "in": ["x"], "dims": [1], "keepdim": true, "out": "s"},
    {"op": "slice", "in": ["a"], "starts": [0, 0], "stops": [140, 12402], "steps": [1, 2], "out": "a2"},
    {"op": "mul", "in": ["a2", "b"], "out": "ab"},
    {"op": "mul", "in": ["ab", "c"], "out": "abc"},
    {"op": "mul", "in": ["abc", "d"], "out": "abcd"},
    {"op": "mul", "in": ["abcd", "e"], "out": "m"},
    {"op": "add", "in": ["m", "s"], "out": "ms"},
    {"op": "sum", "in": ["ms"], "dims": [1], "keepdim": true, "out": "s2"},
    {"op": "sub", "in": ["m", "s2"], "out": "y"})";
  std::string inputs = matrix("a", "140", 12402);
  for (const char* name : {"x", "b", "c", "d", "e"}) inputs += ", " + matrix(name, "140", 6201);
  const Program p = lowered(graph(inputs, ops, R"(["y"])"));
  REQUIRE(has(p, "__cluster_dims__(4"));
  CHECK(has(p, "blockIdx.x % 4 * 1568 + member"));  // 6201 / 4, in whole warps
  CHECK(has(p, "const unsigned end = first - member + 1568 < 6201 ?"));
}

TEST_CASE("blocks that take rows in turns share positions in whole groups of threads") {
  const Program p =
      lowered(graph(matrix("x", "300", 4400),
                    R"({"op": "exp", "in": ["x"], "out": "y"}, {"op": "sum", "in": ["y"], "dims": [0], "out": "s"})", R"(["y", "s"])"));
  CHECK(has(p, "* 512 + member"));
  CHECK_FALSE(has(p, "* 384 + member"));
}

TEST_CASE("a group without a row copies the last one ahead") {
  const std::string ops = R"(
    {"op": "index_select", "in": ["table", "i"], "dim": 0, "out": "v"},
    {"op": "mul", "in": ["x", "v"], "out": "t"},
    {"op": "sum", "in": ["t"], "dims": [1], "keepdim": true, "out": "r"},
    {"op": "sub", "in": ["t", "r"], "out": "y"},
    {"op": "sum", "in": ["t"], "dims": [0], "out": "c"})";
  const Program p =
      lowered(graph(matrix("x", "\"N\"", 512) + R"(, {"name": "i", "dtype": "i64", "shape": ["N"], "init": {"randint": [0, 64]}},)" +
                        matrix("table", "64", 512),
                    ops, R"(["y", "r", "c"])", R"({"N": {"size": 6000, "dynamic": true}})"));
  CHECK(has(p, "auto fetch = [&](const unsigned begin, unsigned slot)") !=
        has(p, "auto fetch = [&](const long long begin, unsigned slot)"));
  CHECK(has(p, "if (begin < "));
  CHECK(has(p, " = begin + threadIdx.x / 128, t = t0 < "));
}

TEST_CASE("copies ahead want a GPU that has them, and rows enough") {
  auto text = [](int rows, const std::string& arch) {
    const std::string ops = R"(
      {"op": "sum", "in": ["x"], "dims": [1], "keepdim": true, "out": "r"},
      {"op": "sub", "in": ["x", "r"], "out": "y"},
      {"op": "sum", "in": ["x"], "dims": [0], "out": "c"})";
    return lowered(graph(matrix("x", std::to_string(rows), 2048), ops, R"(["y", "c"])"), true, arch);
  };
  CHECK(has(text(4096, "sm_90"), "(&x_x_ahead"));
  CHECK(has(text(4096, "sm_80"), "(&x_x_ahead"));
  CHECK_FALSE(has(text(4096, "sm_75"), "fs_copy_ahead"));
  CHECK_FALSE(has(text(264, "sm_90"), "fs_copy_ahead"));
}

TEST_CASE("short rows are a warp's work, those between them a group's") {
  auto text = [](const std::string& op, int columns) {
    return lowered(graph(matrix("x", "4096", columns, "bf16"),
                         R"({"op": "cast", "in": ["x"], "dtype": "f32", "out": "t"}, )" + op +
                             R"(, {"op": "cast", "in": ["n"], "dtype": "bf16", "out": "y"})",
                         R"(["y"])"));
  };
  const std::string layer_norm = R"({"op": "layer_norm", "in": ["t"], "dims": [1], "out": "n"})";
  const std::string softmax = R"({"op": "softmax", "in": ["t"], "dim": 1, "out": "n"})";
  for (const std::string& op : {layer_norm, softmax}) {
    CHECK(has(text(op, 768), "threadIdx.x / 32"));
    CHECK(has(text(op, 1600), "threadIdx.x / 64"));
  }
}

TEST_CASE("few long rows stay in the registers of a cluster, or of its largest block") {
  auto text = [](int rows, int columns, const std::string& arch) {
    return lowered(graph(matrix("x", std::to_string(rows), columns, "bf16"),
                         R"({"op": "cast", "in": ["x"], "dtype": "f32", "out": "t"}, {"op": "softmax", "in": ["t"], "dim": 1, "out": "n"},
                            {"op": "cast", "in": ["n"], "dtype": "bf16", "out": "y"})",
                         R"(["y"])"),
                   true, arch);
  };
  CHECK(has(text(16, 18432, "sm_90"), "__launch_bounds__(1024)"));
  CHECK(has(text(16, 73728, "sm_90"), "__cluster_dims__(4, 1, 1) __launch_bounds__(512)"));
  CHECK_FALSE(has(text(16, 73728, "sm_90"), "_held"));
  CHECK(has(text(128, 73728, "sm_90"), "_held"));  // a cluster for each would not find a multiprocessor
  CHECK_FALSE(has(text(16, 73728, "sm_80"), "__cluster_dims__"));
}

TEST_CASE("few rows and their columns are ranges of blocks of one kernel, unless one stores what the other reads") {
  auto text = [](int rows, const std::string& y) {
    return lowered(graph(matrix("x", std::to_string(rows), 2048),
                         R"({"op": "sum", "in": ["x"], "dims": [1], "keepdim": true, "out": "r"},
                            {"op": "sub", "in": ["x", "r"], "out": "y"}, {"op": "sum", "in": ["x"], "dims": [0], "out": "c"})",
                         "[" + y + R"(, "c"])"));
  };
  const Program few = text(128, R"("y")"), in_place = text(128, R"({"value": "y", "alias": "x"})"), many = text(4096, R"("y")");
  REQUIRE(few.launches.size() == 1);
  CHECK(few.launches[0].grid.size() == 2);
  CHECK(has(few, "(blockIdx.x - 128)"));
  CHECK(in_place.launches.size() > 1);
  CHECK_FALSE(has(in_place, "(blockIdx.x - "));
  CHECK(has(many, "partial_work"));  // of all rows that a block takes
}

TEST_CASE("columns are a kernel of their own where a range of blocks would not do for them") {
  auto launches = [](const std::string& inputs, const std::string& ops, const std::string& outputs) {
    return lowered(graph(inputs, ops, outputs)).launches.size();
  };
  // Blocks share them.
  CHECK(launches(matrix("x", "16384", 8) + ", " + matrix("y", "64", 512),
                 R"({"op": "sum", "in": ["x"], "dims": [0], "out": "c"}, {"op": "softmax", "in": ["y"], "dim": 1, "out": "s"})",
                 R"(["c", "s"])") > 1);
  // Their states would take more shared memory than a kernel has without asking.
  const std::string columns =
      R"({"op": "argmax", "in": ["x"], "dim": 0, "out": "c"}, {"op": "argmin", "in": ["x"], "dim": 0, "out": "d"}, )";
  CHECK(
      launches(matrix("x", "16", 8192, "bf16"),
               columns + R"({"op": "cast", "in": ["x"], "dtype": "f32", "out": "t"}, {"op": "softmax", "in": ["t"], "dim": 1, "out": "s"})",
               R"(["c", "d", "s"])") > 1);
}

TEST_CASE("few rows that no cluster can hold are reduced by blocks that share them") {
  const std::string x = R"({"name": "x", "dtype": "f32", "shape": [30, "N"]})";
  const std::string softmax = R"({"op": "softmax", "in": ["x"], "dim": 1, "out": "s"})";
  CHECK(lowered(graph(x, softmax, R"(["s"])", R"({"N": {"size": 100000, "dynamic": true}})")).launches.size() > 1);
  CHECK(lowered(graph(matrix("x", "30", 100000), softmax, R"(["s"])")).launches.size() == 1);
}
