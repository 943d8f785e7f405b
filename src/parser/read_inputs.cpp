#include <algorithm>
#include <stdexcept>

#include "parser/read_parts.h"

namespace fusec {

namespace {

constexpr std::string_view kInitWords[] = {"normal", "uniform", "zeros", "ones", "arange"};
constexpr Init::Kind kInitKinds[] = {Init::kNormal, Init::kUniform, Init::kZeros, Init::kOnes, Init::kArange};

// Two numbers [lo, hi].
template <class T, class Read>
bool read_pair(Reading& r, JsonValue v, const What& what, Read read, T& lo, T& hi) {
  if (!v.is(JsonKind::kArray) || v.size() != 2) {
    r.error("bad-init", v.span(), what + " takes [lo, hi], not " + shown(v.text()));
    return false;
  }
  auto i = v.begin();
  const auto a = read(r, *i, element_of(what));
  const auto b = read(r, *++i, element_of(what));
  if (a && b) lo = *a, hi = *b;
  return a && b;
}

bool read_randint(Reading& r, JsonValue v, DType dtype, Init& init) {
  const What what{"randint", "", ""};
  if (!read_pair(r, v, what, read_integer, init.from, init.to)) return false;
  if (init.from >= init.to) {
    r.error("bad-init", v.span(), "'randint' needs lo < hi (hi is excluded), not " + shown(v.text()));
    return false;
  }
  if (!is_integer(dtype)) return true;
  return fit_literal(r, Literal{init.from}, dtype, v.span(), what) && fit_literal(r, Literal{init.to - 1}, dtype, v.span(), what);
}

// Init words that make fractions.
bool check_floats(Reading& r, JsonValue v, std::string_view word, DType dtype) {
  if (is_float(dtype)) return true;
  r.error("bad-init", v.span(), "'init' " + quoted(word) + " makes floats, and this input is " + std::string(name_of(dtype)))
      .notes.push_back({{},
                        dtype == DType::kBool ? "a bool is a fair coin by default; {\"randint\": [0, 2]} says so"
                                              : "use {\"randint\": [lo, hi]} for integers (hi is excluded)"});
  return false;
}

// The greatest value of an integer dtype.
int64_t greatest_of(DType dtype) { return dtype == DType::kU8 ? 255 : INT64_MAX >> (64 - 8 * bytes_of(dtype)); }

bool read_permutation(Reading& r, JsonValue v, const Input& input, Init& init) {
  const auto n = read_size(r, v, {"permutation", "", ""});
  if (!n) return false;
  const Value& value = r.graph[input.value];
  std::string why;
  if (!n->is_constant()) why = "'permutation' needs a fixed number, and " + shown(v.text()) + " is a dynamic size";
  else if (value.shape.empty() || value.dtype == DType::kBool)
    why = "'permutation' fills rows of numbers, and this input is " + std::string(name_of(value.dtype)) +
          to_string(value.shape, r.graph.symbols);
  else if (value.shape.back().is_constant() && value.shape.back().value() > n->value())
    why = "a permutation of " + std::to_string(n->value()) + " cannot fill rows of " + std::to_string(value.shape.back().value());
  else if (is_integer(value.dtype) && n->value() - 1 > greatest_of(value.dtype))
    why = "a permutation of " + std::to_string(n->value()) + " holds numbers that do not fit " + std::string(name_of(value.dtype)) +
          " (up to " + std::to_string(greatest_of(value.dtype)) + ")";
  if (!why.empty()) return r.error("bad-init", v.span(), why), false;
  init.to = n->value();
  return true;
}

bool read_init(Reading& r, JsonValue v, const Input& input, Init& init) {
  static const std::vector<std::string_view> kNames = {"normal", "uniform", "zeros", "ones", "arange", "randint", "permutation"};
  std::string_view word;
  std::optional<JsonValue> argument;
  if (v.is(JsonKind::kString)) {
    word = v.string();
  } else if (v.is(JsonKind::kObject) && v.size() == 1) {
    auto i = v.begin();
    word = (*i).string();
    argument = *++i;
  } else {
    r.error("wrong-type", v.span(),
            "'init' must be a word such as \"normal\" or an object such as {\"randint\": [0, 10]}, not " + shown(v.text()));
    return false;
  }
  const DType dtype = r.graph[input.value].dtype;
  if (argument && word == "uniform") {
    init.kind = Init::kUniform;
    if (!check_floats(r, v, word, dtype)) return false;
    if (!read_pair(r, *argument, {"uniform", "", ""}, read_number, init.lo, init.hi)) return false;
    if (init.lo <= init.hi) return true;
    r.error("bad-init", argument->span(), "'uniform' needs lo ≤ hi, not " + shown(argument->text()));
    return false;
  }
  if (argument && word == "randint") return init.kind = Init::kRandint, read_randint(r, *argument, dtype, init);
  if (argument && word == "permutation") return init.kind = Init::kPermutation, read_permutation(r, *argument, input, init);
  const auto known = std::find(std::begin(kInitWords), std::end(kInitWords), word);
  if (!argument && known != std::end(kInitWords)) {
    init.kind = kInitKinds[known - std::begin(kInitWords)];
    const bool fractions = init.kind == Init::kNormal || init.kind == Init::kUniform;
    return !fractions || check_floats(r, v, word, dtype);
  }
  const bool misused = std::find(kNames.begin(), kNames.end(), word) != kNames.end();
  const std::string why =
      misused ? (argument ? " takes no argument" : " needs an argument, as in {\"" + std::string(word) + "\": ...}") : "";
  auto& error = misused ? r.error("bad-init", v.span(), "'init' " + quoted(word) + why)
                        : r.error("unknown-init", v.span(), "no 'init' called " + quoted(word) + did_you_mean(r, word, kNames));
  error.notes.push_back({{},
                         "'init' is \"normal\", \"uniform\", \"zeros\", \"ones\", \"arange\", {\"uniform\": [lo, hi]}, {\"randint\": [lo, "
                         "hi]} or {\"permutation\": n}"});
  return false;
}

// The last element of a strided input must have an address, at typical sizes.
bool extent_fits(const Shape& shape, const std::vector<int64_t>& strides, DType dtype, const Symbols& symbols) {
  try {
    const SymbolValues typical = typical_values(symbols);
    Size extent(bytes_of(dtype));
    for (size_t d = 0; d < shape.size(); ++d)
      extent += Size(std::max<int64_t>(1, evaluate(shape[d], typical)) - 1) * Size(strides[d]) * Size(bytes_of(dtype));
    return true;
  } catch (const std::overflow_error&) {
    return false;
  }
}

bool read_strides(Reading& r, JsonValue v, const What& what, Input& input) {
  auto strides = read_integers(r, v, what);
  if (!strides) return false;
  const Value& value = r.graph[input.value];
  auto element = v.begin();
  for (int64_t s : *strides) {
    const JsonValue at = *element;
    ++element;
    if (s >= 0) continue;
    r.error("bad-strides", at.span(), what + " must be ≥ 0, not " + std::to_string(s));
    return false;
  }
  if (strides->size() != value.shape.size()) {
    r.error("bad-strides", v.span(),
            what + " has " + std::to_string(strides->size()) + " strides for " + std::to_string(value.shape.size()) + " dimensions");
    return false;
  }
  if (!extent_fits(value.shape, *strides, value.dtype, r.graph.symbols)) {
    r.error("too-large", v.span(), what + " reaches over 2^63 bytes or more");
    return false;
  }
  input.strides = std::move(*strides);
  return true;
}

bool read_scalar(Reading& r, JsonValue object, const What& owner, Input& input) {
  if (const auto scalar = object.find("scalar")) {
    const auto flag = read_bool(r, *scalar, {"scalar", owner.owner, owner.name});
    if (!flag) return false;
    input.scalar = *flag;
    const Value& value = r.graph[input.value];
    if (input.scalar && !value.shape.empty()) {
      r.error("bad-scalar", scalar->span(),
              owner + " is a scalar, so its shape must be [], not " + to_string(value.shape, r.graph.symbols));
      return false;
    }
  }
  const auto given = object.find("value");
  if (!given) return true;
  if (!input.scalar) {
    r.error("bad-scalar", given->span(), "'value' is the default of a scalar; " + owner.text() + " needs \"scalar\": true");
    return false;
  }
  const What what{"value", owner.owner, owner.name};
  const auto literal = read_literal(r, *given, what);
  if (!literal) return false;
  input.scalar_value = fit_literal(r, *literal, r.graph[input.value].dtype, given->span(), what);
  return input.scalar_value.has_value();
}

// The name first, so that it is defined whatever else is wrong.
std::optional<uint32_t> read_input_name(Reading& r, JsonValue object, bool& good) {
  const auto name = object.find("name");
  good = name && expect(r, *name, JsonKind::kString, {"name", "an input", ""});
  r.names_are_missing |= !good;
  if (!good) return std::nullopt;
  good = check_value_name(r, *name, {"", "an input", ""});
  return define(r, name->string(), name->span(), Definition::kInput);
}

void read_input(Reading& r, JsonValue object) {
  if (!expect(r, object, JsonKind::kObject, {"", "an input", ""})) {
    r.names_are_missing = true;
    return;
  }
  bool named = false;
  const auto definition = read_input_name(r, object, named);
  const std::string_view name = definition ? r.definitions[*definition].name : std::string_view();
  const What owner{"", name.empty() ? "an input" : "input", name};
  const bool complete =
      check_keys(r, object, owner, {"name", "dtype", "shape", "strides", "scalar", "value", "init"}, {"name", "dtype", "shape"});

  std::optional<DType> dtype;
  std::optional<Shape> shape;
  if (const auto v = object.find("dtype")) dtype = read_dtype(r, *v, {"dtype", owner.owner, owner.name});
  if (const auto v = object.find("shape")) shape = read_shape(r, *v, {"shape", owner.owner, owner.name}, dtype);
  if (definition) r.definitions[*definition].failed = true;  // until everything about it is known
  if (!complete || !named || !definition || !dtype || !shape) return;

  Input input;
  input.at = r.definitions[*definition].at;
  input.value = r.graph.values.push({std::string(name), *dtype, std::move(*shape), {}, 0, input.at});
  r.definitions[*definition].value = input.value;
  r.definitions[*definition].failed = false;
  // A fault from here on leaves dtype and shape known: the ops that read the input can still be checked.
  if (const auto v = object.find("strides")) read_strides(r, *v, {"strides", owner.owner, owner.name}, input);
  read_scalar(r, object, owner, input);
  if (const auto v = object.find("init")) read_init(r, *v, input, input.init);
  r.graph.inputs.push_back(std::move(input));
}

}  // namespace

void read_inputs(Reading& r, JsonValue inputs) {
  if (!expect(r, inputs, JsonKind::kArray, {"inputs", "", ""})) return;
  for (JsonValue input : inputs) {
    if (r.hopeless()) return;
    read_input(r, input);
  }
}

}  // namespace fusec
