#include "emit/launcher.h"

#include "catch.h"
#include "driver/compile.h"
#include "emit/names.h"
#include "support/diag.h"

using namespace fusec;

namespace {

Program compiled(const std::string& text) {
  CompileOptions options;
  options.target = target_for("sm_80");
  Diagnostics diagnostics;
  auto c = compile(SourceText("g.fusion.json", text), options, diagnostics);
  REQUIRE(c.has_value());
  return *c->program;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Symbols sizes(const std::vector<std::string>& names) {
  Symbols symbols;
  for (const std::string& name : names) symbols.push({name, 1, 1, INT64_MAX, false, {}, 1});
  return symbols;
}

}  // namespace

TEST_CASE("a launcher refuses sizes that break the graph's promises") {
  const Program p = compiled(R"({"version": 1, "name": "g", "dims": {"N": {"size": 8, "dynamic": true, "multiple_of": 4, "max": 64}},
    "inputs": [{"name": "x", "dtype": "f32", "shape": ["N"]}], "ops": [{"op": "neg", "in": ["x"], "out": "y"}], "outputs": ["y"]})");
  CHECK(contains(p.cuda_source, "if (N < 0 || N > 64 || N % 4 != 0) return cudaErrorInvalidValue;"));
  CHECK(contains(p.header_source, "N: typically 8, a multiple of 4, at most 64"));
  CHECK(contains(p.header_source, "int g_launch_sized(const long long *sizes, "));
}

TEST_CASE("a scalar has a default of its own type, or must be given") {
  auto launcher = [](const std::string& dtype, const std::string& value) {
    return compiled(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": ")" + dtype + R"(", "shape": [4]},
      {"name": "s", "dtype": ")" +
                    dtype + R"(", "shape": [], "scalar": true)" + value + R"(}],
      "ops": [{"op": "mul", "in": ["x", "s"], "out": "y"}], "outputs": ["y"]})")
        .cuda_source;
  };
  CHECK(contains(launcher("f32", ", \"value\": 0.5"), "inputs[1] ? *(const float *)inputs[1] : (float)0.5"));
  CHECK(contains(launcher("f32", ", \"value\": \"-inf\""), ": (float)-INFINITY"));
  CHECK(contains(launcher("f64", ", \"value\": \"nan\""), ": (double)NAN"));
  CHECK(contains(launcher("f32", ""), "if (!inputs[1]) return cudaErrorInvalidValue;"));
  // The bits of 1.5: exponent 7 of bias 7 and 4/8, exponent 15 of bias 15 and 2/4.
  CHECK(contains(launcher("f8e4m3", ", \"value\": 1.5"), ": (unsigned char)60"));
  CHECK(contains(launcher("f8e5m2", ", \"value\": 1.5"), ": (unsigned char)62"));
  CHECK(contains(launcher("f8e4m3", ", \"value\": -0.001953125"), ": (unsigned char)129"));  // the least subnormal
  CHECK(contains(launcher("f8e4m3", ", \"value\": 448"), ": (unsigned char)126"));
}

TEST_CASE("sizes get identifiers that differ from each other and from index variables") {
  const Symbols symbols = sizes({"N", "_N", "i0", "v_i0", "MAX_LEN", "stream"});
  std::vector<std::string> ids;
  for (size_t i = 0; i < symbols.size(); ++i) ids.push_back(symbol_identifier(symbols, SymbolId(i)));
  CHECK(ids == std::vector<std::string>{"N", "N__1", "v_i0__2", "v_i0", "v_MAX_LEN", "v_stream"});
}

TEST_CASE("kernels use each size by its own identifier") {
  const Program p = compiled(R"({"version": 1, "name": "g", "dims": {"N": {"size": 8, "dynamic": true}, "_N": {"size": 4, "dynamic": true}},
    "inputs": [{"name": "x", "dtype": "f32", "shape": ["N", "_N"]}], "ops": [{"op": "neg", "in": ["x"], "out": "y"}], "outputs": ["y"]})");
  CHECK(contains(p.cuda_source, "long long N, long long N__1"));
  CHECK(contains(p.cuda_source, "t < (N * N__1)"));
}
