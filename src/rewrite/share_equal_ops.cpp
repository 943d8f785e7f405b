// a = exp(x), b = exp(x), y = add(a, b)  →  a = exp(x), y = add(a, a): one of equal ops stays, at the place of the first.
// Stands after simplify, which makes ops equal that were not. The others go at once, and the log says which op stands for them.
#include <bit>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "rewrite/rebuild.h"
#include "rewrite/rewrite.h"

namespace fusec {

namespace {

// Who an op is in the user's eyes. What an expansion made gives way to ops as written, which keep their names; the op that keeps a
// composite's name is merged with such an op only, so that each written op stays known.
enum class Author : uint8_t { kExpansion, kWritten, kComposite };

class Hash {
 public:
  void add(uint64_t x) { state_ = (state_ ^ x) * 0x9E3779B97F4A7C15u, state_ ^= state_ >> 29; }
  void add(const Size& s) {
    add(static_cast<uint64_t>(s.constant()));
    for (const Size::Term& t : s.terms()) {
      add(static_cast<uint64_t>(t.coefficient));
      for (SymbolId id : t.symbols) add(id.index);
    }
  }
  void add(const Literal& l) {
    add(l.value.index());
    if (const double* d = std::get_if<double>(&l.value)) {
      add(std::bit_cast<uint64_t>(*d));
    } else {
      add(static_cast<uint64_t>(std::holds_alternative<bool>(l.value) ? std::get<bool>(l.value) : std::get<int64_t>(l.value)));
    }
  }
  template <class T>
  void add_all(const std::vector<T>& list) {
    add(list.size());
    for (const T& x : list)
      if constexpr (std::is_same_v<T, int64_t>)
        add(static_cast<uint64_t>(x));
      else
        add(x);
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0x243F6A8885A308D3u;
};

// The fields that tell ops apart in practice; equality decides.
void add_attributes(Hash& h, const Attrs& a) {
  h.add_all(a.shape);
  h.add_all(a.dims);
  h.add_all(a.perm);
  h.add(static_cast<uint64_t>(a.dim));
  for (const auto* list : {&a.starts, &a.stops, &a.low, &a.high}) h.add_all(*list);
  h.add_all(a.steps);
  for (const Literal* l : {&a.value, &a.start, &a.step}) h.add(*l);
  h.add(a.seed);
  h.add(a.stream);
}

uint64_t hash_of(const Graph& graph, const Op& op) {
  Hash h;
  h.add(static_cast<uint64_t>(op.kind));
  for (const Operand& operand : op.in) {
    h.add(operand.value.index);
    if (operand.is_literal()) h.add(*operand.literal);
  }
  if (op.attrs.valid()) add_attributes(h, graph.attributes[op.attrs]);
  return h.value();
}

// Results of one op kind differ in dtype only where an attribute says so (cast, creation).
DType result_dtype(const Graph& graph, const Op& op) {
  for (ValueId v : op.out)
    if (v.valid()) return graph[v].dtype;
  return DType::kBool;
}

bool decides_dtype(OpKind kind) { return info(kind).category == OpCategory::kConvert || is_creation(kind); }

bool equal(const Graph& graph, const Op& a, const Op& b) {
  return a.kind == b.kind && a.in == b.in && (!decides_dtype(a.kind) || result_dtype(graph, a) == result_dtype(graph, b)) &&
         graph.attrs(a) == graph.attrs(b);
}

class Sharing {
 public:
  Sharing(const Graph& graph, RewriteLog& log) : rebuild_(graph), to_(rebuild_.to), log_(log) {
    for (const Op& op : graph.ops)
      if (!op.origin.empty()) composites_.insert(op.origin);
  }

  Graph run() {
    for (size_t i = 0; i < rebuild_.from.ops.size(); ++i) add(OpId(i));
    for (auto& [dropped, kept] : log_.merged) kept = log_.standing_for(kept);
    return rebuild_.finish();
  }

 private:
  Author author(OpId id) const {
    if (!to_[id].origin.empty()) return Author::kExpansion;
    return composites_.contains(to_.name_of(id)) ? Author::kComposite : Author::kWritten;
  }

  bool may_merge(OpId a, OpId b) const {
    const Author x = author(a), y = author(b);
    return x == y || x == Author::kExpansion || y == Author::kExpansion;
  }

  void add(OpId old) {
    const size_t values = to_.values.size(), attributes = to_.attributes.size();
    const OpId made = rebuild_.copy(old);
    const uint64_t hash = hash_of(to_, to_[made]);
    OpId kept;
    const auto [begin, end] = seen_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (equal(to_, to_[it->second], to_[made]) && may_merge(it->second, made) && !(kept < it->second)) kept = it->second;
    if (!kept.valid()) {
      seen_.emplace(hash, made);
      return;
    }
    take_names(kept, made);
    // The copy goes; results that only it had are the kept op's now.
    std::vector<Value> results;
    for (ValueId v : to_[made].out) results.push_back(v.valid() ? to_[v] : Value());
    to_.ops.resize(made.index);
    to_.values.resize(values);
    to_.attributes.resize(attributes);
    for (size_t r = 0; r < results.size(); ++r) {
      const ValueId written = rebuild_.from[old].out[r];
      if (!written.valid()) continue;
      ValueId& result = to_.ops[kept].out[r];
      if (!result.valid()) {
        results[r].def = kept;
        result = to_.values.push(std::move(results[r]));
      }
      rebuild_.map(written, result);
    }
  }

  // Logs that `made` is dropped, or, where `kept` has to give way, that its names are.
  void take_names(OpId kept, OpId made) {
    const bool gives_way = author(kept) == Author::kExpansion && author(made) != Author::kExpansion;
    const std::string kept_name = to_.name_of(kept), made_name = to_.name_of(made);
    log_.merged.insert_or_assign(gives_way ? kept_name : made_name, gives_way ? made_name : kept_name);
    if (!gives_way) return;
    Op& op = to_.ops[kept];
    op.origin.clear();
    op.at = to_[made].at;
    for (size_t r = 0; r < op.out.size(); ++r)
      if (op.out[r].valid() && to_[made].out[r].valid()) {
        to_.values[op.out[r]].name = to_[to_[made].out[r]].name;
        to_.values[op.out[r]].at = to_[to_[made].out[r]].at;
      }
  }

  Rebuild rebuild_;
  Graph& to_;
  RewriteLog& log_;
  std::unordered_set<std::string> composites_;  // names of ops that were expanded
  std::unordered_multimap<uint64_t, OpId> seen_;
};

}  // namespace

Graph share_equal_ops(const Graph& graph, RewriteLog& log) { return Sharing(graph, log).run(); }

}  // namespace fusec
