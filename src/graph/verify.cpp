#include "graph/verify.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_set>

#include "graph/infer.h"
#include "support/check.h"

namespace fusec {

namespace {

std::string describe(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  std::string text = "op " + std::to_string(id.index) + " (" + std::string(name_of(op.kind));
  for (ValueId v : op.out)
    if (v.valid() && v.index < graph.values.size()) text += " " + graph[v].name;
  return text + ")";
}

// Sorted hashes: several times faster than a hash set, and this runs after every pass.
void verify_names(const Graph& graph) {
  std::vector<std::pair<size_t, uint32_t>> hashed;
  hashed.reserve(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const std::string& name = graph.values[ValueId(i)].name;
    FUSEC_CHECK(!name.empty(), "a value without a name");
    hashed.emplace_back(std::hash<std::string_view>()(name), static_cast<uint32_t>(i));
  }
  std::sort(hashed.begin(), hashed.end());
  for (size_t i = 0; i < hashed.size(); ++i)
    for (size_t j = i + 1; j < hashed.size() && hashed[j].first == hashed[i].first; ++j) {
      const std::string& name = graph.values[ValueId(hashed[i].second)].name;
      FUSEC_CHECK(name != graph.values[ValueId(hashed[j].second)].name, "two values are called '" + name + "'");
    }
}

// Values have one definition each; operands are defined before they are read.
void verify_order(const Graph& graph) {
  std::vector<bool> defined(graph.values.size());
  auto define = [&](ValueId v, OpId def, uint32_t result) {
    FUSEC_CHECK(v.index < graph.values.size(), "a value that does not exist");
    const Value& value = graph[v];
    FUSEC_CHECK(!defined[v.index], "'" + value.name + "' has two definitions");
    FUSEC_CHECK(value.def == def && (!def.valid() || value.result == result), "'" + value.name + "' does not know its definition");
    defined[v.index] = true;
  };
  for (const Input& input : graph.inputs) define(input.value, OpId(), 0);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    bool named = false;
    for (const Operand& o : op.in) {
      if (!o.is_value()) continue;
      FUSEC_CHECK(o.value.index < graph.values.size() && defined[o.value.index],
                  describe(graph, OpId(i)) + " reads a value before its definition");
      FUSEC_CHECK(!o.is_literal(), describe(graph, OpId(i)) + " has an operand that is a value and a literal");
    }
    for (size_t r = 0; r < op.out.size(); ++r) {
      if (!op.out[r].valid()) continue;
      define(op.out[r], OpId(i), static_cast<uint32_t>(r));
      named = true;
    }
    FUSEC_CHECK(named, describe(graph, OpId(i)) + " has no result");
    FUSEC_CHECK(!op.attrs.valid() || op.attrs.index < graph.attributes.size(),
                describe(graph, OpId(i)) + " has attributes that do not exist");
  }
  for (const Output& output : graph.outputs)
    FUSEC_CHECK(output.value.index < graph.values.size() && defined[output.value.index], "output '" + output.name + "' is no value");
}

void verify_types(const Graph& graph) {
  Symbols symbols = graph.symbols;
  Diagnostics diagnostics;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    OpRules rules(graph, op, symbols, diagnostics, nullptr);
    const bool fine = rules.run();
    FUSEC_CHECK(fine, describe(graph, OpId(i)) + ": " + (diagnostics.all().empty() ? "" : diagnostics.all().back().text));
    for (size_t r = 0; r < op.out.size(); ++r) {
      if (!op.out[r].valid()) continue;
      const Value& v = graph[op.out[r]];
      FUSEC_CHECK(v.dtype == rules.results[r].first && v.shape == rules.results[r].second,
                  describe(graph, OpId(i)) + ": '" + v.name + "' is " + std::string(name_of(v.dtype)) + to_string(v.shape, graph.symbols) +
                      ", its op gives " + std::string(name_of(rules.results[r].first)) + to_string(rules.results[r].second, symbols));
    }
    FUSEC_CHECK(rules.attrs == graph.attrs(op), describe(graph, OpId(i)) + ": attributes are not normalized");
    for (const auto& [position, literal] : rules.literals)
      FUSEC_CHECK(op.in[position].literal == literal, describe(graph, OpId(i)) + ": literal is not converted");
  }
  FUSEC_CHECK(symbols.size() == graph.symbols.size(), "a derived size is missing");
}

void verify_outputs(const Graph& graph) {
  FUSEC_CHECK(!graph.outputs.empty(), "a graph without outputs");
  std::unordered_set<std::string_view> names;
  std::vector<bool> aliased(graph.inputs.size());
  for (const Output& output : graph.outputs) {
    FUSEC_CHECK(!output.name.empty() && names.insert(output.name).second, "two outputs are called '" + output.name + "'");
    if (!output.alias) continue;
    FUSEC_CHECK(*output.alias < graph.inputs.size(), "output '" + output.name + "' is written over an input that does not exist");
    FUSEC_CHECK(!aliased[*output.alias], "two outputs are written over one input");
    aliased[*output.alias] = true;
    const Input& input = graph.inputs[*output.alias];
    const Value &a = graph[output.value], &b = graph[input.value];
    FUSEC_CHECK(a.dtype == b.dtype && a.shape == b.shape && strides_of(graph, output) == strides_of(graph, input),
                "output '" + output.name + "' and its input differ in dtype, shape or strides");
  }
}

}  // namespace

void verify(const Graph& graph) {
  verify_names(graph);
  verify_order(graph);
  verify_types(graph);
  verify_outputs(graph);
}

}  // namespace fusec
