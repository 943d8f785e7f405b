// What passes through once makes room in the L2 cache for what a later launch reads.
#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

// A sum of two inputs is stored for a second launch, which needs the sums of its columns.
std::string centred(int rows, const std::string& more = "", const std::string& outputs = R"(["z"])") {
  const std::string shape = "[" + std::to_string(rows) + ", 4096]";
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": )" + shape +
         R"(}, {"name": "y", "dtype": "bf16", "shape": )" + shape +
         R"(}], "ops": [
    {"op": "add", "in": ["x", "y"], "out": "s"},
    {"op": "sum", "in": ["s"], "dims": [0], "out": "c"},
    {"op": "sub", "in": ["s", "c"], "out": "z"})" +
         more + R"(], "outputs": )" + outputs + "}";
}

}  // namespace

TEST_CASE("inputs and outputs that are touched once do not drive out what waits in workspace") {
  const Program p = lowered(centred(4096));
  REQUIRE(p.launches.size() > 1);
  REQUIRE_FALSE(p.workspace.empty());
  CHECK(has(p, "fs_load_once<8>(x_in"));
  CHECK(has(p, "fs_load_once<8>(y_in"));
  CHECK(has(p, "fs_load_once<8>(s_work"));  // for the last time
  CHECK(has(p, "fs_store_once(z_out"));
  CHECK(has(p, "fs_store<8>(s_work"));
}

TEST_CASE("nothing of the kind where the L2 cache holds everything, or far too little") {
  CHECK_FALSE(has(lowered(centred(256)), "_once"));
  CHECK_FALSE(has(lowered(centred(16384)), "_once"));
}

TEST_CASE("an input that is read again later stays") {
  const Program p = lowered(centred(4096, R"(, {"op": "mul", "in": ["z", "y"], "out": "w"})", R"(["w"])"));
  CHECK(p.launches.size() > 1);
  CHECK_FALSE(has(p, "_once"));
}
