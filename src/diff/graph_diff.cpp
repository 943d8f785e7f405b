#include "diff/graph_diff.h"

#include <algorithm>
#include <cmath>

#include "diff/lines.h"
#include "graph/print.h"

namespace fusec {

namespace {

constexpr size_t kShownOperands = 8;  // of the operands that changed places

std::string type_text(const Graph& g, ValueId v) { return std::string(name_of(g[v].dtype)) + to_string(g[v].shape, g.symbols); }

// Attributes that hold sizes or dims: where an operand has another shape, they follow it.
bool follows_shape(std::string_view attribute) {
  constexpr std::string_view kNames[] = {"shape", "starts", "stops", "low", "high", "k", "dims", "perm", "steps"};
  return std::find(std::begin(kNames), std::end(kNames), attribute) != std::end(kNames);
}

class GraphDiffer {
 public:
  GraphDiffer(const Graph& a, const SourceText* source_a, const Graph& b, const SourceText* source_b)
      : a_(a), b_(b), lines_a_(source_a), lines_b_(source_b), m_(match(a, b)) {}

  GraphDiff run() {
    d_.ops_a = a_.ops.size();
    d_.ops_b = b_.ops.size();
    d_.inputs_reordered = m_.interface.inputs.reordered();
    d_.outputs_reordered = m_.interface.outputs.reordered();
    compare_sizes();
    compare_inputs();
    for (size_t i = 0; i < a_.ops.size(); ++i) compare(OpId(i));
    for (size_t i = 0; i < b_.ops.size(); ++i)
      if (!m_.to_a[OpId(i)].valid()) d_.added.push_back(spot(b_, lines_b_, OpId(i)));
    compare_outputs();
    // Where every kind was changed, inputs of one type tell that it is a version of the graph.
    if (d_.common == 0 && inputs_alike_ > 0) d_.common = d_.matched;
    return std::move(d_);
  }

 private:
  static Spot spot(const Graph& g, const Lines& lines, OpId id) {
    const Op& op = g[id];
    Spot s{g.name_of(id), std::string(name_of(op.kind)), "", lines.of(op.at)};
    for (ValueId v : op.out)
      if (v.valid()) s.type += (s.type.empty() ? "" : ", ") + type_text(g, v);
    return s;
  }

  static std::string text(const Graph& g, const Operand& o) {
    return o.is_value() ? g[o.value].name : o.is_literal() ? literal_text(*o.literal) : "null";
  }

  void compare(OpId id_a) {
    const OpId id_b = m_.to_b[id_a];
    if (!id_b.valid()) {
      d_.removed.push_back(spot(a_, lines_a_, id_a));
      return;
    }
    ++d_.matched;
    const Op &a = a_[id_a], &b = b_[id_b];
    for (size_t r = 0; r < std::min(a.out.size(), b.out.size()); ++r)
      if (a.out[r].valid() && b.out[r].valid()) d_.partner.emplace(a_[a.out[r]].name, b_[b.out[r]].name);
    d_.common += a.kind == b.kind;
    std::vector<Change> own, following;
    if (a.kind != b.kind) own.push_back({"op", "", std::string(name_of(a.kind)), std::string(name_of(b.kind))});
    if (m_.says_a[id_a] != m_.says_b[id_b]) compare_attributes(a, b, own, following);
    compare_operands(a, b, own, following);
    compare_results(a, b, own, following);
    if (own.empty() && following.empty()) return;
    const bool follows = own.empty();
    auto said = [&](const Change& c) {
      return std::any_of(own.begin(), own.end(), [&](const Change& o) { return o.what == "attribute" && o.name == c.what; });
    };
    for (Change& c : following)
      if (!said(c)) own.push_back(std::move(c));
    (follows ? d_.follow : d_.changed).push_back({spot(a_, lines_a_, id_a), spot(b_, lines_b_, id_b), std::move(own)});
  }

  bool operands_resized(const Op& a, const Op& b) const {
    for (size_t i = 0; i < std::min(a.in.size(), b.in.size()); ++i)
      if (a.in[i].is_value() && b.in[i].is_value() && shape_text(a_, a.in[i].value) != shape_text(b_, b.in[i].value)) return true;
    return false;
  }

  static std::string shape_text(const Graph& g, ValueId v) { return to_string(g[v].shape, g.symbols); }

  void compare_attributes(const Op& a, const Op& b, std::vector<Change>& own, std::vector<Change>& following) const {
    const auto of_a = attribute_texts(a_, a), of_b = attribute_texts(b_, b);
    if (of_a == of_b) return;
    auto find = [](const auto& list, std::string_view name) {
      const auto at = std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.first == name; });
      return at == list.end() ? std::string() : at->second;
    };
    auto note = [&](std::string_view name, const std::string& x, const std::string& y) {
      if (x == y) return;
      const bool follows = a.kind == b.kind && ((follows_shape(name) && operands_resized(a, b)) || pad_value_rounded(a, b, name));
      (follows ? following : own).push_back({"attribute", std::string(name), x, y});
    };
    for (const auto& [name, value] : of_a)
      if (a.kind == b.kind || !find(of_b, name).empty()) note(name, value, find(of_b, name));
    if (a.kind != b.kind) return;  // another op has other attributes
    for (const auto& [name, value] : of_b)
      if (find(of_a, name).empty()) note(name, "", value);
  }

  bool pad_value_rounded(const Op& a, const Op& b, std::string_view attribute) const {
    return a.kind == OpKind::kPad && attribute == "value" && same_literal_rounded(a, a_.attrs(a).value, b, b_.attrs(b).value);
  }

  bool same(const Operand& x, const Operand& y) const {
    if (x.is_value() && y.is_value()) return m_.same(a_, x.value, b_, y.value);
    return x.is_value() == y.is_value() && x.literal == y.literal;
  }

  static std::string list(const Graph& g, const Op& op, size_t from, size_t to) {
    std::string out;
    for (size_t i = from; i < std::min(to, from + kShownOperands); ++i) out += (out.empty() ? "" : ", ") + text(g, op.in[i]);
    return to - from > kShownOperands ? out + ", … (" + std::to_string(to - from) + ")" : out;
  }

  // What is equal at both ends is left out, so that one operand more moves no others.
  void compare_operands(const Op& a, const Op& b, std::vector<Change>& own, std::vector<Change>& following) const {
    size_t first = 0, end_a = a.in.size(), end_b = b.in.size();
    while (first < std::min(end_a, end_b) && same(a.in[first], b.in[first])) ++first;
    while (end_a > first && end_b > first && same(a.in[end_a - 1], b.in[end_b - 1])) --end_a, --end_b;
    if (first == end_a && first == end_b) return;
    const bool moved =
        end_a - first == end_b - first && end_a - first > 1 && same(a.in[first], b.in[end_b - 1]) && same(a.in[end_a - 1], b.in[first]);
    if (moved || end_a - first != end_b - first) {
      own.push_back({"operands", std::to_string(first), list(a_, a, first, end_a), list(b_, b, first, end_b)});
      return;
    }
    for (size_t i = first; i < end_a; ++i) {
      if (same(a.in[i], b.in[i])) continue;
      const bool rounded = a.in[i].is_literal() && b.in[i].is_literal() && same_literal_rounded(a, *a.in[i].literal, b, *b.in[i].literal);
      (rounded ? following : own).push_back({"operand", std::to_string(i), text(a_, a.in[i]), text(b_, b.in[i])});
    }
  }

  // A graph holds literals as rounded to the dtype they are used in: where that changed, so does the same literal.
  bool same_literal_rounded(const Op& a, const Literal& x, const Op& b, const Literal& y) const {
    constexpr double kCoarsest = 0.25;  // of f8e5m2
    auto dtype = [](const Graph& g, const Op& op) {
      for (const Operand& o : op.in)
        if (o.is_value() && g[o.value].dtype != DType::kBool) return g[o.value].dtype;
      return DType::kBool;
    };
    if (dtype(a_, a) == dtype(b_, b)) return false;
    const double p = x.as_double(), q = y.as_double();
    return p == q || (std::isnan(p) && std::isnan(q)) || std::abs(p - q) <= kCoarsest * std::max(std::abs(p), std::abs(q));
  }

  void compare_results(const Op& a, const Op& b, std::vector<Change>& own, std::vector<Change>& following) const {
    for (size_t r = 0; r < std::max(a.out.size(), b.out.size()); ++r) {
      const ValueId va = r < a.out.size() ? a.out[r] : ValueId{}, vb = r < b.out.size() ? b.out[r] : ValueId{};
      if (va.valid() != vb.valid())
        own.push_back({"result", std::to_string(r), va.valid() ? a_[va].name : "", vb.valid() ? b_[vb].name : ""});
      if (!va.valid() || !vb.valid()) continue;
      if (a_[va].dtype != b_[vb].dtype)
        following.push_back({"dtype", std::to_string(r), std::string(name_of(a_[va].dtype)), std::string(name_of(b_[vb].dtype))});
      if (shape_text(a_, va) != shape_text(b_, vb) && typical_shape(a_, va) != typical_shape(b_, vb))
        following.push_back({"shape", std::to_string(r), shape_text(a_, va), shape_text(b_, vb)});
    }
  }

  // A size that only has another name is the same.
  static std::vector<int64_t> typical_shape(const Graph& g, ValueId v) {
    const SymbolValues values = typical_values(g.symbols);
    std::vector<int64_t> shape;
    for (const Size& s : g[v].shape) shape.push_back(s.is_constant() ? s.value() : evaluate(s, values));
    return shape;
  }

  static void note(std::vector<Change>& changes, const char* what, const std::string& a, const std::string& b) {
    if (a != b) changes.push_back({what, "", a, b});
  }

  // As they are: a row-major layout is the same whether it is written out or not.
  template <class InOrOutput>
  static std::string strides_text(const Graph& g, const InOrOutput& o) {
    const SymbolValues values = typical_values(g.symbols);
    std::string out;
    for (const Size& s : strides_of(g, o))
      out += (out.empty() ? "" : ", ") + std::to_string(s.is_constant() ? s.value() : evaluate(s, values));
    return "[" + out + "]";
  }
  template <class InOrOutput>
  void note_strides(std::vector<Change>& changes, const InOrOutput& a, const InOrOutput& b) const {
    if (a.strides || b.strides) note(changes, "strides", strides_text(a_, a), strides_text(b_, b));
  }

  // The default of a float is the normal distribution.
  static std::string init_text(const Init& i, DType dtype) {
    if (i.kind == Init::kDefault && is_float(dtype)) return "normal";
    static constexpr const char* kWords[] = {"", "normal", "uniform", "zeros", "ones", "arange", "randint", "permutation"};
    std::string out = kWords[i.kind];
    if (i.kind == Init::kUniform) out += " " + std::to_string(i.lo) + " " + std::to_string(i.hi);
    if (i.kind == Init::kRandint) out += " " + std::to_string(i.from) + " " + std::to_string(i.to);
    if (i.kind == Init::kPermutation) out += " " + std::to_string(i.to);
    return out;
  }

  Spot spot(const Graph& g, const Lines& lines, const Input& i) const {
    return {g[i.value].name, "", type_text(g, i.value), lines.of(i.at)};
  }
  Spot spot(const Graph& g, const Lines& lines, const Output& o) const { return {o.name, "", type_text(g, o.value), lines.of(o.at)}; }

  void compare_inputs() {
    const Pairing& p = m_.interface.inputs;
    for (size_t i = 0; i < p.to_b.size(); ++i) {
      const Input& a = a_.inputs[i];
      if (p.to_b[i] == kNoPartner) {
        d_.inputs_removed.push_back(spot(a_, lines_a_, a));
        continue;
      }
      const Input& b = b_.inputs[p.to_b[i]];
      const Value &va = a_[a.value], &vb = b_[b.value];
      d_.partner.emplace(va.name, vb.name);
      std::vector<Change> changes;
      note(changes, "dtype", std::string(name_of(va.dtype)), std::string(name_of(vb.dtype)));
      if (typical_shape(a_, a.value) != typical_shape(b_, b.value))
        note(changes, "shape", shape_text(a_, a.value), shape_text(b_, b.value));
      note_strides(changes, a, b);
      note(changes, "scalar", a.scalar ? "true" : "", b.scalar ? "true" : "");
      note(changes, "value", a.scalar_value ? literal_text(*a.scalar_value) : "", b.scalar_value ? literal_text(*b.scalar_value) : "");
      note(changes, "init", init_text(a.init, va.dtype), init_text(b.init, vb.dtype));
      inputs_alike_ += std::none_of(changes.begin(), changes.end(), [](const Change& c) { return c.what == "dtype" || c.what == "shape"; });
      if (!changes.empty()) d_.inputs_changed.push_back({spot(a_, lines_a_, a), spot(b_, lines_b_, b), std::move(changes)});
    }
    for (size_t i = 0; i < p.to_a.size(); ++i)
      if (p.to_a[i] == kNoPartner) d_.inputs_added.push_back(spot(b_, lines_b_, b_.inputs[i]));
  }

  // The input that an output is written over, as a place in B's list.
  std::string alias_text(const Graph& g, const Output& o, const Graph& other, const Pairing& inputs, bool is_a) const {
    if (!o.alias) return "";
    if (!is_a) return g[g.inputs[*o.alias].value].name;
    const uint32_t b = inputs.to_b[*o.alias];
    return b == kNoPartner ? g[g.inputs[*o.alias].value].name + " (removed)" : other[other.inputs[b].value].name;
  }

  void compare_outputs() {
    const Pairing &p = m_.interface.outputs, &inputs = m_.interface.inputs;
    for (size_t i = 0; i < p.to_b.size(); ++i) {
      const Output& a = a_.outputs[i];
      if (p.to_b[i] == kNoPartner) {
        d_.outputs_removed.push_back(spot(a_, lines_a_, a));
        continue;
      }
      const Output& b = b_.outputs[p.to_b[i]];
      std::vector<Change> changes;
      if (!m_.same(a_, a.value, b_, b.value)) changes.push_back({"value", "", a_[a.value].name, b_[b.value].name});
      note(changes, "alias", alias_text(a_, a, b_, inputs, true), alias_text(b_, b, a_, inputs, false));
      note_strides(changes, a, b);
      if (!changes.empty()) d_.outputs_changed.push_back({spot(a_, lines_a_, a), spot(b_, lines_b_, b), std::move(changes)});
    }
    for (size_t i = 0; i < p.to_a.size(); ++i)
      if (p.to_a[i] == kNoPartner) d_.outputs_added.push_back(spot(b_, lines_b_, b_.outputs[i]));
  }

  static std::vector<const Symbol*> free_symbols(const Graph& g) {
    std::vector<const Symbol*> list;
    for (const Symbol& s : g.symbols)
      if (!s.derived) list.push_back(&s);
    return list;
  }

  static std::string promise(const Symbol& s) {
    std::string out = std::to_string(s.typical);
    if (s.multiple_of != 1) out += ", a multiple of " + std::to_string(s.multiple_of);
    if (s.max != INT64_MAX) out += ", at most " + std::to_string(s.max);
    return out;
  }

  void compare_sizes() {
    const auto of_a = free_symbols(a_), of_b = free_symbols(b_);
    auto named = [](const auto& list, const std::string& name) {
      const auto at = std::find_if(list.begin(), list.end(), [&](const Symbol* s) { return s->name == name; });
      return at == list.end() ? nullptr : *at;
    };
    // Sizes that only have other names are the same: they are compared as lists of what they promise.
    const bool all_named =
        of_a.size() == of_b.size() && std::all_of(of_a.begin(), of_a.end(), [&](auto* s) { return named(of_b, s->name); });
    if (!all_named) {
      std::vector<std::string> promises_a, promises_b;
      for (const Symbol* s : of_a) promises_a.push_back(promise(*s));
      for (const Symbol* s : of_b) promises_b.push_back(promise(*s));
      std::sort(promises_a.begin(), promises_a.end());
      std::sort(promises_b.begin(), promises_b.end());
      if (promises_a == promises_b) return;
    }
    auto change = [&](const Symbol* a, const Symbol* b) {
      const std::string x = a ? promise(*a) : "", y = b ? promise(*b) : "";
      if (x != y) d_.sizes_changed.push_back({{a ? a->name : ""}, {b ? b->name : ""}, {{"size", "", x, y}}});
    };
    for (const Symbol* s : of_a) change(s, named(of_b, s->name));
    for (const Symbol* s : of_b)
      if (!named(of_a, s->name)) change(nullptr, s);
  }

  const Graph &a_, &b_;
  const Lines lines_a_, lines_b_;
  const Matching m_;
  size_t inputs_alike_ = 0;  // partners of one type
  GraphDiff d_;
};

}  // namespace

size_t GraphDiff::count() const {
  return removed.size() + added.size() + changed.size() + inputs_removed.size() + inputs_added.size() + outputs_removed.size() +
         outputs_added.size() + inputs_changed.size() + outputs_changed.size() + sizes_changed.size();
}

GraphDiff diff_graphs(const Graph& a, const SourceText* source_a, const Graph& b, const SourceText* source_b) {
  return GraphDiffer(a, source_a, b, source_b).run();
}

}  // namespace fusec
