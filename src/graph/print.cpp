#include "graph/print.h"

#include <algorithm>

#include "graph/verify.h"
#include "support/text.h"

namespace fusec {

namespace {

std::string without_quotes(std::string text) {
  std::erase(text, '"');
  return text;
}

std::string type_text(const Graph& g, ValueId v) { return std::string(name_of(g[v].dtype)) + to_string(g[v].shape, g.symbols); }

std::string list(const std::vector<int64_t>& numbers) {
  std::string out = "[";
  for (int64_t n : numbers) out += (out.size() > 1 ? "," : "") + std::to_string(n);
  return out + "]";
}

// Attributes that are not at their default; a dtype that the result shows is left out.
std::vector<std::string> attributes_shown(const Graph& g, const Op& op) {
  Graph defaults;
  defaults.symbols = g.symbols;
  Op plain = op;
  plain.attrs = defaults.attributes.push(default_attrs(op.kind));
  plain.out = {defaults.values.push({})};
  const auto standard = attribute_texts(defaults, plain);
  std::vector<std::string> shown;
  for (const auto& [name, text] : attribute_texts(g, op)) {
    const bool optional = info(op.kind).attributes.find(std::string(name) + "?") != std::string_view::npos;
    const bool is_default = optional && std::find(standard.begin(), standard.end(), std::pair(name, text)) != standard.end();
    const bool is_result =
        name == "dtype" && (info(op.kind).category == OpCategory::kCreation || info(op.kind).category == OpCategory::kConvert);
    if (!is_default && !is_result && !(name == "approximate" && text == "\"none\""))
      shown.push_back(std::string(name) + "=" + without_quotes(text));
  }
  return shown;
}

std::string operand_text(const Graph& g, const Operand& o) {
  if (o.is_value()) return g[o.value].name;
  return o.is_literal() ? without_quotes(literal_text(*o.literal)) : "null";
}

std::string op_text(const Graph& g, const Op& op) {
  std::vector<std::string> parts;
  for (const Operand& o : op.in) parts.push_back(operand_text(g, o));
  for (std::string& a : attributes_shown(g, op)) parts.push_back(std::move(a));
  std::string out;
  for (ValueId v : op.out) out += (out.empty() ? "" : ", ") + (v.valid() ? g[v].name + ": " + type_text(g, v) : "_");
  out += " = " + std::string(name_of(op.kind)) + "(";
  for (size_t i = 0; i < parts.size(); ++i) out += (i ? ", " : "") + parts[i];
  return out + ")";
}

std::string init_text(const Init& i) {
  switch (i.kind) {
    case Init::kDefault:
      return "";
    case Init::kNormal:
      return "normal";
    case Init::kUniform:
      return "uniform [" + json_number(i.lo) + ", " + json_number(i.hi) + ")";
    case Init::kZeros:
      return "zeros";
    case Init::kOnes:
      return "ones";
    case Init::kArange:
      return "arange";
    case Init::kRandint:
      return "randint [" + std::to_string(i.from) + ", " + std::to_string(i.to) + ")";
    case Init::kPermutation:
      return "permutation of " + std::to_string(i.to);
  }
  return "";
}

std::string input_text(const Graph& g, const Input& i) {
  std::string out = "input  " + g[i.value].name + ": " + type_text(g, i.value);
  if (i.strides) out += " strides " + list(*i.strides);
  if (i.scalar) out += " scalar";
  if (i.scalar_value) out += " = " + without_quotes(literal_text(*i.scalar_value));
  const std::string init = init_text(i.init);
  return init.empty() ? out : out + "  (" + init + ")";
}

std::string output_text(const Graph& g, const Output& o) {
  std::string out = "output " + g[o.value].name;
  if (o.name != g[o.value].name) out += " as " + o.name;
  if (o.strides) out += " strides " + list(*o.strides);
  if (o.alias) out += " over input " + g[g.inputs[*o.alias].value].name;
  return out;
}

std::string symbol_text(const Graph& g, const Symbol& s) {
  std::string out = "size   " + s.name;
  if (s.derived) return out + " = (" + to_string(s.numerator, g.symbols) + ") / " + std::to_string(s.denominator);
  out += " = " + std::to_string(s.typical) + ", at run time";
  if (s.multiple_of != 1) out += ", a multiple of " + std::to_string(s.multiple_of);
  if (s.max != INT64_MAX) out += ", at most " + std::to_string(s.max);
  return out;
}

}  // namespace

std::string print(const Graph& graph) {
  std::string out = "graph " + graph.name + "\n";
  for (const Symbol& s : graph.symbols) out += "  " + symbol_text(graph, s) + "\n";
  for (const Input& i : graph.inputs) out += "  " + input_text(graph, i) + "\n";
  for (const Op& op : graph.ops) out += "  " + op_text(graph, op) + "\n";
  for (const Output& o : graph.outputs) out += "  " + output_text(graph, o) + "\n";
  for (const Graph::Constraint& c : graph.constraints)
    out += "  needs  " + to_string(c.lhs, graph.symbols) + " <= " + to_string(c.rhs, graph.symbols) + "\n";
  return out;
}

std::string print_dot(const Graph& graph) {
  // Nodes are numbered: names may hold any character of the format, labels are quoted.
  auto label = [](const std::string& text) { return json_quote(text); };
  std::string out = "digraph " + json_quote(graph.name) + " {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  auto node = [&](ValueId v) { return graph[v].def.valid() ? "op" + std::to_string(graph[v].def.index) : "in" + std::to_string(v.index); };
  for (const Input& i : graph.inputs)
    out += "  " + node(i.value) + " [shape=ellipse, label=" + label(graph[i.value].name + "\n" + type_text(graph, i.value)) + "];\n";
  for (size_t n = 0; n < graph.ops.size(); ++n) {
    const Op& op = graph.ops[OpId(n)];
    std::string text(name_of(op.kind));
    for (const Operand& o : op.in)
      if (o.is_literal()) text += " " + operand_text(graph, o);
    for (const std::string& a : attributes_shown(graph, op)) text += "\n" + a;
    out += "  op" + std::to_string(n) + " [label=" + label(text) + "];\n";
    for (const Operand& o : op.in)
      if (o.is_value())
        out += "  " + node(o.value) + " -> op" + std::to_string(n) +
               " [label=" + label(graph[o.value].name + " " + type_text(graph, o.value)) + "];\n";
  }
  for (size_t n = 0; n < graph.outputs.size(); ++n) {
    const Output& o = graph.outputs[n];
    out += "  out" + std::to_string(n) + " [shape=ellipse, style=bold, label=" + label(o.name + "\n" + type_text(graph, o.value)) + "];\n";
    out += "  " + node(o.value) + " -> out" + std::to_string(n) + ";\n";
    if (o.alias)
      out += "  out" + std::to_string(n) + " -> " + node(graph.inputs[*o.alias].value) +
             " [style=dashed, constraint=false, label=\"over\"];\n";
  }
  return out + "}\n";
}

}  // namespace fusec
