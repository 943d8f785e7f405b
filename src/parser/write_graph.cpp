#include "parser/write_graph.h"

#include "graph/print.h"
#include "support/text.h"

namespace fusec {

namespace {

// A comma-separated list of texts.
template <class List, class Text>
std::string join(const List& list, Text text) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

std::string integers(const std::vector<int64_t>& list) {
  return "[" + join(list, [](int64_t n) { return std::to_string(n); }) + "]";
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : g(graph) {}

  std::string write() {
    std::string out = "{\n  \"version\": 1,\n  \"name\": " + json_quote(g.name) + ",\n";
    if (!g.doc.empty()) out += "  \"doc\": " + json_quote(g.doc) + ",\n";
    out += dims();
    out += "  \"inputs\": [" + lines(g.inputs, [&](const Input& i) { return input(i); }) + "],\n";
    out += "  \"ops\": [" + lines(g.ops, [&](const Op& o) { return op(o); }) + "],\n";
    out += "  \"outputs\": [" + join(g.outputs, [&](const Output& o) { return output(o); }) + "]\n}\n";
    return out;
  }

 private:
  template <class List, class Text>
  std::string lines(const List& list, Text text) {
    std::string out;
    for (const auto& item : list) {
      out += out.empty() ? "\n    " : ",\n    ";
      out += text(item);
    }
    return out.empty() ? out : out + "\n  ";
  }

  std::string dims() {
    std::string out;
    for (const Symbol& s : g.symbols) {
      if (s.derived) continue;  // follows from the others
      out += out.empty() ? "" : ", ";
      out += json_quote(s.name) + ": {\"size\": " + std::to_string(s.typical) + ", \"dynamic\": true";
      if (s.multiple_of != 1) out += ", \"multiple_of\": " + std::to_string(s.multiple_of);
      if (s.max != INT64_MAX) out += ", \"max\": " + std::to_string(s.max);
      out += "}";
    }
    return out.empty() ? out : "  \"dims\": {" + out + "},\n";
  }

  std::string name(ValueId v) { return v.valid() ? json_quote(g[v].name) : "null"; }
  std::string dtype(DType t) { return "\"" + std::string(name_of(t)) + "\""; }

  std::string input(const Input& i) {
    const Value& v = g[i.value];
    std::string out = "{\"name\": " + name(i.value) + ", \"dtype\": " + dtype(v.dtype) + ", \"shape\": " + json_sizes(g, v.shape);
    if (i.strides) out += ", \"strides\": " + integers(*i.strides);
    if (i.scalar) out += ", \"scalar\": true";
    if (i.scalar_value) out += ", \"value\": " + literal_text(*i.scalar_value);
    if (i.init.kind != Init::kDefault) out += ", \"init\": " + init(i.init);
    return out + "}";
  }

  std::string init(const Init& i) {
    switch (i.kind) {
      case Init::kDefault:
        break;
      case Init::kNormal:
        return "\"normal\"";
      case Init::kUniform:
        return "{\"uniform\": [" + json_number(i.lo) + ", " + json_number(i.hi) + "]}";
      case Init::kZeros:
        return "\"zeros\"";
      case Init::kOnes:
        return "\"ones\"";
      case Init::kArange:
        return "\"arange\"";
      case Init::kRandint:
        return "{\"randint\": [" + std::to_string(i.from) + ", " + std::to_string(i.to) + "]}";
      case Init::kPermutation:
        return "{\"permutation\": " + std::to_string(i.to) + "}";
    }
    return "null";
  }

  std::string operand(const Operand& o) { return o.is_literal() ? literal_text(*o.literal) : name(o.value); }

  std::string op(const Op& o) {
    const OpInfo& row = info(o.kind);
    std::string out = "{\"op\": \"" + std::string(row.name) + "\"";
    if (row.max_operands != 0) out += ", \"in\": [" + join(o.in, [&](const Operand& x) { return operand(x); }) + "]";
    for (const auto& [attribute_name, text] : attribute_texts(g, o)) out += ", \"" + std::string(attribute_name) + "\": " + text;
    const bool one = row.results == 1;
    out += ", \"out\": " + (one ? name(o.out[0]) : "[" + join(o.out, [&](ValueId v) { return name(v); }) + "]");
    return out + "}";
  }

  std::string output(const Output& o) {
    if (!o.alias && !o.strides) return name(o.value);
    std::string out = "{\"value\": " + name(o.value);
    if (o.alias) out += ", \"alias\": " + name(g.inputs[*o.alias].value);
    if (o.strides) out += ", \"strides\": " + integers(*o.strides);
    return out + "}";
  }

  const Graph& g;
};

}  // namespace

std::string write_graph(const Graph& graph) { return Writer(graph).write(); }

}  // namespace fusec
