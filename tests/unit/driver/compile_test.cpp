#include "driver/compile.h"

#include <algorithm>

#include "catch.h"
#include "data/accuracy.h"

using namespace fusec;

namespace {

const char* const kGraph = R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": [64]}], "ops": [
  {"op": "cast", "in": ["x"], "dtype": "f32", "out": "wide"},
  {"op": "exp", "in": ["wide"], "out": "e"},
  {"op": "add", "in": ["e", 0], "out": "unused"},
  {"op": "cast", "in": ["e"], "dtype": "bf16", "out": "y"},
  {"op": "cast", "in": ["y"], "dtype": "f32", "out": "back"},
  {"op": "mul", "in": ["wide", 2], "out": "twice"}], "outputs": ["back", "twice"]})";

std::optional<Compilation> compiled(const CompileOptions& options, const char* text = kGraph) {
  Diagnostics diagnostics;
  auto result = compile(SourceText("g", text), options, diagnostics);
  CHECK(result.has_value() != diagnostics.has_errors());
  return result;
}

std::string refusal(const CompileOptions& options) {
  try {
    compiled(options);
  } catch (const Failure& failure) {
    CHECK(failure.exit == Exit::kBadInput);
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a graph goes through every stage") {
  const auto result = compiled({});
  REQUIRE(result);
  REQUIRE(result->program);
  CHECK(result->program->launches.size() == 1);
  CHECK(result->program->cuda_source.find("__global__") != std::string::npos);
  CHECK(result->graph.ops.size() == 6);
  CHECK(result->rewritten.ops.size() == 5);
  CHECK(result->stopped_text.empty());
}

TEST_CASE("the same input gives the same text") { CHECK(compiled({})->program->cuda_source == compiled({})->program->cuda_source); }

TEST_CASE("a stage can be the last one") {
  for (const std::string_view name : stage_names()) {
    CompileOptions options;
    options.stop_after = name;
    const auto result = compiled(options);
    REQUIRE(result);
    CHECK_FALSE(result->stopped_text.empty());
    CHECK(result->program.has_value() == (name == "lower"));
  }
}

TEST_CASE("only the reports ask for no lowering") {
  const char* const kSum = R"({"version": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": [8]}],
    "ops": [{"op": "sort", "in": ["x"], "out": ["y", "i"]}], "outputs": ["y"]})";
  CompileOptions options;
  options.stop_after_segment = true;
  const auto result = compiled(options, kSum);
  REQUIRE(result);
  CHECK(result->segmentation.segments.size() == 1);
  CHECK_FALSE(result->program.has_value());
}

TEST_CASE("stages are called by their names") {
  CompileOptions options;
  options.skip = {"simplfy"};
  CHECK(refusal(options).find("did you mean 'simplify'?") != std::string::npos);
  options.skip = {"expand_composites"};
  CHECK(refusal(options).find("'expand_composites' is not optional") != std::string::npos);
  options.skip = {};
  options.stop_after = "nowhere";
  CHECK(refusal(options).find("--stop-after: no stage 'nowhere'") != std::string::npos);
  options.stop_after = "";
  options.dump_after = {"segmnt"};
  CHECK(refusal(options).find("did you mean 'segment'?") != std::string::npos);
}

TEST_CASE("optional passes can be left out") {
  CompileOptions options;
  options.skip = {"simplify", "fold_constants", "share_equal_ops"};
  CHECK(compiled(options)->program.has_value());
  options.skip = {};
  options.pass_limit = 0;
  CHECK(compiled(options)->program.has_value());
}

TEST_CASE("how exactly outputs are determined") {
  const auto result = compiled({});
  const auto accuracy = accuracy_of_outputs(result->graph, false);
  REQUIRE(accuracy.size() == 2);
  // exp, then a rounding to bf16: the f32 output is as rough as a bf16.
  CHECK_FALSE(accuracy[0].exact);
  CHECK(accuracy[0].depth == 1);
  CHECK(accuracy[0].roughest == DType::kBF16);
  CHECK(accuracy[1].exact);
  CHECK(accuracy[1].roughest == DType::kF64);
  CHECK_FALSE(accuracy_of_outputs(result->graph, true)[1].exact);
}
