// Which exponentials and quotients may be coarse: those of which only 16 bits are ever seen.
#include "lower/coarse.h"

#include <string>

#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

// Names of the coarse ops of softmax(x), its steps written out, with `last` as its last op and some outputs.
std::string coarse_ops(const std::string& last, const std::string& outputs, const std::string& dtype = "bf16") {
  const Graph graph = compiled(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": ")" + dtype +
                               R"(", "shape": [40, 96]}], "ops": [
    {"op": "cast", "in": ["x"], "dtype": "f32", "out": "f"},
    {"op": "max", "in": ["f"], "dims": [1], "keepdim": true, "out": "m"},
    {"op": "sub", "in": ["f", "m"], "out": "d"},
    {"op": "exp", "in": ["d"], "out": "e"},
    {"op": "sum", "in": ["e"], "dims": [1], "keepdim": true, "out": "s"},
    {"op": "div", "in": ["e", "s"], "out": "q"},
    )" + last + R"(], "outputs": )" +
                               outputs + "}")
                          .rewritten;
  const auto coarse = find_coarse_ops(graph);
  std::string names;
  for (size_t i = 0; i < graph.ops.size(); ++i)
    if (coarse[OpId(i)]) names += graph.name_of(OpId(i)) + " ";
  return names;
}

const std::string kNarrow = R"({"op": "cast", "in": ["q"], "dtype": "bf16", "out": "y"})";

}  // namespace

TEST_CASE("an exponential that is rounded to 16 bits, and its quotient, are coarse") {
  CHECK(coarse_ops(kNarrow, R"(["y"])") == "e q ");
  CHECK(coarse_ops(R"({"op": "cast", "in": ["q"], "dtype": "f8e4m3", "out": "y"})", R"(["y"])") == "e q ");
}

TEST_CASE("what is seen in 32 bits is not") {
  CHECK(coarse_ops(kNarrow, R"(["y", "e"])") == "");
  CHECK(coarse_ops(kNarrow, R"(["y", "q"])") == "");
  CHECK(coarse_ops(kNarrow, R"(["y", "s"])") == "");
  CHECK(coarse_ops(R"({"op": "copy", "in": ["q"], "out": "y"})", R"(["y"])") == "");
}

TEST_CASE("nor where a difference or a logarithm would make its error greater") {
  CHECK(coarse_ops(R"({"op": "sub", "in": ["q", 1.0], "out": "r"}, {"op": "cast", "in": ["r"], "dtype": "bf16", "out": "y"})",
                   R"(["y"])") == "");
  CHECK(coarse_ops(R"({"op": "log", "in": ["q"], "out": "r"}, {"op": "cast", "in": ["r"], "dtype": "bf16", "out": "y"})", R"(["y"])") ==
        "");
}

TEST_CASE("quotients of exact values stay exact") {
  CHECK(coarse_ops(R"({"op": "div", "in": ["f", "m"], "out": "r"}, {"op": "cast", "in": ["r"], "dtype": "bf16", "out": "y"})",
                   R"(["y"])") == "");
}

TEST_CASE("an error function to which one is added is coarse, whatever follows") {
  auto erf_is_coarse = [](const std::string& ops, const std::string& outputs) {
    const Graph graph = compiled(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "f32", "shape": [8]}], "ops": [
      {"op": "erf", "in": ["x"], "out": "e"}, )" +
                                 ops + R"(], "outputs": )" + outputs + "}")
                            .rewritten;
    const auto coarse = find_coarse_ops(graph);
    for (size_t i = 0; i < graph.ops.size(); ++i)
      if (graph[OpId(i)].kind == OpKind::kErf) return coarse[OpId(i)];
    return false;
  };
  CHECK(erf_is_coarse(R"({"op": "add", "in": ["e", 1], "out": "y"})", R"(["y"])"));
  CHECK(erf_is_coarse(R"({"op": "sub", "in": [1.0, "e"], "out": "y"}, {"op": "add", "in": ["e", -2.5], "out": "z"})", R"(["y", "z"])"));
  CHECK_FALSE(erf_is_coarse(R"({"op": "add", "in": ["e", 1], "out": "y"})", R"(["y", "e"])"));
  CHECK_FALSE(erf_is_coarse(R"({"op": "add", "in": ["e", 0.5], "out": "y"})", R"(["y"])"));
  CHECK_FALSE(erf_is_coarse(R"({"op": "add", "in": ["e", "x"], "out": "y"})", R"(["y"])"));
  CHECK_FALSE(erf_is_coarse(R"({"op": "add", "in": ["e", 1], "out": "y"}, {"op": "mul", "in": ["e", "x"], "out": "z"})", R"(["y", "z"])"));
}
