#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "graph/verify.h"
#include "parser/read_parts.h"

namespace fusec {

namespace {

struct Dim {
  int64_t size = 0, multiple_of = 1, max = INT64_MAX;
  bool dynamic = false;
};

std::optional<int64_t> read_at_least(Reading& r, JsonValue v, const What& what, int64_t least) {
  const auto n = read_integer(r, v, what);
  if (!n || *n >= least) return n;
  r.error(least == 0 ? "negative-size" : "bad-size", v.span(),
          what + " must be ≥ " + std::to_string(least) + ", not " + std::to_string(*n));
  return std::nullopt;
}

std::optional<Dim> read_dim(Reading& r, JsonValue v, const What& what) {
  Dim dim;
  if (!v.is(JsonKind::kObject)) {
    if (v.is(JsonKind::kInteger) || v.is(JsonKind::kUnsigned) || v.is(JsonKind::kBigInteger) || v.is(JsonKind::kNumber)) {
      const auto size = read_at_least(r, v, what, 0);
      dim.size = size.value_or(0);
      return size ? std::optional(dim) : std::nullopt;
    }
    r.error("wrong-type", v.span(), what + " must be an integer or {\"size\": N, \"dynamic\": true, ...}, not " + shown(v.text()));
    return std::nullopt;
  }
  bool ok = check_keys(r, v, what, {"size", "dynamic", "multiple_of", "max"}, {"size"});
  auto integer = [&](const char* key, int64_t least, int64_t& into) {
    const auto given = v.find(key);
    if (!given) return;
    const auto n = read_at_least(r, *given, {key, what.owner, what.name}, least);
    ok &= n.has_value();
    into = n.value_or(least);
  };
  integer("size", 0, dim.size);
  integer("multiple_of", 1, dim.multiple_of);
  integer("max", 0, dim.max);
  if (const auto given = v.find("dynamic")) {
    const auto dynamic = read_bool(r, *given, {"dynamic", what.owner, what.name});
    ok &= dynamic.has_value();
    dim.dynamic = dynamic.value_or(false);
  }
  if (!dim.dynamic)
    for (const char* key : {"multiple_of", "max"})
      if (const auto given = v.find(key))
        r.diagnostics.warning("fixed-size", given->span(),
                              What{key, what.owner, what.name} +
                                  " only limits --dim, since the size is fixed; \"dynamic\": true makes it a "
                                  "parameter of the kernels");
  return ok ? std::optional(dim) : std::nullopt;
}

// The promises a size makes about itself, also when --dim replaced it.
bool check_promises(Reading& r, const Dim& dim, const What& what, Span at) {
  if (dim.size % dim.multiple_of != 0)
    r.error("bad-size", at,
            what + ": the size " + std::to_string(dim.size) + " is no multiple of " + std::to_string(dim.multiple_of) +
                ", as 'multiple_of' promises");
  else if (dim.size > dim.max)
    r.error("bad-size", at,
            what + ": the size " + std::to_string(dim.size) + " is above " + std::to_string(dim.max) + ", as 'max' promises");
  else return true;
  return false;
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> size_names(const Reading& r) {
  std::vector<std::string_view> names;
  for (const SizeName& s : r.sizes) names.push_back(s.name);
  return names;
}

// One factor of a product: digits, or a name from dims.
std::optional<Size> read_factor(Reading& r, std::string_view factor, JsonValue v, const What& what) {
  if (const auto it = r.size_by_name.find(factor); it != r.size_by_name.end()) {
    r.sizes[it->second].used = true;
    return r.sizes[it->second].size;
  }
  int64_t n = 0;
  const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), n);
  if (!factor.empty() && factor[0] != '-' && end == factor.data() + factor.size()) {
    if (error == std::errc()) return Size(n);
    r.error("integer-range", v.span(), what + ": the size " + quoted(factor) + " does not fit a 64-bit integer");
    return std::nullopt;
  }
  if (!is_identifier(factor)) {
    r.error("bad-size", v.span(),
            what + ": " + quoted(v.string()) + " is no size; sizes are integers, names from 'dims' and products such as \"B*S\"");
    return std::nullopt;
  }
  if (!r.sizes_are_missing)
    r.error("unknown-size", v.span(), what + ": 'dims' has no size " + quoted(factor) + did_you_mean(r, factor, size_names(r)));
  return std::nullopt;
}

}  // namespace

void read_dims(Reading& r, std::optional<JsonValue> dims) {
  if (dims && !expect(r, *dims, JsonKind::kObject, {"dims", "", ""})) {
    r.sizes_are_missing = true;
  } else if (dims) {
    for (auto i = dims->begin(); !(i == dims->end()); ++i) {
      const JsonValue key = *i;
      const JsonValue value = *++i;
      const std::string_view name = key.string();
      if (r.hopeless() || !r.size_by_name.emplace(name, static_cast<uint32_t>(r.sizes.size())).second) continue;
      SizeName& added = r.sizes.emplace_back(SizeName{name, key.span(), std::nullopt, false});
      if (!is_identifier(name)) {
        r.error("bad-name", key.span(),
                "a size cannot be called " + quoted(name) + ": a name is a letter or '_', then letters, digits or '_'");
        continue;
      }
      const What what{"", "the size", name};
      auto dim = read_dim(r, value, what);
      if (!dim) continue;
      const auto override = r.options.dims.find(std::string(name));
      const bool overridden = override != r.options.dims.end();
      if (overridden) dim->size = override->second;
      if (!check_promises(r, *dim, overridden ? What{"", "--dim", name} : what, value.span())) continue;
      added.size = dim->dynamic
                       ? Size::symbol(r.graph.symbols.push({std::string(name), dim->size, dim->multiple_of, dim->max, false, {}, 1}))
                       : Size(dim->size);
    }
  }
  for (const auto& [name, size] : r.options.dims) {
    if (size < 0) r.error("negative-size", {}, "--dim " + quoted(name) + " must be ≥ 0, not " + std::to_string(size));
    if (!r.size_by_name.contains(name) && !r.sizes_are_missing)
      r.error("unknown-dim", {}, "--dim " + quoted(name) + ": the graph has no such size" + did_you_mean(r, name, size_names(r)));
  }
}

std::optional<Size> read_size(Reading& r, JsonValue v, const What& what, int64_t least) {
  if (!v.is(JsonKind::kString)) {
    const auto n = read_integer(r, v, what);
    if (!n || *n >= least) return n ? std::optional(Size(*n)) : std::nullopt;
    r.error(least == 0 ? "negative-size" : "bad-size", v.span(),
            what + " must be ≥ " + std::to_string(least) + ", not " + std::to_string(*n));
    return std::nullopt;
  }
  Size product(1);
  const std::string_view text = v.string();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('*', begin), text.size());
    const auto factor = read_factor(r, trim(text.substr(begin, end - begin)), v, what);
    if (!factor) return std::nullopt;
    try {
      product *= *factor;
    } catch (const std::overflow_error&) {
      r.error("too-large", v.span(), what + ": the product " + quoted(text) + " passes the 64-bit range");
      return std::nullopt;
    }
    begin = end + 1;
  }
  return product;
}

std::optional<std::vector<Size>> read_sizes(Reading& r, JsonValue v, const What& what, int64_t least) {
  if (!v.is(JsonKind::kArray)) {
    r.error("wrong-type", v.span(), what + " must be a list of sizes, not " + shown(v.text()));
    return std::nullopt;
  }
  std::vector<Size> sizes;
  bool ok = true;
  for (JsonValue element : v) {
    if (r.hopeless()) return std::nullopt;
    const auto size = read_size(r, element, element_of(what), least);
    ok &= size.has_value();
    sizes.push_back(size.value_or(Size(0)));
  }
  return ok ? std::optional(std::move(sizes)) : std::nullopt;
}

std::optional<Shape> read_shape(Reading& r, JsonValue v, const What& what, std::optional<DType> dtype, int64_t least) {
  auto shape = read_sizes(r, v, what, least);
  if (!shape) return std::nullopt;
  if (shape->size() > kMaxRank) {
    r.error("rank", v.span(), what + " has " + std::to_string(shape->size()) + " dimensions; at most 8 are allowed");
    return std::nullopt;
  }
  // Empty dimensions count as 1, so that strides stay in range as well; dynamic ones have their typical size.
  try {
    const SymbolValues typical = typical_values(r.graph.symbols);
    Size bytes(dtype ? bytes_of(*dtype) : 1);
    for (const Size& s : *shape) bytes *= Size(std::max<int64_t>(1, s.is_constant() ? s.value() : evaluate(s, typical)));
  } catch (const std::overflow_error&) {
    r.error("too-large", v.span(), what + " " + to_string(*shape, r.graph.symbols) + " is a tensor of 2^63 bytes or more");
    return std::nullopt;
  }
  return shape;
}

}  // namespace fusec
