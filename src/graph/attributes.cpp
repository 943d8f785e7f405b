// The spelling of attributes and sizes in graph files.
#include <algorithm>

#include "graph/print.h"
#include "support/text.h"

namespace fusec {

namespace {

std::string boolean(bool b) { return b ? "true" : "false"; }

std::string integers(const std::vector<int64_t>& list) {
  std::string out = "[";
  for (int64_t n : list) out += (out.size() > 1 ? ", " : "") + std::to_string(n);
  return out + "]";
}

// Integers, names and products can be written; sums and quotients exist only where a rule derived them.
bool can_be_written(const Graph& g, const Size& s) {
  if (s.is_constant()) return true;
  if (s.constant() != 0 || s.terms().size() != 1 || s.terms()[0].coefficient < 0) return false;
  const auto& symbols = s.terms()[0].symbols;
  return std::none_of(symbols.begin(), symbols.end(), [&](SymbolId id) { return g.symbols[id].derived; });
}

std::string json_size(const Graph& g, const Size& s) {
  return s.is_constant() ? std::to_string(s.value()) : "\"" + to_string(s, g.symbols) + "\"";
}

// A reshape's -1 may have become such a sum; it is -1 again.
std::string shape_text(const Graph& g, const Op& op, Shape shape) {
  if (op.kind == OpKind::kReshape)
    for (Size& s : shape)
      if (!can_be_written(g, s)) s = Size(-1);
  return json_sizes(g, shape);
}

std::string accumulate_text(Accumulate a) {
  static constexpr const char* kWords[] = {"", "\"add\"", "\"mul\"", "\"max\"", "\"min\""};
  return kWords[static_cast<size_t>(a)];
}

std::string dtype_text(const Graph& g, const Op& op) {
  const OpCategory c = info(op.kind).category;
  std::optional<DType> dtype = g.attrs(op).dtype;
  if (c == OpCategory::kConvert || c == OpCategory::kCreation) dtype = g[op.out[0]].dtype;
  return dtype ? "\"" + std::string(name_of(*dtype)) + "\"" : "";
}

struct AttributeText {
  std::string_view name;
  std::string (*text)(const Graph&, const Op&, const Attrs&);
};
#define FUSEC_TEXT(expression) \
  []([[maybe_unused]] const Graph& g, [[maybe_unused]] const Op& op, [[maybe_unused]] const Attrs& a) -> std::string { return expression; }
constexpr AttributeText kTexts[] = {
    {"dtype", FUSEC_TEXT(dtype_text(g, op))},
    {"shape", FUSEC_TEXT(shape_text(g, op, a.shape))},
    {"dims", FUSEC_TEXT(integers(a.dims))},
    {"perm", FUSEC_TEXT(integers(a.perm))},
    {"dim", FUSEC_TEXT(std::to_string(a.dim))},
    {"starts", FUSEC_TEXT(json_sizes(g, a.starts))},
    {"stops", FUSEC_TEXT(json_sizes(g, a.stops))},
    {"steps", FUSEC_TEXT(integers(a.steps))},
    {"low", FUSEC_TEXT(json_sizes(g, a.low))},
    {"high", FUSEC_TEXT(json_sizes(g, a.high))},
    {"value", FUSEC_TEXT(literal_text(a.value))},
    {"start", FUSEC_TEXT(literal_text(a.start))},
    {"step", FUSEC_TEXT(literal_text(a.step))},
    {"seed", FUSEC_TEXT(std::to_string(a.seed))},
    {"stream", FUSEC_TEXT(std::to_string(a.stream))},
    {"keepdim", FUSEC_TEXT(boolean(a.keepdim))},
    {"exclusive", FUSEC_TEXT(boolean(a.exclusive))},
    {"reverse", FUSEC_TEXT(boolean(a.reverse))},
    {"descending", FUSEC_TEXT(boolean(a.descending))},
    {"stable", FUSEC_TEXT(boolean(a.stable))},
    {"largest", FUSEC_TEXT(boolean(a.largest))},
    {"sorted", FUSEC_TEXT(boolean(a.sorted))},
    {"k", FUSEC_TEXT(json_size(g, a.k))},
    {"correction", FUSEC_TEXT(std::to_string(a.correction))},
    {"groups", FUSEC_TEXT(std::to_string(a.groups))},
    {"eps", FUSEC_TEXT(json_number(a.eps))},
    {"p", FUSEC_TEXT(json_number(a.p))},
    {"accumulate", FUSEC_TEXT(accumulate_text(a.accumulate))},
};
#undef FUSEC_TEXT

}  // namespace

std::string json_sizes(const Graph& graph, const std::vector<Size>& sizes) {
  std::string out = "[";
  for (const Size& s : sizes) out += (out.size() > 1 ? ", " : "") + json_size(graph, s);
  return out + "]";
}

std::string literal_text(const Literal& literal) {
  if (const bool* b = std::get_if<bool>(&literal.value)) return boolean(*b);
  if (const int64_t* i = std::get_if<int64_t>(&literal.value)) return std::to_string(*i);
  return json_number(std::get<double>(literal.value));
}

std::vector<std::pair<std::string_view, std::string>> attribute_texts(const Graph& graph, const Op& op) {
  std::vector<std::pair<std::string_view, std::string>> texts;
  if (op.kind == OpKind::kGelu) texts.emplace_back("approximate", "\"none\"");
  if (op.kind == OpKind::kGeluTanh) texts.emplace_back("approximate", "\"tanh\"");
  std::string_view rest = info(op.kind).attributes;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    std::string_view name = rest.substr(0, end);
    if (name.ends_with('?')) name.remove_suffix(1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto row = std::find_if(std::begin(kTexts), std::end(kTexts), [&](const AttributeText& t) { return t.name == name; });
    const std::string text = row->text(graph, op, graph.attrs(op));
    if (!text.empty()) texts.emplace_back(name, text);
  }
  return texts;
}

}  // namespace fusec
