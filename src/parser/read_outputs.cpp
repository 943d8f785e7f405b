#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "parser/read_parts.h"

namespace fusec {

namespace {

// Dimensions by rising stride; those of size 1 have no say and are left out.
std::vector<size_t> by_stride(const Shape& shape, const std::vector<int64_t>& strides) {
  std::vector<size_t> order;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!shape[d].is(1)) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  return order;
}

bool is_empty(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Size& s) { return s.is(0); });
}

// A permutation of a dense layout: each stride is the number of elements inside it.
bool is_dense(const Shape& shape, const std::vector<int64_t>& strides) {
  Size inside(1);
  for (size_t d : by_stride(shape, strides)) {
    if (!(inside == Size(strides[d]))) return false;
    inside *= shape[d];
  }
  return true;
}

// Whether two elements share a place in memory; true when that cannot be excluded.
bool may_overlap(const Shape& shape, const std::vector<int64_t>& strides) {
  if (is_empty(shape)) return false;
  const std::vector<size_t> order = by_stride(shape, strides);
  Size last(0);  // offset of the last element of the dimensions so far
  bool nested = true;
  for (size_t d : order) {
    const Size past = Size(strides[d]) - last;
    nested &= past.is_constant() && past.value() > 0;
    last += (shape[d] - Size(1)) * Size(strides[d]);
  }
  if (nested) return false;
  // Interleaved dimensions may still be apart: counted out where that is cheap.
  constexpr int64_t kCountable = 1 << 16;
  std::vector<int64_t> offsets = {0};
  for (size_t d : order) {
    if (!shape[d].is_constant() || shape[d].value() > kCountable / static_cast<int64_t>(offsets.size())) return true;
    const size_t before = offsets.size();
    for (int64_t i = 1; i < shape[d].value(); ++i)
      for (size_t k = 0; k < before; ++k) offsets.push_back(offsets[k] + i * strides[d]);
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

std::string list(const std::vector<int64_t>& numbers) {
  std::string out = "[";
  for (int64_t n : numbers) out += (out.size() > 1 ? "," : "") + std::to_string(n);
  return out + "]";
}

class OutputReader {
 public:
  explicit OutputReader(Reading& reading) : r(reading) {
    for (uint32_t i = 0; i < r.graph.inputs.size(); ++i) input_of_.emplace(r.graph.inputs[i].value, i);
  }

  void read(JsonValue list) {
    if (list.size() == 0) r.error("no-outputs", list.span(), "'outputs' is empty; a graph has at least one output");
    for (JsonValue v : list)
      if (!r.hopeless()) read_output(v);
  }

 private:
  std::optional<ValueId> read_value(JsonValue v) {
    const auto definition = find_value(r, v.string(), v.span(), {"", "an output", ""});
    if (!definition) return std::nullopt;
    const Definition& d = r.definitions[*definition];
    return d.failed || !d.value.valid() ? std::nullopt : std::optional(d.value);
  }

  // The second output of a value is NAME#2; values cannot be called so.
  std::string output_name(ValueId value) {
    const int n = ++times_[value];
    return r.graph[value].name + (n == 1 ? "" : "#" + std::to_string(n));
  }

  void read_output(JsonValue v) {
    if (v.is(JsonKind::kString)) {
      const auto value = read_value(v);
      if (value) r.graph.outputs.push_back({*value, output_name(*value), {}, {}, v.span()});
      return;
    }
    if (!v.is(JsonKind::kObject)) {
      r.error("wrong-type", v.span(), "an output must be a name or an object, not " + shown(v.text()));
      return;
    }
    const bool complete = check_keys(r, v, {"", "an output", ""}, {"value", "alias", "strides"}, {"value"});
    if (!complete || !expect(r, *v.find("value"), JsonKind::kString, {"value", "an output", ""})) return;
    const JsonValue name = *v.find("value");
    const auto value = read_value(name);
    Output output;
    output.at = name.span();
    if (value) {
      output.value = *value;
      output.name = output_name(*value);
      if (const auto strides = v.find("strides")) read_strides(*strides, v.find("alias").has_value(), output);
    }
    if (const auto alias = v.find("alias")) read_alias(*alias, value, output);
    if (value) r.graph.outputs.push_back(std::move(output));
  }

  void read_strides(JsonValue v, bool aliased, Output& output) {
    const What what{"strides", "output", r.graph[output.value].name};
    auto strides = read_integers(r, v, what);
    if (!strides) return;
    const Shape& shape = r.graph[output.value].shape;
    std::string why;
    if (strides->size() != shape.size())
      why = " has " + std::to_string(strides->size()) + " strides for " + std::to_string(shape.size()) + " dimensions";
    else if (std::any_of(strides->begin(), strides->end(), [](int64_t s) { return s < 0; })) why = " must be ≥ 0, not " + list(*strides);
    else if (!aliased && !is_empty(shape) && !is_dense(shape, *strides))
      why = " " + list(*strides) + " is no permutation of a dense layout of " + to_string(shape, r.graph.symbols);
    if (!why.empty()) {
      r.error("bad-strides", v.span(), what + why);
      return;
    }
    output.strides = std::move(*strides);
  }

  std::optional<uint32_t> find_input(JsonValue v) {
    std::vector<std::string_view> inputs;
    for (const Definition& d : r.definitions)
      if (d.op == Definition::kInput) inputs.push_back(d.name);
    const auto it = r.by_name.find(v.string());
    if (it == r.by_name.end() || r.definitions[it->second].op != Definition::kInput) {
      const char* why = it == r.by_name.end() ? ", which is no input" : ", which an op computes; only an input can be written over";
      r.error("bad-alias", v.span(), "'alias' names " + quoted(v.string()) + why + did_you_mean(r, v.string(), inputs));
      return std::nullopt;
    }
    const Definition& d = r.definitions[it->second];
    return d.failed ? std::nullopt : std::optional(input_of_.at(d.value));
  }

  // What forbids writing `output` over `input`, or "".
  std::string alias_refusal(const Output& output, const Input& input) {
    const Value &from = r.graph[output.value], &to = r.graph[input.value];
    const std::string names = "output " + quoted(from.name) + " cannot be an alias of input " + quoted(to.name) + ": ";
    const auto describe_value = [&](const Value& v) { return std::string(name_of(v.dtype)) + to_string(v.shape, r.graph.symbols); };
    if (from.dtype != to.dtype)
      return names + "the dtypes " + std::string(name_of(from.dtype)) + " and " + std::string(name_of(to.dtype)) + " differ";
    if (from.shape != to.shape) return names + "the shapes of " + describe_value(from) + " and " + describe_value(to) + " differ";
    if (input.scalar) return names + "a scalar input has no memory to write to";
    if (input.strides && may_overlap(to.shape, *input.strides))
      return names + "its strides " + list(*input.strides) + " make elements overlap";
    if (output.strides && strides_of(r.graph, output) != strides_of(r.graph, input)) {
      const std::string given = input.strides ? list(*input.strides) : "row-major ones";
      return names + "its strides are " + given + ", not " + list(*output.strides);
    }
    return "";
  }

  void read_alias(JsonValue v, std::optional<ValueId> value, Output& output) {
    if (!expect(r, v, JsonKind::kString, {"alias", "an output", ""})) return;
    const auto index = find_input(v);
    if (!index) return;
    const auto [first, is_new] = aliased_.emplace(*index, v.span());
    if (!is_new) {
      r.error("alias-twice", v.span(), "two outputs are an alias of input " + quoted(v.string()))
          .notes.push_back({first->second, "the first one"});
      return;
    }
    if (!value) return;
    const Input& input = r.graph.inputs[*index];
    if (const std::string why = alias_refusal(output, input); !why.empty()) {
      r.error("bad-alias", v.span(), why);
      return;
    }
    output.alias = *index;
    output.strides = input.strides;  // the memory's own layout
  }

  Reading& r;
  std::map<ValueId, uint32_t> input_of_;
  std::map<ValueId, int> times_;
  std::map<uint32_t, Span> aliased_;
};

}  // namespace

void read_outputs(Reading& r, JsonValue outputs) {
  if (expect(r, outputs, JsonKind::kArray, {"outputs", "", ""})) OutputReader(r).read(outputs);
}

}  // namespace fusec
