// What passes through once makes room in the L2 cache for what a later launch reads.
#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

// A sum of two inputs is stored for a last launch, which needs the sums of its columns, each row times its sum.
std::string scaled(int rows, const std::string& more = "", const std::string& outputs = R"(["z"])") {
  const std::string shape = "[" + std::to_string(rows) + ", 4096]";
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": )" + shape +
         R"(}, {"name": "y", "dtype": "bf16", "shape": )" + shape + R"(}], "ops": [
    {"op": "add", "in": ["x", "y"], "out": "s"},
    {"op": "sum", "in": ["s"], "dims": [1], "keepdim": true, "out": "r"},
    {"op": "mul", "in": ["s", "r"], "out": "u"},
    {"op": "sum", "in": ["u"], "dims": [0], "out": "c"},
    {"op": "sub", "in": ["u", "c"], "out": "z"})" +
         more + R"(], "outputs": )" + outputs + "}";
}

}  // namespace

TEST_CASE("inputs and outputs that are touched once do not drive out what waits in workspace") {
  const Program p = lowered(scaled(4096));
  REQUIRE(p.launches.size() == 3);
  CHECK(has(p, "fs_copy_ahead<fs_once>(&x_x_ahead"));
  CHECK(has(p, "fs_copy_ahead<fs_once>(&y_x_ahead"));
  CHECK(has(p, "fs_store<8>(s_out"));
  CHECK(has(p, "fs_load_once<8>(s_work"));  // for the last time
  CHECK(has(p, "fs_store_once(z_out"));
}

TEST_CASE("nothing of the kind where the L2 cache holds everything, or far too little") {
  for (int rows : {256, 16384}) {
    const Program p = lowered(scaled(rows));
    CHECK(p.launches.size() == 3);
    CHECK_FALSE(has(p, "_once<"));
    CHECK_FALSE(has(p, "_once("));
    CHECK_FALSE(has(p, "fs_copy_ahead<fs_once>"));
  }
}

TEST_CASE("inputs that a later launch reads again stay") {
  const Program p = lowered(scaled(4096, R"(, {"op": "mul", "in": ["z", "y"], "out": "w"})", R"(["w"])"));
  CHECK(p.launches.size() == 3);
  CHECK_FALSE(has(p, "_once<"));
  CHECK_FALSE(has(p, "_once("));
  CHECK_FALSE(has(p, "fs_copy_ahead<fs_once>"));
}

namespace {

std::string doubled(const std::string& size, const std::string& ops, const std::string& outputs, const std::string& inputs = "") {
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "f32", "shape": [)" + size + "]}" + inputs + R"(], "ops": [)" +
         ops + R"(], "outputs": )" + outputs + "}";
}

}  // namespace

TEST_CASE("what is read stays in the L2 cache: all inputs where it holds them, others while more is written than it holds") {
  const std::string ops = R"({"op": "mul", "in": ["x", 2], "out": "y"})";
  CHECK(has(lowered(doubled("4096, 8192", ops, R"(["y"])")), "fs_load_kept<"));
  CHECK(has(lowered(doubled("512, 8192", ops, R"(["y"])")), "fs_load_kept<"));
  const std::string updates = R"({"op": "full", "shape": [1048576], "dtype": "f32", "value": 0, "out": "z"},
    {"op": "scatter", "in": ["z", "i", "x"], "dim": 0, "accumulate": "add", "out": "s"}, {"op": "mul", "in": ["s", 2], "out": "y"})";
  const Program twice = lowered(
      doubled("1048576", updates, R"(["y"])", R"(, {"name": "i", "dtype": "i32", "shape": [1048576], "init": {"randint": [0, 1048576]}})"));
  CHECK(has(twice, "fs_load<4, 4>(s_work"));                                                                    // (nothing reads it again)
  CHECK_FALSE(has(lowered(doubled("4096, 8192", ops, R"([{"value": "y", "alias": "x"}])")), "fs_load_kept<"));  // may be written meanwhile
  CHECK_FALSE(has(lowered(doubled("4096, 8192", R"({"op": "sum", "in": ["x"], "dims": [1], "out": "y"})", R"(["y"])")), "fs_load_kept<"));
  CHECK(has(lowered(doubled("\"N\", 8192", ops, R"(["y"])").insert(1, R"("dims": {"N": {"size": 4096, "dynamic": true}}, )")),
            "fs_load_kept<"));
}

TEST_CASE("targets of updates are what the L2 cache keeps, and guarded loads are the compiler's own") {
  CHECK_FALSE(
      has(lowered(doubled("4096, 8192", R"({"op": "full", "out": "z", "shape": [16777216], "dtype": "f32", "value": 0},
    {"op": "reshape", "in": ["x"], "shape": [33554432], "out": "v"}, {"op": "scatter", "in": ["z", "at", "v"], "dim": 0, "accumulate": "add", "out": "y"})",
                          R"(["y"])", R"(, {"name": "at", "dtype": "i32", "shape": [33554432], "init": {"randint": [0, 16777216]}})")),
          "fs_load_kept<"));
  CHECK_FALSE(has(
      lowered(doubled("4096, 8192", R"({"op": "pad", "in": ["x"], "low": [0, 64], "high": [0, 0], "value": 0, "out": "y"})", R"(["y"])")),
      "fs_load_kept<"));
}

TEST_CASE("loads that depend on something are the compiler's own, in rows of odd lengths and where rows are updated in place") {
  auto normed = [](const std::string& shape, const std::string& outputs) {
    return lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": [)" + shape +
                   R"(]}, {"name": "z", "dtype": "bf16", "shape": [)" + shape + R"(]}], "ops": [
      {"op": "mul", "in": ["x", "z"], "out": "p"}, {"op": "softmax", "in": ["p"], "dim": 1, "out": "y"}], "outputs": )" +
                   outputs + "}");
  };
  CHECK(has(normed("8192, 5003", R"(["y"])"), "fs_load_kept<"));
  CHECK_FALSE(has(normed("8191, 5003", R"(["y"])"), "fs_load_kept<"));  // vectors past the last row would leave the tensor
  CHECK(has(normed("8192, 4096", R"(["y"])"), "fs_load_kept<"));
  CHECK_FALSE(has(normed("8192, 5000", R"([{"value": "y", "alias": "x"}])"), "fs_load_kept<"));
}

TEST_CASE("lines that a launch keeps must not be in the way of a later one that moves much too") {
  auto first_keeps = [](const std::string& rows) {  // of two launches: sums, and a product of so many rows
    const Program p = lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "w", "dtype": "f32", "shape": [4096, 4, 8192]},
      {"name": "x", "dtype": "f32", "shape": [)" +
                              rows + R"(, 8192]}], "ops": [{"op": "sum", "in": ["w"], "dims": [1], "out": "v"},
      {"op": "mul", "in": ["x", 2], "out": "y"}], "outputs": ["v", "y"]})");
    REQUIRE(p.launches.size() == 2);
    CHECK(has(p, "fs_load_kept<4, 4>(x_in"));
    return has(p, "fs_load_kept<4, 4>(w_in");
  };
  CHECK(first_keeps("64"));
  CHECK_FALSE(first_keeps("1024"));
}
