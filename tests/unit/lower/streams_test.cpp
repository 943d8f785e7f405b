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
  CHECK(has(p, "fs_copy_ahead<true>(&x_x_ahead"));
  CHECK(has(p, "fs_copy_ahead<true>(&y_x_ahead"));
  CHECK(has(p, "fs_store<8>(s_out"));
  CHECK(has(p, "fs_load_once<8>(s_work"));  // for the last time
  CHECK(has(p, "fs_store_once(z_out"));
}

TEST_CASE("nothing of the kind where the L2 cache holds everything, or far too little") {
  for (int rows : {256, 16384}) {
    const Program p = lowered(scaled(rows));
    CHECK(p.launches.size() == 3);
    CHECK_FALSE(has(p, "_once"));
    CHECK_FALSE(has(p, "fs_copy_ahead<true>"));
  }
}

TEST_CASE("inputs that a later launch reads again stay") {
  const Program p = lowered(scaled(4096, R"(, {"op": "mul", "in": ["z", "y"], "out": "w"})", R"(["w"])"));
  CHECK(p.launches.size() == 3);
  CHECK_FALSE(has(p, "_once"));
  CHECK_FALSE(has(p, "fs_copy_ahead<true>"));
}
