// What the schedules decide, seen in the CUDA text and the launches of small graphs.
#include "lower/lower.h"

#include <string>

#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

// A graph of one bf16 input x of the given shape, cast up, `op` applied, cast down.
std::string chain(const std::string& shape, const std::string& input_extra = "", const std::string& output = R"("y")") {
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": )" + shape + input_extra + R"(}], "ops": [
    {"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"}, {"op": "neg", "in": ["u"], "out": "n"}, {"op": "cast", "in": ["n"], "dtype": "bf16", "out": "y"}],
    "outputs": [)" +
         output + "]}";
}

}  // namespace

TEST_CASE("a large tensor moves in 16-byte vectors, without a tail where none is needed") {
  const Program p = lowered(chain("[1048576]"));
  REQUIRE(p.launches.size() == 1);
  CHECK(has(p, "fs_load_kept<8, 8>(x_in"));
  CHECK(has(p, "fs_put<8>(y_out"));
  CHECK_FALSE(has(p, "whole"));
  CHECK_FALSE(has(p, "return;\n  const unsigned"));
}

TEST_CASE("a tail is guarded where the vector does not divide the extent") {
  const Program p = lowered(chain("[1048579]"));
  CHECK(has(p, "whole ? fs_load<8, 8>"));
  CHECK(has(p, "fs_store_some("));
}

TEST_CASE("rows of odd length are walked as one dimension when nothing tells them apart") {
  CHECK(has(lowered(chain("[4096, 1031]")), "fs_load_kept<8, 8>"));
}

TEST_CASE("64-bit indices only where 32 bits do not provably do") {
  CHECK(has(lowered(chain("[4294967296]")), "const long long t"));
  CHECK_FALSE(has(lowered(chain("[1073741824]")), "const long long t"));
}

TEST_CASE("a tensor without elements launches nothing") { CHECK(lowered(chain("[0, 8]")).launches.empty()); }

TEST_CASE("an update in place reads before it writes, without restrict") {
  const Program p = lowered(chain("[1048576]", "", R"({"value": "y", "alias": "x"})"));
  REQUIRE(p.launches.size() == 1);
  CHECK(p.workspace.empty());
  CHECK_FALSE(has(p, "__restrict__ x_in"));
}

TEST_CASE("an input that is needed at another index is not overwritten: the result is copied over at the end") {
  const Program p = lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "f32", "shape": [4096]}], "ops": [
    {"op": "flip", "in": ["x"], "dims": [0], "out": "f"}, {"op": "add", "in": ["x", "f"], "out": "y"}], "outputs": [{"value": "y", "alias": "x"}]})");
  REQUIRE(p.launches.size() == 2);
  CHECK(p.launches[1].kind == Launch::kCopy);
  CHECK(p.launches[1].copy_bytes == Size(4096 * 4));
  CHECK(p.workspace_bytes >= 4096 * 4);
}

TEST_CASE("a transpose goes through shared memory, and all tiles of a kernel fit in it") {
  const Program p = lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "a", "dtype": "bf16", "shape": [4096, 2048]}], "ops": [
    {"op": "permute", "in": ["a"], "perm": [1, 0], "out": "t"}, {"op": "neg", "in": ["t"], "out": "y"}], "outputs": ["y"]})");
  CHECK(has(p, "__shared__ __nv_bfloat16 a_tile[64][65]"));
  CHECK(has(p, "__syncthreads();"));
  CHECK(p.launches[0].grid[0].elems == Size(64 * 32));
}

TEST_CASE("both halves of a rotation are read once, by one thread") {
  const Program p = lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": [32, 4096, 128]}], "ops": [
    {"op": "slice", "in": ["x"], "starts": [0, 0, 0], "stops": [32, 4096, 64], "out": "lo"},
    {"op": "slice", "in": ["x"], "starts": [0, 0, 64], "stops": [32, 4096, 128], "out": "hi"},
    {"op": "neg", "in": ["hi"], "out": "n"}, {"op": "cat", "in": ["n", "lo"], "dim": -1, "out": "r"}, {"op": "add", "in": ["x", "r"], "out": "y"}], "outputs": ["y"]})");
  size_t loads = 0;
  for (size_t at = p.cuda_source.find("(x_in + "); at != std::string::npos; at = p.cuda_source.find("(x_in + ", at + 1)) ++loads;
  CHECK(loads == 2);
}

TEST_CASE("outputs of different shapes are ranges of blocks of one kernel") {
  const Program p = lowered(
      R"({"version": 1, "name": "g", "inputs": [{"name": "a", "dtype": "f32", "shape": [64, 32]}, {"name": "b", "dtype": "f32", "shape": [7]}], "ops": [
    {"op": "neg", "in": ["a"], "out": "y"}, {"op": "neg", "in": ["b"], "out": "z"}], "outputs": ["y", "z"]})");
  REQUIRE(p.launches.size() == 1);
  CHECK(p.launches[0].grid.size() == 2);
}

TEST_CASE("sine and cosine of one value share their range reduction; a bounded one needs no slow path") {
  const std::string tail = R"({"op": "sin", "in": ["w"], "out": "s"}, {"op": "cos", "in": ["w"], "out": "c"}], "outputs": ["s", "c"]})";
  const std::string head = R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "f32", "shape": [64]}], "ops": [)";
  CHECK(has(lowered(head + R"({"op": "neg", "in": ["x"], "out": "w"}, )" + tail), "fs_sincos(w, "));
  CHECK(has(lowered(head + R"({"op": "tanh", "in": ["x"], "out": "w"}, )" + tail), "fs_sincos_bounded(w, "));
}

TEST_CASE("products are not contracted unless asked for") {
  Diagnostics diagnostics;
  CompileOptions options;
  options.target = target_for("sm_90");
  const SourceText source("g.fusion.json", R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "f32", "shape": [64]}], "ops": [
    {"op": "mul", "in": ["x", "x"], "out": "m"}, {"op": "add", "in": ["m", "x"], "out": "y"}], "outputs": ["y"]})");
  CHECK(compile(source, options, diagnostics)->program->cuda_source.find("__fmul_rn(") != std::string::npos);
  options.emit.contract = true;
  CHECK(compile(source, options, diagnostics)->program->cuda_source.find("__fmul_rn(") == std::string::npos);
}

TEST_CASE("a run-time size stays a parameter of the kernel") {
  const Program p = lowered(
      R"({"version": 1, "name": "g", "dims": {"N": {"size": 4096, "dynamic": true, "multiple_of": 8}}, "inputs": [{"name": "x", "dtype": "bf16", "shape": ["N", 64]}],
    "ops": [{"op": "neg", "in": ["x"], "out": "y"}], "outputs": ["y"]})");
  REQUIRE(p.launches.size() == 1);
  CHECK(p.launches[0].args.back().kind == KernelArg::kSymbol);
  CHECK(has(p, "long long N)"));
  CHECK_FALSE(p.launches[0].grid[0].elems.is_constant());
}

TEST_CASE("a product of run-time sizes stays together after a division") {
  const Program p = lowered(
      R"({"version": 1, "name": "g", "dims": {"A": {"size": 8, "dynamic": true, "max": 64}, "N": {"size": 8, "dynamic": true, "max": 64},
    "M": {"size": 8, "dynamic": true, "max": 64}}, "inputs": [{"name": "x", "dtype": "f32", "shape": ["A", "N", "M"]}, {"name": "b", "dtype": "f32", "shape": ["A", 1, "M"]},
    {"name": "c", "dtype": "f32", "shape": ["N", 1]}], "ops": [{"op": "add", "in": ["x", "b"], "out": "y"}, {"op": "add", "in": ["y", "c"], "out": "z"}], "outputs": ["z"]})");
  CHECK(has(p, "t / ((unsigned)N * (unsigned)M)"));
}

TEST_CASE("the boundary of a run-time size is compared without a difference that could wrap") {
  const Program p = lowered(
      R"({"version": 1, "name": "g", "dims": {"N": {"size": 8, "dynamic": true, "max": 1000}}, "inputs": [{"name": "x", "dtype": "f32", "shape": ["N"]},
    {"name": "y", "dtype": "f32", "shape": [1003]}], "ops": [{"op": "cat", "in": ["x", "y"], "dim": 0, "out": "z"}, {"op": "exp", "in": ["z"], "out": "w"}], "outputs": ["w"]})");
  CHECK(has(p, "i0 >= (unsigned)N ?"));
  CHECK(has(p, "i0 + 1 <= (unsigned)N ?"));
}

TEST_CASE("a flipped dimension of a large tensor: the index is complete before it meets the pointer") {
  CHECK(has(lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "f32", "shape": [4096, 1024]}], "ops": [
    {"op": "flip", "in": ["x"], "dims": [0], "out": "f"}, {"op": "exp", "in": ["f"], "out": "y"}], "outputs": ["y"]})"),
            "(x_in + (-i0 * 1024"));
}

TEST_CASE("three unrolled operands still make vectors of a power of two") {
  const Program p = lowered(
      R"({"version": 1, "name": "g", "inputs": [{"name": "a", "dtype": "u8", "shape": [100000, 80]}, {"name": "b", "dtype": "u8", "shape": [100000, 80]},
    {"name": "c", "dtype": "u8", "shape": [100000, 80]}], "ops": [{"op": "cat", "in": ["a", "b", "c"], "dim": 0, "out": "d"}, {"op": "add", "in": ["d", 1], "out": "y"}], "outputs": ["y"]})");
  CHECK(has(p, "Vec<unsigned char, 4>"));
}

TEST_CASE("a tower of views is text that grows with its height only") {
  std::string ops, in = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    ops += std::string(i > 0 ? ", " : "") + R"({"op": "permute", "in": [")" + in + R"("], "perm": [1, 0], "out": "p)" + n +
           R"("}, {"op": "reshape", "in": ["p)" + n + R"("], "shape": [6, 10], "out": "r)" + n + R"("})";
    in = "r" + n;
  }
  const Program p = lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": [6, 10]}], "ops": [)" + ops +
                            R"(], "outputs": [")" + in + R"("]})");
  CHECK(p.cuda_source.size() < 20000);
}

TEST_CASE("an angle is bounded only where nothing saturates or wraps on the way") {
  const std::string head =
      R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "f16", "shape": [64]}], "ops": [{"op": "cast", "in": ["x"], "dtype": ")";
  const std::string tail =
      R"(", "out": "i"}, {"op": "cast", "in": ["i"], "dtype": "f32", "out": "f"}, {"op": "sin", "in": ["f"], "out": "y"}], "outputs": ["y"]})";
  CHECK(has(lowered(head + "i32" + tail), "fs_sin("));
  CHECK(has(lowered(head + "f16" + tail), "fs_sin_bounded("));
}

TEST_CASE("two compilations give the same text") {
  CHECK(lowered(chain("[1000, 33]")).cuda_source == lowered(chain("[1000, 33]")).cuda_source);
}

TEST_CASE("a sum over rows of many operands, a line of which each thread loads") {
  std::string inputs, ops;
  for (int k = 0; k < 10; ++k) {
    inputs += std::string(k ? ", " : "") + R"({"name": "a)" + std::to_string(k) + R"(", "dtype": "f32", "shape": [100, 64]})";
    if (k > 0)
      ops += R"({"op": "add", "in": [")" + std::string(k == 1 ? "a0" : "t" + std::to_string(k - 1)) + R"(", "a)" + std::to_string(k) +
             R"("], "out": "t)" + std::to_string(k) + R"("}, )";
  }
  const Program p = lowered(R"({"version": 1, "name": "g", "inputs": [)" + inputs + R"(], "ops": [)" + ops +
                            R"({"op": "sum", "in": ["t9"], "dims": [0], "out": "y"}], "outputs": ["y"]})");
  CHECK(p.launches.size() == 1);
}
