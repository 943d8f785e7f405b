#include "diff/graph_diff.h"

#include "catch.h"
#include "parser/read_graph.h"

using namespace fusec;

namespace {

// Graphs of f32[8] inputs: a list of their names, the ops, the outputs.
std::string graph_text(const std::string& inputs, const std::string& ops, const std::string& outputs, const std::string& dims = "") {
  std::string text = "{\"version\": 1,";
  if (!dims.empty()) text += " \"dims\": {" + dims + "},";
  text += " \"inputs\": [";
  bool first = true;
  for (size_t at = 0; at < inputs.size(); at = inputs.find(' ', at) == std::string::npos ? inputs.size() : inputs.find(' ', at) + 1) {
    const std::string name = inputs.substr(at, std::min(inputs.find(' ', at), inputs.size()) - at);
    text += std::string(first ? "" : ", ") + "{\"name\": \"" + name + "\", \"dtype\": \"f32\", \"shape\": [8]}";
    first = false;
  }
  return text + "],\n \"ops\": [\n" + ops + "], \"outputs\": " + outputs + "}";
}

GraphDiff diff(const std::string& a, const std::string& b) {
  const SourceText source_a("a", a), source_b("b", b);
  Diagnostics diagnostics;
  const auto graph_a = read_graph(source_a, {}, diagnostics), graph_b = read_graph(source_b, {}, diagnostics);
  INFO(render(diagnostics, source_a, false));
  REQUIRE((graph_a && graph_b));
  return diff_graphs(*graph_a, &source_a, *graph_b, &source_b);
}

const std::string kChain = R"({"op": "exp", "in": ["x"], "out": "a"},
{"op": "cast", "in": ["a"], "dtype": "bf16", "out": "b"},
{"op": "neg", "in": ["b"], "out": "c"})";

}  // namespace

TEST_CASE("names and the order of ops are no difference, and inputs that changed places are told apart by their use") {
  const auto a = graph_text("x y", R"({"op": "sub", "in": ["x", "y"], "out": "d"}, {"op": "exp", "in": ["d"], "out": "e"})", R"(["e"])");
  CHECK(diff(a, graph_text("p q", R"({"op": "exp", "in": ["m"], "out": "n"}, {"op": "sub", "in": ["p", "q"], "out": "m"})", R"(["n"])"))
            .same());
  const GraphDiff moved =
      diff(a, graph_text("q p", R"({"op": "sub", "in": ["p", "q"], "out": "m"}, {"op": "exp", "in": ["m"], "out": "n"})", R"(["n"])"));
  CHECK(moved.same());
  // Inputs that keep names and places stand for themselves: the operands changed.
  const GraphDiff swapped =
      diff(a, graph_text("x y", R"({"op": "sub", "in": ["y", "x"], "out": "d"}, {"op": "exp", "in": ["d"], "out": "e"})", R"(["e"])"));
  REQUIRE(swapped.changed.size() == 1);
  CHECK(swapped.changed[0].changes[0].what == "operands");
  CHECK(swapped.changed[0].changes[0].a == "x, y");
  CHECK(swapped.changed[0].changes[0].b == "y, x");
}

TEST_CASE("a change is one entry with its line, and what follows from it is another list") {
  std::string other = kChain;
  other.replace(other.find("bf16"), 4, "f16");
  const GraphDiff d = diff(graph_text("x", kChain, R"(["c"])"), graph_text("x", other, R"(["c"])"));
  REQUIRE(d.changed.size() == 1);
  CHECK(d.changed[0].a.name == "b");
  CHECK(d.changed[0].a.line == 4);
  REQUIRE(d.changed[0].changes.size() == 1);
  CHECK(d.changed[0].changes[0].what == "attribute");
  CHECK(d.changed[0].changes[0].b == "\"f16\"");
  REQUIRE(d.follow.size() == 1);
  CHECK(d.follow[0].b.name == "c");
  CHECK(d.count() == 1);
}

TEST_CASE("an op of another kind in the same place was changed; one that comes between was added") {
  std::string other = kChain;
  other.replace(other.find("exp"), 3, "sin");
  const GraphDiff kind = diff(graph_text("x", kChain, R"(["c"])"), graph_text("x", other, R"(["c"])"));
  REQUIRE(kind.changed.size() == 1);
  CHECK(kind.changed[0].changes[0].what == "op");
  CHECK(kind.common == 2);

  other = R"({"op": "abs", "in": ["x"], "out": "new"}, )" + kChain;
  other.replace(other.find("[\"x\"], \"out\": \"a\""), 5, "[\"new\"]");
  const GraphDiff added = diff(graph_text("x", kChain, R"(["c"])"), graph_text("x", other, R"(["c"])"));
  REQUIRE(added.added.size() == 1);
  CHECK(added.added[0].name == "new");
  REQUIRE(added.changed.size() == 1);
  CHECK(added.changed[0].changes[0].what == "operand");
  CHECK(added.removed.empty());
}

TEST_CASE("of many equal chains the one that changed is found") {
  std::string ops, other, last;
  for (int chain = 0; chain < 50; ++chain) {
    const std::string n = std::to_string(chain), comma = chain ? ",\n" : "";
    auto line = [&](const std::string& middle) {
      return comma + R"({"op": "exp", "in": ["x"], "out": "a)" + n + R"("}, {"op": ")" + middle + R"(", "in": ["a)" + n +
             R"("], "out": "b)" + n + R"("}, {"op": "neg", "in": ["b)" + n + R"("], "out": "c)" + n + "\"}";
    };
    ops += line("sin");
    other += line(chain == 20 ? "cos" : "sin");
    last += (chain ? ", \"c" : "\"c") + n + "\"";
  }
  const std::string cat = R"(, {"op": "cat", "in": [)" + last + R"(], "dim": 0, "out": "y"})";
  for (const auto& [tail, outputs] : {std::pair(std::string(), "[" + last + "]"), std::pair(cat, std::string(R"(["y"])"))}) {
    const GraphDiff d = diff(graph_text("x", ops + tail, outputs), graph_text("x", other + tail, outputs));
    REQUIRE(d.changed.size() == 1);
    CHECK(d.changed[0].a.name == "b20");
    CHECK(d.count() == 1);
  }
}

TEST_CASE("one operand more moves no others") {
  auto cat = [](const std::string& in) {
    return graph_text("x y z", R"({"op": "cat", "in": [)" + in + R"(], "dim": 0, "out": "c"})", R"(["c"])");
  };
  const GraphDiff d = diff(cat(R"("x", "y", "x", "z")"), cat(R"("x", "z", "y", "x", "z")"));
  REQUIRE(d.changed.size() == 1);
  REQUIRE(d.changed[0].changes[0].what == "operands");
  CHECK(d.changed[0].changes[0].a.empty());
  CHECK(d.changed[0].changes[0].b == "z");
}

TEST_CASE("literals and attributes that only follow a dtype or shape are no changes of their own") {
  const std::string ops = R"({"op": "cast", "in": ["x"], "dtype": "DT", "out": "a"}, {"op": "mul", "in": ["a", 0.1], "out": "b"})";
  auto with = [&](const std::string& dtype) { return graph_text("x", std::string(ops).replace(ops.find("DT"), 2, dtype), R"(["b"])"); };
  const GraphDiff d = diff(with("f32"), with("f64"));
  CHECK(d.changed.size() == 1);
  CHECK(d.follow.size() == 1);
}

TEST_CASE("run-time sizes: other names are none, other promises are a difference") {
  auto with = [](const std::string& dims, const std::string& name) {
    return "{\"version\": 1, \"dims\": {" + dims + R"(}, "inputs": [{"name": "x", "dtype": "f32", "shape": [")" + name +
           R"("]}], "ops": [{"op": "reshape", "in": ["x"], "shape": [1, ")" + name + R"("], "out": "y"}], "outputs": ["y"]})";
  };
  const std::string n = R"("N": {"size": 64, "dynamic": true})", m = R"("M": {"size": 64, "dynamic": true})";
  CHECK(diff(with(n, "N"), with(m, "M")).same());
  const GraphDiff d = diff(with(n, "N"), with(R"("N": {"size": 128, "dynamic": true})", "N"));
  REQUIRE(d.sizes_changed.size() == 1);
  CHECK(d.sizes_changed[0].changes[0].b == "128");
  CHECK(d.changed.empty());
}

TEST_CASE("an output that is written over another input is a difference") {
  const std::string ops = R"({"op": "add", "in": ["x", "y"], "out": "s"})";
  const GraphDiff d =
      diff(graph_text("x y", ops, R"([{"value": "s", "alias": "x"}])"), graph_text("x y", ops, R"([{"value": "s", "alias": "y"}])"));
  REQUIRE(d.outputs_changed.size() == 1);
  CHECK(d.outputs_changed[0].changes[0].what == "alias");
}
