#include "diff/structure.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>

namespace fusec {

namespace {

constexpr Hash kEmpty = 0x243F6A8885A308D3u;

Hash scramble(Hash x) {  // the finalizer of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

Hash of_integer(int64_t n) { return static_cast<Hash>(n); }

Hash of_literal(const Literal& l) {
  if (const double* d = std::get_if<double>(&l.value)) return mix(1, std::bit_cast<Hash>(*d));
  if (const bool* b = std::get_if<bool>(&l.value)) return mix(2, *b);
  return mix(3, of_integer(std::get<int64_t>(l.value)));
}

Hash of_integers(const std::vector<int64_t>& list) {
  Hash h = mix(kEmpty, list.size());
  for (int64_t n : list) h = mix(h, of_integer(n));
  return h;
}

Hash of_text(const std::string& text) {
  Hash h = mix(kEmpty, text.size());
  for (char c : text) h = mix(h, static_cast<unsigned char>(c));
  return h;
}

// Casts and creation say the dtype of their result; that of others follows.
bool says_dtype(OpKind kind) { return info(kind).category == OpCategory::kConvert || is_creation(kind); }

}  // namespace

Hash mix(Hash a, Hash b) { return scramble(a * 0x9E3779B97F4A7C15u + scramble(b + 0x9E3779B97F4A7C15u)); }

Structure::Structure(const Graph& g, const std::vector<Hash>& symbol_labels) : graph(g), local_(g.ops.size()) {
  // Derived symbols come after those that they are derived from.
  size_t free = 0;
  for (const Symbol& s : g.symbols)
    symbols_.push_back(s.derived ? mix(mix(kEmpty, of(s.numerator)), of_integer(s.denominator)) : symbol_labels.at(free++));
  for (size_t i = 0; i < g.ops.size(); ++i) local_[OpId(i)] = of_op(OpId(i));
  index_uses();
}

// Sums, as the order of terms and factors is that of the symbols' ids.
Hash Structure::of(const Size& size) const {
  Hash h = mix(kEmpty, of_integer(size.constant()));
  for (const Size::Term& t : size.terms()) {
    Hash factors = 0;
    for (SymbolId id : t.symbols) factors += scramble(symbols_[id.index]);
    h += mix(of_integer(t.coefficient), factors);
  }
  return h;
}

Hash Structure::of(const Attrs& a) const {
  auto sizes = [&](const std::vector<Size>& list) {
    Hash h = mix(kEmpty, list.size());
    for (const Size& s : list) h = mix(h, of(s));
    return h;
  };
  Hash h = sizes(a.shape);
  for (const auto* list : {&a.starts, &a.stops, &a.low, &a.high}) h = mix(h, sizes(*list));
  for (const auto* list : {&a.dims, &a.perm, &a.steps}) h = mix(h, of_integers(*list));
  for (const Literal* l : {&a.value, &a.start, &a.step}) h = mix(h, of_literal(*l));
  for (int64_t n : {a.dim, a.correction, a.groups}) h = mix(h, of_integer(n));
  for (Hash n : {a.seed, a.stream, std::bit_cast<Hash>(a.eps), std::bit_cast<Hash>(a.p), of(a.k)}) h = mix(h, n);
  Hash bits = static_cast<Hash>(a.accumulate);
  for (bool bit : {a.keepdim, a.exclusive, a.reverse, a.descending, a.stable, a.largest, a.sorted}) bits = 2 * bits + bit;
  return mix(mix(h, bits), a.dtype ? static_cast<Hash>(*a.dtype) + 1 : 0);
}

Hash Structure::of_op(OpId id) const {
  const Op& op = graph[id];
  Hash h = mix(static_cast<Hash>(op.kind), op.in.size());
  for (const Operand& o : op.in) h = mix(h, o.is_literal() ? of_literal(*o.literal) : Hash{o.is_absent()});
  h = mix(h, of(graph.attrs(op)));
  for (ValueId v : op.out) h = mix(h, v.valid() ? (says_dtype(op.kind) ? 2 + static_cast<Hash>(graph[v].dtype) : 1) : 0);
  return h;
}

Hash Structure::type(ValueId v) const {
  Hash h = mix(static_cast<Hash>(graph[v].dtype), graph[v].shape.size());
  for (const Size& s : graph[v].shape) h = mix(h, of(s));
  return h;
}

void Structure::index_uses() {
  uses_at_.assign(graph.values.size() + 1, 0);
  outputs_at_.assign(graph.values.size() + 1, 0);
  for (const Op& op : graph.ops)
    for (const Operand& o : op.in)
      if (o.is_value()) ++uses_at_[o.value.index + 1];
  for (const Output& o : graph.outputs) ++outputs_at_[o.value.index + 1];
  for (size_t v = 0; v < graph.values.size(); ++v) {
    uses_at_[v + 1] += uses_at_[v];
    outputs_at_[v + 1] += outputs_at_[v];
  }
  uses_.resize(uses_at_.back());
  outputs_.resize(outputs_at_.back());
  std::vector<uint32_t> next(uses_at_), next_output(outputs_at_);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    for (size_t k = 0; k < op.in.size(); ++k)
      if (op.in[k].is_value()) uses_[next[op.in[k].value.index]++] = {OpId(i), static_cast<uint32_t>(k)};
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) outputs_[next_output[graph.outputs[i].value.index]++] = static_cast<uint32_t>(i);
}

Hashes from_inputs(const Structure& s, const std::vector<Hash>& input_labels) {
  const Graph& g = s.graph;
  Hashes h{IdVec<OpId, Hash>(g.ops.size()), IdVec<ValueId, Hash>(g.values.size())};
  for (size_t i = 0; i < g.inputs.size(); ++i) h.value[g.inputs[i].value] = mix(1, input_labels[i]);
  for (size_t i = 0; i < g.ops.size(); ++i) {
    const Op& op = g.ops[OpId(i)];
    Hash sum = s.local(OpId(i));
    for (const Operand& o : op.in) sum = mix(sum, o.is_value() ? h.value[o.value] : 0);
    h.op[OpId(i)] = sum;
    for (size_t r = 0; r < op.out.size(); ++r)
      if (op.out[r].valid()) h.value[op.out[r]] = mix(sum, r);
  }
  return h;
}

Hashes from_outputs(const Structure& s, const std::vector<Hash>& output_labels, const Hashes* also) {
  const Graph& g = s.graph;
  Hashes h{IdVec<OpId, Hash>(g.ops.size()), IdVec<ValueId, Hash>(g.values.size())};
  auto of_value = [&](ValueId v) {
    Hash sum = kEmpty;
    for (const Use& use : s.uses(v)) sum += mix(h.op[use.op], use.operand);
    for (uint32_t output : s.outputs(v)) sum += mix(2, output_labels[output]);
    return h.value[v] = sum;
  };
  for (size_t i = g.ops.size(); i-- > 0;) {
    const OpId id(i);
    Hash sum = also ? also->op[id] : s.local(id);
    for (ValueId v : g[id].out) sum = mix(sum, v.valid() ? of_value(v) : 0);
    h.op[id] = sum;
  }
  for (const Input& input : g.inputs) of_value(input.value);
  return h;
}

Hashes surroundings(const Structure& s, int radius) {
  const Graph& g = s.graph;
  Hashes h{IdVec<OpId, Hash>(g.ops.size()), IdVec<ValueId, Hash>(g.values.size())};
  auto around_values = [&] {
    for (size_t i = 0; i < g.values.size(); ++i) {
      const ValueId v(i);
      Hash sum = g[v].def.valid() ? mix(h.op[g[v].def], g[v].result) : s.type(v);
      for (const Use& use : s.uses(v)) sum += mix(h.op[use.op], use.operand);
      h.value[v] = mix(sum, s.outputs(v).size());
    }
  };
  for (size_t i = 0; i < g.ops.size(); ++i) h.op[OpId(i)] = s.local(OpId(i));
  around_values();
  for (int step = 1; step < radius; ++step) {
    for (size_t i = 0; i < g.ops.size(); ++i) {
      const Op& op = g.ops[OpId(i)];
      Hash sum = h.op[OpId(i)];
      for (const Operand& o : op.in) sum = mix(sum, o.is_value() ? h.value[o.value] : 0);
      for (ValueId v : op.out) sum = mix(sum, v.valid() ? h.value[v] : 0);
      h.op[OpId(i)] = sum;
    }
    around_values();
  }
  return h;
}

SymbolLabels label_symbols(const Symbols& a, const Symbols& b) {
  auto names = [](const Symbols& symbols) {
    std::set<std::string> set;
    for (const Symbol& s : symbols)
      if (!s.derived) set.insert(s.name);
    return set;
  };
  const bool by_name = names(a) == names(b);
  auto labels = [&](const Symbols& symbols) {
    std::vector<Hash> list;
    std::map<Hash, int64_t> seen;
    for (const Symbol& s : symbols) {
      if (s.derived) continue;
      const Hash promise = of_integers({s.typical, s.multiple_of, s.max});
      list.push_back(by_name ? of_text(s.name) : mix(promise, of_integer(seen[promise]++)));
    }
    return list;
  };
  return {labels(a), labels(b)};
}

}  // namespace fusec
