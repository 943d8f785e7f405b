#include <algorithm>
#include <cmath>

#include "graph/attribute_names.h"
#include "graph/verify.h"
#include "parser/read_parts.h"

namespace fusec {

namespace {

constexpr int64_t kAnySize = INT64_MIN;  // the op's rule decides about negative ones

template <class T, class Read>
bool store(std::optional<T> value, Read& into) {
  if (value) into = std::move(*value);
  return value.has_value();
}

bool read_seed(Reading& r, JsonValue v, const What& what, uint64_t& into) {
  if (v.is(JsonKind::kUnsigned) || (v.is(JsonKind::kInteger) && v.integer() >= 0)) return into = v.unsigned_integer(), true;
  if (v.is(JsonKind::kInteger)) r.error("attribute-range", v.span(), what + " must be in [0, 2^64), not " + shown(v.text()));
  else read_integer(r, v, what);
  return false;
}

// One of a few words; returns its position.
std::optional<size_t> read_word(Reading& r, JsonValue v, const What& what, const std::vector<std::string_view>& words) {
  if (!expect(r, v, JsonKind::kString, what)) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), v.string());
  if (found != words.end()) return found - words.begin();
  std::string list;
  for (std::string_view w : words) list += (list.empty() ? "" : ", ") + quoted(w);
  r.error("attribute-range", v.span(), what + " is one of " + list + ", not " + quoted(v.string()) + did_you_mean(r, v.string(), words));
  return std::nullopt;
}

bool read_accumulate(Reading& r, JsonValue v, const What& what, Accumulate& into) {
  const auto word = read_word(r, v, what, {"add", "mul", "max", "min"});
  if (word) into = static_cast<Accumulate>(static_cast<size_t>(Accumulate::kAdd) + *word);
  return word.has_value();
}

bool read_attribute_dtype(Reading& r, JsonValue v, const What& what, ReadAttrs& a) {
  const OpCategory c = info(a.kind).category;
  return store(read_dtype(r, v, what), c == OpCategory::kConvert || c == OpCategory::kCreation ? a.dtype : a.attrs.dtype);
}

bool read_dims(Reading& r, JsonValue v, const What& what, std::vector<int64_t>& into) {
  if (!store(read_integers(r, v, what), into)) return false;
  if (std::find(into.begin(), into.end(), kDefaultDims) == into.end()) return true;  // that one stands for no `dims` at all
  r.error("dim-range", v.span(), what + " has a dimension below any rank: " + shown(v.text()));
  return false;
}

bool read_approximate(Reading& r, JsonValue v, const What& what, ReadAttrs& a) {
  const auto word = read_word(r, v, what, {"none", "tanh"});
  if (word == 1) a.kind = OpKind::kGeluTanh;
  return word.has_value();
}

struct AttributeRow {
  std::string_view name;
  bool (*read)(Reading&, JsonValue, const What&, ReadAttrs&);
};
#define FUSEC_READ(expression) [](Reading& r, JsonValue v, const What& w, [[maybe_unused]] ReadAttrs& a) -> bool { return expression; }
constexpr AttributeRow kAttributes[] = {
    {"dtype", read_attribute_dtype},
    {"shape", FUSEC_READ(store(read_shape(r, v, w, std::nullopt, kAnySize), a.attrs.shape))},
    {"dims", FUSEC_READ(read_dims(r, v, w, a.attrs.dims))},
    {"perm", FUSEC_READ(store(read_integers(r, v, w), a.attrs.perm))},
    {"dim", FUSEC_READ(store(read_integer(r, v, w), a.attrs.dim))},
    {"starts", FUSEC_READ(store(read_sizes(r, v, w, kAnySize), a.attrs.starts))},
    {"stops", FUSEC_READ(store(read_sizes(r, v, w, kAnySize), a.attrs.stops))},
    {"steps", FUSEC_READ(store(read_integers(r, v, w), a.attrs.steps))},
    {"low", FUSEC_READ(store(read_sizes(r, v, w, kAnySize), a.attrs.low))},
    {"high", FUSEC_READ(store(read_sizes(r, v, w, kAnySize), a.attrs.high))},
    {"value", FUSEC_READ(store(read_literal(r, v, w), a.attrs.value))},
    {"start", FUSEC_READ(store(read_literal(r, v, w), a.attrs.start))},
    {"step", FUSEC_READ(store(read_literal(r, v, w), a.attrs.step))},
    {"seed", FUSEC_READ(read_seed(r, v, w, a.attrs.seed))},
    {"stream", FUSEC_READ(read_seed(r, v, w, a.attrs.stream))},
    {"keepdim", FUSEC_READ(store(read_bool(r, v, w), a.attrs.keepdim))},
    {"exclusive", FUSEC_READ(store(read_bool(r, v, w), a.attrs.exclusive))},
    {"reverse", FUSEC_READ(store(read_bool(r, v, w), a.attrs.reverse))},
    {"descending", FUSEC_READ(store(read_bool(r, v, w), a.attrs.descending))},
    {"stable", FUSEC_READ(store(read_bool(r, v, w), a.attrs.stable))},
    {"largest", FUSEC_READ(store(read_bool(r, v, w), a.attrs.largest))},
    {"sorted", FUSEC_READ(store(read_bool(r, v, w), a.attrs.sorted))},
    {"k", FUSEC_READ(store(read_size(r, v, w, kAnySize), a.attrs.k))},
    {"correction", FUSEC_READ(store(read_integer(r, v, w), a.attrs.correction))},
    {"groups", FUSEC_READ(store(read_integer(r, v, w), a.attrs.groups))},
    {"eps", FUSEC_READ(store(read_number(r, v, w), a.attrs.eps))},
    {"p", FUSEC_READ(store(read_number(r, v, w), a.attrs.p))},
    {"accumulate", FUSEC_READ(read_accumulate(r, v, w, a.attrs.accumulate))},
    {"approximate", read_approximate},
    // cross_entropy's only reduction
    {"reduction", FUSEC_READ(read_word(r, v, w, {"none"}).has_value())},
};
#undef FUSEC_READ

// Returns the attribute that was meant, or "".
std::string report_unknown(Reading& r, OpKind kind, JsonValue key) {
  std::vector<std::string_view> names = {"op", "in", "out", "note"};
  std::string list;
  for_each_attribute(attributes_of(kind), [&](std::string_view name, bool) {
    names.push_back(name);
    list += (list.empty() ? "" : ", ") + std::string(name);
  });
  auto& error = r.error("unknown-attribute", key.span(),
                        quoted(name_of(kind)) + " has no attribute " + quoted(key.string()) + did_you_mean(r, key.string(), names));
  error.notes.push_back({{}, list.empty() ? quoted(name_of(kind)) + " has no attributes" : "its attributes are " + list});
  return nearest(key.string(), names);
}

}  // namespace

bool has_attributes(OpKind kind) {
  const std::string_view list = info(kind).attributes;
  return !list.empty() && list != "dtype";
}

ReadAttrs read_attributes(Reading& r, OpKind kind, JsonValue op, Span at) {
  ReadAttrs result;
  result.kind = kind;
  if (has_attributes(kind)) result.attrs = default_attrs(kind);
  uint64_t given = 0;
  for (auto i = op.begin(); !(i == op.end()); ++i) {
    const JsonValue key = *i, value = *++i;
    const std::string_view name = key.string();
    if (name == "op" || name == "in" || name == "out") continue;
    if (name == "note") {
      result.ok &= expect(r, value, JsonKind::kString, {"note", "", name_of(kind)});
      continue;
    }
    int position = 0, found = -1;
    for_each_attribute(attributes_of(kind), [&](std::string_view known, bool) { found = known == name ? position : found, ++position; });
    if (found < 0) {
      // A misspelt attribute is not missing as well.
      const std::string meant = report_unknown(r, kind, key);
      int at_meant = 0;
      for_each_attribute(attributes_of(kind), [&](std::string_view known, bool) { given |= uint64_t{known == meant} << at_meant++; });
      result.ok = false;
      continue;
    }
    given |= uint64_t{1} << found;
    const auto row = std::find_if(std::begin(kAttributes), std::end(kAttributes), [&](const AttributeRow& a) { return a.name == name; });
    result.ok &= row->read(r, value, {name, "", name_of(kind)}, result);
  }
  int position = 0;
  for_each_attribute(attributes_of(kind), [&](std::string_view name, bool required) {
    const bool is_given = given >> position++ & 1;
    if (!required || is_given) return;
    r.error("missing-attribute", at, quoted(name_of(kind)) + " needs the attribute " + quoted(name));
    result.ok = false;
  });
  return result;
}

}  // namespace fusec
