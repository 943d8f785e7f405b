#include "parser/write_graph.h"

#include "parser/json.h"

namespace fusec {

namespace {

// A comma-separated list of texts.
template <class List, class Text>
std::string join(const List& list, Text text) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

std::string literal_text(const Literal& literal) {
  if (const bool* b = std::get_if<bool>(&literal.value)) return *b ? "true" : "false";
  if (const int64_t* i = std::get_if<int64_t>(&literal.value)) return std::to_string(*i);
  return json_number(std::get<double>(literal.value));
}

std::string boolean(bool b) { return b ? "true" : "false"; }

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

  // Sizes that a user can write: integers, and products of names. Sums appear only in what passes and rules derive.
  std::string size(const Size& s) {
    return s.is_constant() ? std::to_string(s.value()) : json_quote(to_string(s, g.symbols));
  }
  std::string sizes(const std::vector<Size>& list) {
    return "[" + join(list, [&](const Size& s) { return size(s); }) + "]";
  }
  std::string name(ValueId v) { return v.valid() ? json_quote(g[v].name) : "null"; }
  std::string dtype(DType t) { return "\"" + std::string(name_of(t)) + "\""; }

  std::string input(const Input& i) {
    const Value& v = g[i.value];
    std::string out = "{\"name\": " + name(i.value) + ", \"dtype\": " + dtype(v.dtype) + ", \"shape\": " + sizes(v.shape);
    if (i.strides) out += ", \"strides\": " + integers(*i.strides);
    if (i.scalar) out += ", \"scalar\": true";
    if (i.scalar_value) out += ", \"value\": " + literal_text(*i.scalar_value);
    if (i.init.kind != Init::kDefault) out += ", \"init\": " + init(i.init);
    return out + "}";
  }

  std::string init(const Init& i) {
    switch (i.kind) {
      case Init::kDefault: break;
      case Init::kNormal: return "\"normal\"";
      case Init::kUniform: return "{\"uniform\": [" + json_number(i.lo) + ", " + json_number(i.hi) + "]}";
      case Init::kZeros: return "\"zeros\"";
      case Init::kOnes: return "\"ones\"";
      case Init::kArange: return "\"arange\"";
      case Init::kRandint: return "{\"randint\": [" + std::to_string(i.from) + ", " + std::to_string(i.to) + "]}";
      case Init::kPermutation: return "{\"permutation\": " + std::to_string(i.to) + "}";
    }
    return "null";
  }

  std::string operand(const Operand& o) { return o.is_literal() ? literal_text(*o.literal) : name(o.value); }

  std::string op(const Op& o) {
    const OpInfo& row = info(o.kind);
    std::string out = "{\"op\": \"" + std::string(row.name) + "\"";
    if (row.max_operands != 0) out += ", \"in\": [" + join(o.in, [&](const Operand& x) { return operand(x); }) + "]";
    if (o.kind == OpKind::kGelu) out += ", \"approximate\": \"none\"";
    if (o.kind == OpKind::kGeluTanh) out += ", \"approximate\": \"tanh\"";
    std::string_view rest = row.attributes;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(' '), rest.size());
      std::string_view attribute_name = rest.substr(0, end);
      if (attribute_name.ends_with('?')) attribute_name.remove_suffix(1);
      const std::string value = attribute(o, attribute_name);
      if (!value.empty()) out += ", \"" + std::string(attribute_name) + "\": " + value;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const bool one = row.results == 1;
    out += ", \"out\": " + (one ? name(o.out[0]) : "[" + join(o.out, [&](ValueId v) { return name(v); }) + "]");
    return out + "}";
  }

  // The dtype of a result that has a name.
  DType result_dtype(const Op& o) {
    for (ValueId v : o.out)
      if (v.valid()) return g[v].dtype;
    return DType::kF32;
  }

  // "" for an attribute that has no value to write.
  std::string attribute(const Op& o, std::string_view n) {
    const Attrs& a = g.attrs(o);
    if (n == "dtype") {
      const OpCategory c = info(o.kind).category;
      if (c == OpCategory::kConvert || c == OpCategory::kCreation) return dtype(result_dtype(o));
      return a.dtype ? dtype(*a.dtype) : "";
    }
    if (n == "accumulate") {
      static constexpr const char* kWords[] = {"", "\"add\"", "\"mul\"", "\"max\"", "\"min\""};
      return kWords[static_cast<size_t>(a.accumulate)];
    }
    if (n == "shape") return sizes(a.shape);
    if (n == "dims") return integers(a.dims);
    if (n == "perm") return integers(a.perm);
    if (n == "dim") return std::to_string(a.dim);
    if (n == "starts") return sizes(a.starts);
    if (n == "stops") return sizes(a.stops);
    if (n == "steps") return integers(a.steps);
    if (n == "low") return sizes(a.low);
    if (n == "high") return sizes(a.high);
    if (n == "value") return literal_text(a.value);
    if (n == "start") return literal_text(a.start);
    if (n == "step") return literal_text(a.step);
    if (n == "seed") return std::to_string(a.seed);
    if (n == "stream") return std::to_string(a.stream);
    if (n == "keepdim") return boolean(a.keepdim);
    if (n == "exclusive") return boolean(a.exclusive);
    if (n == "reverse") return boolean(a.reverse);
    if (n == "descending") return boolean(a.descending);
    if (n == "stable") return boolean(a.stable);
    if (n == "largest") return boolean(a.largest);
    if (n == "sorted") return boolean(a.sorted);
    if (n == "k") return size(a.k);
    if (n == "correction") return std::to_string(a.correction);
    if (n == "groups") return std::to_string(a.groups);
    if (n == "eps") return json_number(a.eps);
    if (n == "p") return json_number(a.p);
    return "";
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
