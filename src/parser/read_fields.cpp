#include <algorithm>
#include <limits>

#include "graph/literal.h"
#include "parser/read_parts.h"

namespace fusec {

std::string What::text() const {
  std::string out = element ? "an element of " : "";
  if (!key.empty()) out += quoted(key) + (owner.empty() && name.empty() ? "" : " of ");
  if (!owner.empty()) out += std::string(owner) + (name.empty() ? "" : " ");
  if (!name.empty()) out += quoted(name);
  return out;
}

std::string did_you_mean(const Reading& r, std::string_view word, const std::vector<std::string_view>& candidates) {
  if (r.diagnostics.error_count() >= Diagnostics::kMaxErrors) return "";
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : "; did you mean " + quoted(near) + "?";
}

bool check_keys(Reading& r, JsonValue object, const What& what, const std::vector<std::string_view>& known,
                const std::vector<std::string_view>& required) {
  std::vector<std::string_view> missing(required);
  bool complete = true;
  for (auto i = object.begin(); !(i == object.end()); ++i, ++i) std::erase(missing, (*i).string());
  for (auto i = object.begin(); !(i == object.end()); ++i, ++i) {
    const JsonValue key = *i;
    if (r.hopeless() || std::find(known.begin(), known.end(), key.string()) != known.end()) continue;
    r.error("unknown-key", key.span(), what + " has no key " + quoted(key.string()) + did_you_mean(r, key.string(), known));
    // A misspelt key is not missing as well.
    if (std::erase(missing, nearest(key.string(), known))) complete = false;
  }
  const Span brace{object.span().begin, object.span().begin + 1};
  for (std::string_view key : missing) r.error("missing-key", brace, what + " needs the key " + quoted(key));
  return complete && missing.empty();
}

bool expect(Reading& r, JsonValue v, JsonKind kind, const What& what) {
  if (v.is(kind)) return true;
  r.error("wrong-type", v.span(), what + " must be " + std::string(describe(kind)) + ", not " + shown(v.text()));
  return false;
}

std::optional<int64_t> read_integer(Reading& r, JsonValue v, const What& what) {
  if (v.is(JsonKind::kInteger)) return v.integer();
  if (v.is(JsonKind::kUnsigned) || v.is(JsonKind::kBigInteger))
    r.error("integer-range", v.span(), what + " does not fit a 64-bit integer: " + shown(v.text()));
  else expect(r, v, JsonKind::kInteger, what);
  return std::nullopt;
}

std::optional<double> read_number(Reading& r, JsonValue v, const What& what) {
  if (v.is(JsonKind::kInteger) || v.is(JsonKind::kUnsigned) || v.is(JsonKind::kNumber)) return v.number();
  if (v.is(JsonKind::kBigInteger))
    r.error("integer-range", v.span(),
            what + " does not fit a 64-bit integer: " + shown(v.text()) + "; a float is written with a point or an exponent");
  else r.error("wrong-type", v.span(), what + " must be a number, not " + shown(v.text()));
  return std::nullopt;
}

std::optional<bool> read_bool(Reading& r, JsonValue v, const What& what) {
  if (!expect(r, v, JsonKind::kBool, what)) return std::nullopt;
  return v.boolean();
}

std::optional<DType> read_dtype(Reading& r, JsonValue v, const What& what) {
  if (!expect(r, v, JsonKind::kString, what)) return std::nullopt;
  if (const auto dtype = parse_dtype(v.string())) return dtype;
  std::string list;
  for (const DTypeInfo& d : kDTypes) list += (list.empty() ? "" : ", ") + std::string(d.name);
  r.error("unknown-dtype", v.span(), what + ": no dtype " + quoted(v.string()) + did_you_mean(r, v.string(), dtype_spellings()))
      .notes.push_back({{}, "the dtypes are " + list});
  return std::nullopt;
}

std::optional<std::vector<int64_t>> read_integers(Reading& r, JsonValue v, const What& what) {
  if (!v.is(JsonKind::kArray)) {
    r.error("wrong-type", v.span(), what + " must be a list of integers, not " + shown(v.text()));
    return std::nullopt;
  }
  std::vector<int64_t> list;
  bool ok = true;
  for (JsonValue element : v) {
    if (r.hopeless()) return std::nullopt;
    const auto n = read_integer(r, element, element_of(what));
    ok &= n.has_value();
    list.push_back(n.value_or(0));
  }
  return ok ? std::optional(std::move(list)) : std::nullopt;
}

std::optional<double> literal_of_word(std::string_view word) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (word == "inf") return kInfinity;
  if (word == "-inf") return -kInfinity;
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::optional<Literal> read_literal(Reading& r, JsonValue v, const What& what) {
  if (v.is(JsonKind::kBool)) return Literal{v.boolean()};
  if (v.is(JsonKind::kInteger)) return Literal{v.integer()};
  if (v.is(JsonKind::kString)) {
    if (const auto d = literal_of_word(v.string())) return Literal{*d};
    r.error("wrong-type", v.span(), what + " must be a number, true, false, \"inf\", \"-inf\" or \"nan\", not " + shown(v.text()));
    return std::nullopt;
  }
  const auto d = read_number(r, v, what);
  return d ? std::optional(Literal{*d}) : std::nullopt;
}

std::optional<Literal> fit_literal(Reading& r, const Literal& literal, DType dtype, Span at, const What& what) {
  std::string why;
  const auto fitted = convert_literal(literal, dtype, why);
  if (!fitted) r.error("literal", at, what + ": " + why);
  return fitted;
}

bool is_identifier(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool check_value_name(Reading& r, JsonValue v, const What& what) {
  const std::string_view name = v.string();
  if (name == "inf" || name == "nan") {
    r.error("bad-name", v.span(), what + " cannot be called " + quoted(name) + ": that is a literal");
    return false;
  }
  std::string plain(name);  // '.' and ':' may stand behind the first character
  if (!plain.empty()) std::replace_if(plain.begin() + 1, plain.end(), [](char c) { return c == '.' || c == ':'; }, '_');
  if (is_identifier(plain)) return true;
  r.error("bad-name", v.span(),
          what + " cannot be called " + quoted(name) + ": a name is a letter or '_', then letters, digits, '_', '.' or ':'");
  return false;
}

std::optional<uint32_t> define(Reading& r, std::string_view name, Span at, uint32_t op) {
  const auto index = static_cast<uint32_t>(r.definitions.size());
  const auto [it, is_new] = r.by_name.emplace(name, index);
  if (!is_new) {
    const Definition& first = r.definitions[it->second];
    r.error("defined-twice", at, "the value " + quoted(name) + " is defined twice; every name is given once")
        .notes.push_back({first.at, quoted(name) + " is defined here first"});
    return std::nullopt;
  }
  r.definitions.push_back({name, at, op, {}, false});
  return index;
}

std::optional<uint32_t> find_value(Reading& r, std::string_view name, Span at, const What& user) {
  const auto it = r.by_name.find(name);
  if (it != r.by_name.end()) return it->second;
  if (r.names_are_missing) return std::nullopt;
  std::string hint;
  if (r.diagnostics.error_count() < Diagnostics::kMaxErrors) {
    std::vector<std::string_view> names;
    for (const Definition& d : r.definitions) names.push_back(d.name);
    hint = did_you_mean(r, name, names);
  }
  r.error("undefined-value", at, user + " reads " + quoted(name) + ", which no input or op defines" + hint);
  return std::nullopt;
}

}  // namespace fusec
