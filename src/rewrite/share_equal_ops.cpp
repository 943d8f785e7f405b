// a = exp(x), b = exp(x), y = add(a, b)  →  a = exp(x), y = add(a, a): one of equal ops stays, at the place of the first.
// Stands after simplify, which makes ops equal that were not. The others go at once, and the log says which op stands for them.
#include <bit>
#include <type_traits>
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
      if constexpr (std::is_same_v<T, int64_t>) add(static_cast<uint64_t>(x));
      else add(x);
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

// The ops that stay, found by hash: open addressing, so that of equal ops the first is met first.
class Table {
 public:
  explicit Table(size_t ops) : hashes_(ops) {
    size_t slots = 16;
    while (slots < 2 * ops) slots *= 2;
    slots_.resize(slots);
  }
  // The first op for which `matches` holds, or, with `op` added, nothing.
  template <class Matches>
  OpId find_or_add(OpId op, uint64_t hash, Matches matches) {
    hashes_[op] = hash;
    size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot].valid(); slot = (slot + 1) & (slots_.size() - 1))
      if (hashes_[slots_[slot]] == hash && matches(slots_[slot])) return slots_[slot];
    slots_[slot] = op;
    return {};
  }

 private:
  IdVec<OpId, uint64_t> hashes_;
  std::vector<OpId> slots_;
};

class Sharing {
 public:
  Sharing(Graph graph, RewriteLog& log)
      : graph_(std::move(graph)), log_(log), table_(graph_.ops.size()), stands_(graph_.values.size()), dropped_(graph_.ops.size()) {
    for (const Op& op : graph_.ops)
      if (!op.origin.empty()) composites_.insert(op.origin);
    for (size_t i = 0; i < stands_.size(); ++i) stands_[ValueId(i)] = ValueId(i);
  }

  Graph run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) visit(OpId(i));
    if (!any_) return std::move(graph_);
    for (Output& output : graph_.outputs) output.value = stands_[output.value];
    // A kept op may have been renamed since.
    for (auto& [dropped, kept] : log_.merged)
      for (auto next = log_.merged.find(kept); next != log_.merged.end(); next = log_.merged.find(kept)) kept = next->second;
    Rebuild rebuild(std::move(graph_));
    for (size_t i = 0; i < dropped_.size(); ++i)
      if (!dropped_[OpId(i)]) rebuild.move(OpId(i));
    return rebuild.finish();
  }

 private:
  Author author(OpId id) const {
    if (!graph_[id].origin.empty()) return Author::kExpansion;
    return composites_.contains(graph_.name_of(id)) ? Author::kComposite : Author::kWritten;
  }

  bool may_merge(OpId a, OpId b) const {
    const Author x = author(a), y = author(b);
    return x == y || x == Author::kExpansion || y == Author::kExpansion;
  }

  void visit(OpId id) {
    Op& op = graph_.ops[id];
    for (Operand& operand : op.in)
      if (operand.is_value()) operand.value = stands_[operand.value];
    const OpId kept =
        table_.find_or_add(id, hash_of(graph_, op), [&](OpId other) { return equal(graph_, graph_[other], op) && may_merge(other, id); });
    if (!kept.valid()) return;
    dropped_[id] = 1;
    any_ = true;
    take_names(kept, id);
    for (size_t r = 0; r < op.out.size(); ++r) {
      if (!op.out[r].valid()) continue;
      ValueId& result = graph_.ops[kept].out[r];
      // A result that only the dropped op had moves over.
      if (!result.valid()) {
        result = op.out[r];
        graph_.values[result].def = kept;
      }
      stands_[op.out[r]] = result;
    }
  }

  // Logs that `id` is dropped, or, where `kept` has to give way, that its names are.
  void take_names(OpId kept, OpId id) {
    const bool gives_way = author(kept) == Author::kExpansion && author(id) != Author::kExpansion;
    const std::string &kept_name = graph_.name_of(kept), &name = graph_.name_of(id);
    log_.merged.insert_or_assign(gives_way ? kept_name : name, gives_way ? name : kept_name);
    if (!gives_way) return;
    graph_.ops[kept].origin.clear();
    graph_.ops[kept].at = graph_[id].at;
    for (size_t r = 0; r < graph_[id].out.size(); ++r) {
      const ValueId a = graph_[kept].out[r], b = graph_[id].out[r];
      if (!a.valid() || !b.valid()) continue;
      std::swap(graph_.values[a].name, graph_.values[b].name);
      std::swap(graph_.values[a].at, graph_.values[b].at);
    }
  }

  Graph graph_;
  RewriteLog& log_;
  Table table_;
  IdVec<ValueId, ValueId> stands_;  // the value to read instead
  IdVec<OpId, char> dropped_;
  bool any_ = false;
  std::unordered_set<std::string> composites_;  // names of ops that were expanded
};

}  // namespace

Graph share_equal_ops(Graph graph, RewriteLog& log) { return Sharing(std::move(graph), log).run(); }

}  // namespace fusec
