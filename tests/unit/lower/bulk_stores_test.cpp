// Stores of a thread that lie apart, gathered in shared memory where those of a block lie side by side.
#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

// Rotates [rows, heads, length] in bf16, heads outermost in the result.
std::string rotated(const std::string& rows, const std::string& heads, const std::string& length, const std::string& output = R"("y")",
                    const std::string& permuted = "[1, 0, 2]") {
  const std::string angles = R"(", "dtype": "bf16", "shape": [)" + rows + ", " + length + "]}";
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": [)" + rows + ", " + heads + ", " + length +
         R"(]}, {"name": "c)" + angles + R"(, {"name": "s)" + angles + R"(], "ops": [
    {"op": "permute", "in": ["x"], "perm": )" +
         permuted + R"(, "out": "h"}, {"op": "rope", "in": ["h", "c", "s"], "out": "y"}], "outputs": [)" + output + "]}";
}

}  // namespace

TEST_CASE("both halves of rows are gathered, as many rows as a block holds, and leave as one stretch") {
  const Program p = lowered(rotated("4096", "32", "128"));
  CHECK(has(p, "__launch_bounds__(128, 10)"));
  CHECK(has(p, "__shared__ alignas(128) __nv_bfloat16 y_gathered[2][1024];"));
  CHECK(has(p, "fs_store_bulk<1024, 128>(y_out + "));
  CHECK_FALSE(has(p, "fs_put<4>(y_out"));
}

TEST_CASE("a block has as many threads as whole rows need") {
  const Program p = lowered(rotated("8192", "32", "96"));
  CHECK(has(p, "__launch_bounds__(96, 10)"));
  CHECK(has(p, "fs_store_bulk<768, 96>(y_out + "));
  CHECK(p.launches[0].block == 96);
  CHECK(lowered(rotated("8192", "32", "80")).launches[0].block == 160);
}

TEST_CASE("64 rows of all heads come before the next, so that rows are read as a whole") {
  CHECK(has(lowered(rotated("4096", "32", "128")), " = t / 16 % 64, "));
  CHECK_FALSE(has(lowered(rotated("4104", "32", "128")), " % 64, "));  // (64 does not divide them)
  CHECK(has(lowered(rotated("4104", "32", "128")), "fs_store_bulk<1024, 128>("));
}

TEST_CASE("nothing is gathered where blocks end amid rows, or the copy engine cannot help") {
  CHECK_FALSE(has(lowered(rotated("4097", "32", "128")), "fs_store_bulk"));
  CHECK_FALSE(has(lowered(rotated("4096", "32", "128"), true, "sm_80"), "fs_store_bulk"));
  CHECK_FALSE(has(lowered(rotated("512", "512", "128", R"({"value": "y", "alias": "x"})", "[0, 1, 2]")), "fs_store_bulk"));
  CHECK_FALSE(has(lowered(rotated("128", "1", "64")), "fs_store_bulk"));
  CHECK_FALSE(
      has(lowered(rotated("\"N\"", "32", "128").insert(1, R"("dims": {"N": {"size": 4096, "dynamic": true}}, )")), "fs_store_bulk"));
}

TEST_CASE("neither are vectors that lie side by side anyway") {
  CHECK_FALSE(has(lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": [4096, 4096]}],
    "ops": [{"op": "neg", "in": ["x"], "out": "y"}], "outputs": ["y"]})"),
                  "fs_store_bulk"));
}
