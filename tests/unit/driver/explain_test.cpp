#include "driver/explain.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "driver/what_if.h"
#include "unit/segment/graphs.h"

using namespace fusec;

namespace {

Compilation segmented(const std::string& text, const Target& target) {
  CompileOptions options;
  options.target = target;
  options.stop_after_segment = true;
  Diagnostics diagnostics;
  const SourceText source("g.fusion.json", text);
  auto c = compile(source, options, diagnostics);
  INFO(render(diagnostics, source, false));
  REQUIRE(c.has_value());
  return *c;
}

std::string graph_text(const std::string& inputs, const std::string& ops, const std::string& outputs) {
  return R"({"version": 1, "name": "g", "inputs": [)" + inputs + R"(], "ops": [)" + ops + R"(], "outputs": [)" + outputs + "]}";
}

Explanation ask(const std::string& text, const Questions& questions = {}, const char* arch = "sm_90") {
  const Target target = target_for(arch);
  return explain(segmented(text, target), target, questions);
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kVector = R"({"name": "x", "dtype": "bf16", "shape": [33554432]})";
// A whole-tensor sum, and a difference that waits for it; `n` is needed on both sides.
const std::string kCentred = graph_text(kVector,
                                        R"({"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"}, {"op": "neg", "in": ["u"], "out": "n"},
  {"op": "sum", "in": ["n"], "out": "total"}, {"op": "sub", "in": ["n", "total"], "out": "rest"}, {"op": "cast", "in": ["rest"], "dtype": "bf16", "out": "y"})",
                                        R"("y")");

}  // namespace

// One graph for each rule that forces a cut, and the words that name the op to blame.
TEST_CASE("every cut is told by its true rule") {
  struct Row {
    const char* rule;
    const char* words;
    std::string text;
    const char* arch = "sm_90";
  };
  std::string inputs, sum, last = "x0", chain, tip = "x";
  for (int k = 0; k < 600; ++k) {
    const std::string n = std::to_string(k);
    inputs += (k ? ", " : "") + std::string(R"({"name": "x)") + n + R"(", "dtype": "f32", "shape": [4096]})";
    if (k == 0) continue;
    sum += (k > 1 ? ", " : "") + std::string(R"({"op": "add", "in": [")") + last + R"(", "x)" + n + R"("], "out": "s)" + n + "\"}";
    last = "s" + n;
  }
  for (int k = 0; k < 4200; ++k) {
    const std::string next = "t" + std::to_string(k);
    chain += (k ? ", " : "") + std::string(R"({"op": "sin", "in": [")") + tip + R"("], "out": ")" + next + "\"}";
    tip = next;
  }
  const Row rows[] = {
      {"grid-wide dependence", "`total` is a full reduction over 33554432 elements and `rest` needs it everywhere", kCentred},
      {"row too long", "needed again after `top`",
       graph_text(
           R"({"name": "x", "dtype": "f32", "shape": [256, 2000000]})",
           R"({"op": "max", "in": ["x"], "dims": [1], "keepdim": true, "out": "top"}, {"op": "sub", "in": ["x", "top"], "out": "y"})",
           R"("y")")},
      {"row too long", "is more than one block sorts (`s`)",
       graph_text(
           R"({"name": "x", "dtype": "f32", "shape": [64, 100000]})",
           R"({"op": "sort", "in": ["x"], "dim": 1, "out": ["s", null]}, {"op": "max", "in": ["s"], "dims": [1], "keepdim": true, "out": "m"}, {"op": "div", "in": ["s", "m"], "out": "y"})",
           R"("y")")},
      {"a matrix product stands alone", "`p` is a matrix product",
       graph_text(
           R"({"name": "a", "dtype": "f32", "shape": [512, 512]})",
           R"({"op": "exp", "in": ["a"], "out": "e"}, {"op": "matmul", "in": ["e", "a"], "out": "p"}, {"op": "neg", "in": ["p"], "out": "y"})",
           R"("y")")},
      {"kernel parameters", "at most 504", graph_text(inputs, sum, "\"" + last + "\""), "sm_80"},
      {"too many ops in one kernel", "at most 4000",
       graph_text(R"({"name": "x", "dtype": "f32", "shape": [4096]})", chain, "\"" + tip + "\"")},
  };
  for (const Row& row : rows) {
    INFO(row.rule << ", " << row.words);
    const Explanation e = ask(row.text, {}, row.arch);
    REQUIRE(!e.cuts.empty());
    bool named = false;
    for (const CutStory& cut : e.cuts) {
      INFO(cut.value << ": " << cut.rule << " | " << cut.why);
      CHECK(!cut.rule.empty());
      CHECK(cut.rule != "none");
      named |= cut.rule == row.rule && says(cut.why, row.words);
    }
    CHECK(named);
    CHECK(says(explanation_text(e), row.words));
  }
}

TEST_CASE("a pair apart is told why, and that one kernel cannot hold it") {
  const Explanation e = ask(kCentred, {{"total", "rest"}, {}});
  REQUIRE(e.pairs.size() == 1);
  const PairStory& pair = e.pairs[0];
  CHECK(!pair.together);
  CHECK(pair.rule == "grid-wide dependence");
  CHECK(!pair.what_if.possible);
  CHECK(pair.what_if.rule == "grid-wide dependence");
  CHECK(says(pair.what_if.why, "`total`"));
}

TEST_CASE("what a segment makes again is told with what storing it would move") {
  const Explanation e = ask(kCentred, {{"n"}, {}});
  REQUIRE(e.remakes.size() == 1);
  const RemakeStory& remake = e.remakes[0];
  CHECK(remake.segment == 1);
  CHECK(remake.instead_of == std::vector<std::string>{"n"});
  CHECK(remake.bytes == 2 * 2 * 33554432 + 4);
  CHECK(remake.stored_bytes == (4 + 4 + 2) * int64_t{33554432} + 4);
  CHECK(remake.stored_us > remake.us);
  CHECK(e.values[0].again == std::vector<uint32_t>{1});
  CHECK(!e.values[0].stored);
}

TEST_CASE("a cut inside a cast group is priced by the wide value that it stores") {
  const Explanation e = ask(kCentred, {{}, {"rest/y"}});
  REQUIRE(e.what_ifs.size() == 1);
  const WhatIfStory& cut = e.what_ifs[0];
  CHECK(cut.possible);
  CHECK(cut.after.segments == cut.before.segments + 1);
  CHECK(cut.after.bytes == cut.before.bytes + 2 * 4 * int64_t{33554432});
  CHECK(cut.after.us > cut.before.us);
  CHECK(cut.after.wide_edges == std::vector<std::string>{"rest"});
  CHECK(cut.changed.size() == 2);
}

TEST_CASE("what already is so changes nothing") {
  for (const char* what : {"u+n", "total/y", "0+0"}) {
    INFO(what);
    if (std::string(what) == "0+0") {
      CHECK(ask(kCentred, {{}, {what}}).what_ifs[0].as_is);
      continue;
    }
    CHECK(ask(kCentred, {{}, {what}}).what_ifs[0].as_is);
  }
}

TEST_CASE("questions that make no sense are refused with what would") {
  auto message = [](const Questions& questions) {
    try {
      ask(kCentred, questions);
    } catch (const Failure& failure) {
      CHECK(failure.exit == Exit::kBadInput);
      return std::string(failure.what());
    }
    return std::string("accepted");
  };
  CHECK(says(message({{"totl"}, {}}), "no value 'totl'; did you mean 'total'?"));
  CHECK(says(message({{"2"}, {}}), "no segment 2; the graph has 2 segments"));
  CHECK(says(message({{}, {"total"}}), "write A+B for one kernel"));
  CHECK(says(message({{}, {"total+"}}), "write A+B for one kernel"));
  CHECK(says(message({{}, {"total+rest/y"}}), "write A+B for one kernel"));
  CHECK(says(message({{}, {"x+y"}}), "'x' is an input of the graph"));
  CHECK(says(message({{}, {"y+y"}}), "names one op only"));
  CHECK(says(message({{}, {"0/1"}}), "a cut is between values"));
  CHECK(says(message({{}, {"0+9"}}), "there is no segment 9; the last is 1"));
  CHECK(says(message({{}, {"y/"}}), "nothing reads 'y'"));
  CHECK(says(message({{}, {"99999999999999999999+1"}}), "there is no segment"));
}

TEST_CASE("names of the written graph are explained, whatever the passes made of them") {
  const std::string text = graph_text(
      R"({"name": "x", "dtype": "f32", "shape": [64, 256]})",
      R"({"op": "sin", "in": ["x"], "out": "a"}, {"op": "sin", "in": ["x"], "out": "twin"}, {"op": "mul", "in": ["a", "twin"], "out": "m"},
      {"op": "softmax", "in": ["m"], "out": "y"}, {"op": "neg", "in": ["x"], "out": "unused"})",
      R"("y")");
  const Explanation e = ask(text, {{"twin", "y", "unused", "x"}, {}});
  REQUIRE(e.values.size() == 4);
  CHECK(says(e.values[0].note, "`twin` equals `a`"));
  CHECK(e.values[0].standing_for == "a");
  CHECK(says(e.values[1].note, "was written as softmax"));
  CHECK(e.values[1].expanded.size() >= 3);
  CHECK(says(e.values[2].note, "no output needs `unused`"));
  CHECK(says(e.values[3].note, "is an input of the graph"));
}

TEST_CASE("the JSON has the promised keys") {
  const auto json = nlohmann::json::parse(explanation_json(ask(kCentred, {{"total", "rest"}, {"rest/y", "0+1"}})));
  CHECK(json["version"] == 1);
  for (const char* key : {"graph", "arch", "totals", "segments", "cuts", "recomputed", "cast_groups", "values", "pairs", "what_if"})
    CHECK(json.contains(key));
  CHECK(json["what_if"][0]["after"]["segments"] == 3);
  CHECK(json["what_if"][1]["possible"] == false);
  CHECK(!json["what_if"][1].contains("after"));
  CHECK(json["values"][0]["neighbours"][1]["where"] == "memory");
}

// The answer to a cut keeps the two apart, recomputed copies included; what a merge is allowed ends in one segment.
TEST_CASE("random graphs: what is asked for is what is answered") {
  const Target target = target_for("sm_90");
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const Graph g = testing::random_graph(seed, 12 + seed);
    const Segmentation now = segment(g, target);
    std::vector<OpId> ops;
    for (const Segment& s : now.segments) ops.insert(ops.end(), s.ops.begin(), s.ops.end());
    std::mt19937 random(seed);
    for (int question = 0; question < 4; ++question) {
      const OpId a = ops[random() % ops.size()], b = ops[random() % ops.size()];
      if (a == b) continue;
      const ForcedSegmentation cut = segment(g, target, {{}, {{a, b}}, {}});
      verify(g, cut.segmentation);
      for (const Segment& s : cut.segmentation.segments) {
        auto has = [&](OpId op) {
          return std::find(s.ops.begin(), s.ops.end(), op) != s.ops.end() ||
                 std::find(s.recomputed.begin(), s.recomputed.end(), op) != s.recomputed.end();
        };
        CHECK(!(has(a) && has(b)));
      }
      const ForcedSegmentation merged = segment(g, target, {{{a, b}}, {}, {a, b}});
      verify(g, merged.segmentation);
      REQUIRE(merged.together.size() == 1);
      CHECK(merged.together[0].possible == merged.together[0].why.empty());
      if (!merged.together[0].possible) continue;
      bool one = false;
      for (const Segment& s : merged.segmentation.segments)
        one |= std::find(s.ops.begin(), s.ops.end(), a) != s.ops.end() && std::find(s.ops.begin(), s.ops.end(), b) != s.ops.end();
      CHECK(one);
    }
  }
}
