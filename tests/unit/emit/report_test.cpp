#include "emit/report.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "support/diag.h"

using namespace fusec;

namespace {

Compilation compiled(const std::string& text) {
  CompileOptions options;
  options.target = target_for("sm_90");
  options.stop_after_segment = true;
  Diagnostics diagnostics;
  auto c = compile(SourceText("g.fusion.json", text), options, diagnostics);
  REQUIRE(c.has_value());
  return *c;
}

const char* const kNorm = R"({"version": 1, "name": "norm", "inputs": [{"name": "x", "dtype": "bf16", "shape": [16777216]}],
  "ops": [{"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"}, {"op": "cast", "in": ["x"], "dtype": "f32", "out": "again"}, {"op": "sum", "in": ["u"], "out": "s"},
          {"op": "div", "in": ["again", "s"], "out": "q"}, {"op": "cast", "in": ["q"], "dtype": "bf16", "out": "y"}], "outputs": ["y"]})";

}  // namespace

TEST_CASE("the JSON report adds up and names its reasons") {
  const Compilation c = compiled(kNorm);
  const auto r = nlohmann::json::parse(report_json(c, target_for("sm_90"), {{"norm_s0", {32, 0}}}));
  CHECK(r["version"] == 1);
  CHECK(r["arch"] == "sm_90");
  CHECK(r["source"]["ops"].size() == 5);
  REQUIRE(r["segments"].size() == 2);
  CHECK(r["segments"][0]["kernel"] == "norm_s0");
  CHECK(r["segments"][0]["kind"] == "reduction");
  CHECK(r["segments"][0]["registers"] == 32);
  CHECK(r["segments"][0]["bytes_read"] == 2 * 16777216);
  CHECK(r["segments"][1]["kind"] == "pointwise");
  CHECK(r["merged"].size() == 1);
  REQUIRE(r["edges"].size() == 1);
  CHECK(r["edges"][0]["value"] == "s");
  CHECK(r["edges"][0]["bytes"] == 4);
  CHECK(r["edges"][0]["why"].get<std::string>().find("full reduction") != std::string::npos);
  const auto& t = r["totals"];
  CHECK(t["segments"] == 2);
  CHECK(t["edge_bytes"] == 4);
  CHECK(t["wide_edges"] == 0);
  CHECK(t["bytes"] == 3 * 2 * 16777216 + 8);
  CHECK(t["lower_bound_bytes"] == 2 * 2 * 16777216);
  CHECK(t["recomputed_ops"] == 1);
}

TEST_CASE("ops of a composite lead back to what was written") {
  const Compilation c = compiled(R"({"version": 1, "name": "p", "inputs": [{"name": "x", "dtype": "f32", "shape": [64, 256]}],
    "ops": [{"op": "softmax", "in": ["x"], "out": "y"}], "outputs": ["y"]})");
  const auto r = nlohmann::json::parse(report_json(c, target_for("sm_90"), {}));
  REQUIRE(r["segments"].size() == 1);
  CHECK(r["segments"][0]["kind"] == "persistent");
  CHECK(r["origin"].size() >= 3);
  for (const auto& [name, origin] : r["origin"].items()) CHECK(origin == "y");
}

TEST_CASE("the Markdown report says the same") {
  const std::string text = report_markdown(compiled(kNorm), target_for("sm_90"), {});
  for (const char* part : {"# norm for sm_90", "### Segment 1: pointwise, `norm_s1`", "| `s` | f32 | 4 B | 0 | 1 |", "## Merged ops"})
    CHECK(text.find(part) != std::string::npos);
}
