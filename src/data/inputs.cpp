#include "data/inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "data/index_ranges.h"
#include "reference/convert.h"
#include "reference/philox.h"
#include "support/check.h"
#include "support/diag.h"
#include "support/parallel.h"
#include "support/text.h"

namespace fusec {

namespace {

using Extents = std::vector<int64_t>;

[[noreturn]] void refuse(const std::string& what) { throw Failure(Exit::kBadInput, what); }

std::string type_text(DType dtype, const Extents& shape) {
  std::string text(name_of(dtype));
  for (size_t d = 0; d < shape.size(); ++d) text += (d ? "," : "[") + std::to_string(shape[d]);
  return text + (shape.empty() ? "[]" : "]");
}

const Tensor* find(const NamedTensors& given, const std::string& name) {
  for (const auto& [other, tensor] : given)
    if (other == name) return &tensor;
  return nullptr;
}

// Every given tensor is an input; dtype and rank are the graph's.
void check_given(const Graph& graph, const NamedTensors& given) {
  std::vector<std::string_view> names;
  for (const Input& input : graph.inputs) names.push_back(graph[input.value].name);
  for (const auto& [name, tensor] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = nearest(name, names);
    refuse(fusec::quoted(name) + " in the input file is no input of graph '" + graph.name + "'" +
           (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  for (const Input& input : graph.inputs) {
    const Value& value = graph[input.value];
    const Tensor* tensor = find(given, value.name);
    if (tensor && (tensor->dtype != value.dtype || tensor->shape.size() != value.shape.size()))
      refuse("input '" + value.name + "' is " + std::string(name_of(value.dtype)) + to_string(value.shape, graph.symbols) +
             " in the graph, but the file has " + type_text(tensor->dtype, tensor->shape));
  }
}

// --- symbols ------------------------------------------------------------------------------------------------------------------

using Known = IdVec<SymbolId, std::optional<int64_t>>;

// Solves size = extent for its only unknown symbol, if it has one, once and to the first power. True when a symbol was found.
bool solve(const Size& size, int64_t extent, Known& known) {
  __int128 rest = extent - size.constant(), factor = 0;
  SymbolId unknown;
  for (const Size::Term& term : size.terms()) {
    __int128 weight = term.coefficient;
    size_t unknowns = 0;
    for (const SymbolId s : term.symbols) {
      if (known[s]) weight *= *known[s];
      else if (++unknowns == 1 && !unknown.valid()) unknown = s;
      else return false;
    }
    if (unknowns) factor = weight;
    else rest -= weight;
  }
  // An extent that does not divide is left for the check of all shapes to report.
  if (!unknown.valid() || factor == 0 || rest % factor != 0 || rest / factor < 0) return false;
  known[unknown] = static_cast<int64_t>(rest / factor);
  return true;
}

void check_promises(const Graph& graph, const SymbolValues& values) {
  for (size_t i = 0; i < graph.symbols.size(); ++i) {
    const Symbol& symbol = graph.symbols[SymbolId(i)];
    const int64_t value = values[SymbolId(i)];
    if (symbol.derived) continue;
    if (value > symbol.max)
      refuse("dim '" + symbol.name + "' is " + std::to_string(value) + ", above its max of " + std::to_string(symbol.max));
    if (symbol.multiple_of > 1 && value % symbol.multiple_of != 0)
      refuse("dim '" + symbol.name + "' is " + std::to_string(value) + ", not a multiple of " + std::to_string(symbol.multiple_of) +
             " as the graph promises");
  }
  for (const Graph::Constraint& c : graph.constraints)
    if (evaluate(c.lhs, values) > evaluate(c.rhs, values))
      refuse("these sizes do not fit the graph: " + to_string(c.lhs, graph.symbols) + " = " + std::to_string(evaluate(c.lhs, values)) +
             " must be at most " + to_string(c.rhs, graph.symbols) + " = " + std::to_string(evaluate(c.rhs, values)));
}

// --- generated data -----------------------------------------------------------------------------------------------------------

// FNV-1a: a stream of its own for each input's name.
uint64_t stream_of(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Random words by index: element i's is the same whatever was asked for before.
struct RandomWords {
  uint64_t seed, stream;
  // The words of elements 2·pair and 2·pair + 1.
  std::array<uint64_t, 2> operator()(int64_t pair) const {
    const auto words = reference::philox_block(seed, stream, static_cast<uint64_t>(pair));
    return {reference::word_pair(words, 0), reference::word_pair(words, 2)};
  }
};

// The top `bits` of a word as a fraction in [0, 1).
double fraction(uint64_t word, int bits = 53) { return std::ldexp(static_cast<double>(word >> (64 - bits)), -bits); }

// Below `range`; any integer when `range` is 0, for 2^64.
uint64_t below(uint64_t range, uint64_t word) {
  return range == 0 ? word : static_cast<uint64_t>(static_cast<unsigned __int128>(word) * range >> 64);
}

// Elements 2·p and 2·p + 1 are pair(p), converted to the tensor's dtype.
template <class F>
void fill_pairs(Tensor& out, const F& pair) {
  using Wide = typename decltype(pair(0))::value_type;
  constexpr DType kWide = std::is_same_v<Wide, double> ? DType::kF64 : DType::kI64;
  constexpr int64_t kChunk = 4096;
  in_parallel(out.elems(), kChunk, [&](int64_t begin, int64_t end) {
    std::vector<Wide> chunk(kChunk);
    for (int64_t start = begin; start < end; start += kChunk) {
      const int64_t count = std::min(kChunk, end - start);
      for (int64_t i = 0; i < count; i += 2) {
        const std::array<Wide, 2> values = pair((start + i) / 2);
        chunk[static_cast<size_t>(i)] = values[0];
        chunk[static_cast<size_t>(i + 1)] = values[1];
      }
      convert(kWide, chunk.data(), out.dtype, out.data.data() + start * bytes_of(out.dtype), count);
    }
  });
}

void fill_normal(Tensor& out, const RandomWords& random) {
  fill_pairs(out, [&](int64_t p) {
    const auto words = random(p);
    return reference::box_muller(fraction(words[0]) + 0x1p-53, 2 * fraction(words[1]));
  });
}

void fill_uniform(Tensor& out, const RandomWords& random, double lo, double hi) {
  const int bits = reference::uniform_bits(out.dtype);  // so that no rounding reaches `hi` of [0, 1)
  fill_pairs(out, [&](int64_t p) -> std::array<double, 2> {
    const auto words = random(p);
    return {lo + (hi - lo) * fraction(words[0], bits), lo + (hi - lo) * fraction(words[1], bits)};
  });
}

void fill_randint(Tensor& out, const RandomWords& random, int64_t from, int64_t to) {
  const uint64_t base = static_cast<uint64_t>(from), range = static_cast<uint64_t>(to) - base;
  fill_pairs(out, [&](int64_t p) -> std::array<int64_t, 2> {
    const auto words = random(p);
    return {static_cast<int64_t>(base + below(range, words[0])), static_cast<int64_t>(base + below(range, words[1]))};
  });
}

// Rows along the last dimension: the first entries of a random permutation of 0 … n-1. (Shuffling one that is shuffled is as good.)
void fill_permutations(Tensor& out, const RandomWords& random, int64_t n) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), int64_t{0});
  const int64_t row = out.shape.empty() ? 1 : out.shape.back(), bytes = bytes_of(out.dtype);
  for (int64_t i = 0; i < out.elems(); ++i) {
    const auto k = static_cast<size_t>(i % row);
    const uint64_t word = random(i / 2)[static_cast<size_t>(i % 2)];
    std::swap(all[k], all[k + below(static_cast<uint64_t>(n) - k, word)]);
    store(all[k], out.dtype, out.data.data() + i * bytes);
  }
}

void fill_default(Tensor& out, const RandomWords& random, const std::string& name, std::optional<int64_t> range) {
  if (is_float(out.dtype)) return fill_normal(out, random);
  if (out.dtype == DType::kBool) return fill_randint(out, random, 0, 2);
  if (range && *range == 0 && out.elems() > 0)
    refuse("input '" + name + "' indexes an empty dimension: no value is valid; give data or an init");
  if (range) return fill_randint(out, random, 0, std::max<int64_t>(1, *range));
  fill_randint(out, random, out.dtype == DType::kU8 ? 0 : -8, 8);
}

Tensor generated(const Value& value, const Input& input, const Extents& shape, std::optional<int64_t> range, uint64_t seed) {
  Tensor out(value.dtype, shape);
  const RandomWords random{seed, stream_of(value.name)};
  const Init& init = input.init;
  switch (init.kind) {
    case Init::kDefault:
      fill_default(out, random, value.name, range);
      break;
    case Init::kNormal:
      fill_normal(out, random);
      break;
    case Init::kUniform:
      fill_uniform(out, random, init.lo, init.hi);
      break;
    case Init::kZeros:
      break;
    case Init::kOnes:
      fill_pairs(out, [](int64_t) { return std::array<int64_t, 2>{1, 1}; });
      break;
    case Init::kArange:
      fill_pairs(out, [](int64_t p) { return std::array<int64_t, 2>{2 * p, 2 * p + 1}; });
      break;
    case Init::kRandint:
      fill_randint(out, random, init.from, init.to);
      break;
    case Init::kPermutation:
      fill_permutations(out, random, init.to);
      break;
  }
  return out;
}

// --- overlapping layouts ------------------------------------------------------------------------------------------------------

// For each element the first one that shares its memory; empty when no two do. Addresses may lie far apart.
std::vector<int64_t> first_at_address(const Extents& shape, const Extents& strides) {
  int64_t elems = 1;
  for (int64_t extent : shape) elems *= extent;
  std::vector<std::pair<int64_t, int64_t>> places;  // address, element
  places.reserve(static_cast<size_t>(elems));
  for (int64_t i = 0; i < elems; ++i) {
    int64_t address = 0, rest = i;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) address += rest % shape[d] * strides[d];
    places.emplace_back(address, i);
  }
  std::sort(places.begin(), places.end());
  std::vector<int64_t> result(static_cast<size_t>(elems));
  bool shared = false;
  for (size_t k = 0; k < places.size(); ++k) {
    const bool again = k > 0 && places[k].first == places[k - 1].first;
    result[static_cast<size_t>(places[k].second)] = again ? result[static_cast<size_t>(places[k - 1].second)] : places[k].second;
    shared |= again;
  }
  if (!shared) result.clear();
  return result;
}

// Elements that are one in memory hold one value: made so in generated data, demanded of given data.
void settle_overlaps(const Value& value, const Input& input, Tensor& tensor, bool given) {
  if (!input.strides) return;
  const std::vector<int64_t> first = first_at_address(tensor.shape, *input.strides);
  const auto bytes = static_cast<size_t>(bytes_of(tensor.dtype));
  for (size_t i = 0; i < first.size(); ++i) {
    std::byte *to = tensor.data.data() + i * bytes, *from = tensor.data.data() + static_cast<size_t>(first[i]) * bytes;
    if (given && std::memcmp(to, from, bytes) != 0)
      refuse("input '" + value.name + "': elements " + std::to_string(first[i]) + " and " + std::to_string(i) +
             " (row-major) share their memory by the strides in the graph, but the data differ");
    if (to != from) std::memcpy(to, from, bytes);
  }
}

}  // namespace

SymbolValues bind_symbols(const Graph& graph, const NamedTensors& given) {
  check_given(graph, given);
  Known known(graph.symbols.size());
  for (bool progress = true; progress;) {
    progress = false;
    for (const Input& input : graph.inputs) {
      const Value& value = graph[input.value];
      const Tensor* tensor = find(given, value.name);
      for (size_t d = 0; tensor && d < value.shape.size(); ++d) progress |= solve(value.shape[d], tensor->shape[d], known);
    }
  }
  SymbolValues values = typical_values(graph.symbols);
  for (size_t i = 0; i < known.size(); ++i)
    if (known[SymbolId(i)]) values[SymbolId(i)] = *known[SymbolId(i)];
  derive_values(graph.symbols, values);
  for (const Input& input : graph.inputs) {
    const Value& value = graph[input.value];
    const Tensor* tensor = find(given, value.name);
    if (!tensor) continue;
    Extents expected;
    for (const Size& s : value.shape) expected.push_back(evaluate(s, values));
    if (expected != tensor->shape)
      refuse("input '" + value.name + "' is " + type_text(value.dtype, expected) + " in the graph, but the file has " +
             type_text(tensor->dtype, tensor->shape));
  }
  check_promises(graph, values);
  return values;
}

std::vector<Tensor> make_inputs(const Graph& graph, const NamedTensors& given, uint64_t seed) {
  check_given(graph, given);
  const auto ranges = index_ranges(graph);
  std::vector<Tensor> tensors;
  for (const Input& input : graph.inputs) {
    const Value& value = graph[input.value];
    Extents shape;
    for (const Size& s : value.shape) shape.push_back(s.value());
    const Tensor* tensor = find(given, value.name);
    if (tensor && tensor->shape != shape)
      refuse("input '" + value.name + "' is " + type_text(value.dtype, shape) + " in the graph, but the file has " +
             type_text(tensor->dtype, tensor->shape));
    if (tensor) {
      tensors.push_back(*tensor);
    } else if (input.scalar_value) {
      tensors.emplace_back(value.dtype, shape);
      store(*input.scalar_value, value.dtype, tensors.back().data.data());
    } else {
      tensors.push_back(generated(value, input, shape, ranges[input.value], seed));
    }
    settle_overlaps(value, input, tensors.back(), tensor != nullptr);
  }
  return tensors;
}

}  // namespace fusec
