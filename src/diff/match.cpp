#include "diff/match.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

namespace fusec {

namespace {

// Ops by key, each handed out once, equal ones in the order of the op list.
class Pool {
 public:
  void add(Hash key, OpId op) { entries_.push_back({key, op}); }
  void seal() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& x, const Entry& y) { return x.key < y.key; });
    next_.resize(entries_.size());
    for (uint32_t i = 0; i < next_.size(); ++i) next_[i] = i;
  }
  // The next op of the key for which `free` holds.
  template <class Free>
  OpId take(Hash key, Free free) {
    const auto first = std::lower_bound(entries_.begin(), entries_.end(), key, [](const Entry& e, Hash k) { return e.key < k; });
    if (first == entries_.end() || first->key != key) return {};
    uint32_t& at = next_[static_cast<size_t>(first - entries_.begin())];
    while (at < entries_.size() && entries_[at].key == key) {
      const OpId op = entries_[at++].op;
      if (free(op)) return op;
    }
    return {};
  }

 private:
  struct Entry {
    Hash key;
    OpId op;
  };
  std::vector<Entry> entries_;
  std::vector<uint32_t> next_;  // of the first entry of a key: where to go on
};

// How alike two ops have to be before a neighbour's word is enough.
enum class Alike : uint8_t { kSaying, kKind, kPlace };

class Matcher {
 public:
  Matcher(const Graph& a, const Graph& b, const SymbolLabels& symbols) : a_(a, symbols.a), b_(b, symbols.b) {
    m_.to_b.resize(a.ops.size());
    m_.to_a.resize(b.ops.size());
    for (size_t i = 0; i < b.ops.size(); ++i) named_b_.emplace(b.name_of(OpId(i)), OpId(i));
  }

  Matching run() {
    m_.interface = pair_interfaces(a_, b_);
    const Labels in = labels_of(m_.interface.inputs), out = labels_of(m_.interface.outputs);
    m_.computed_a = from_inputs(a_, in.a);
    m_.computed_b = from_inputs(b_, in.b);
    const Hashes used_a = from_outputs(a_, out.a), used_b = from_outputs(b_, out.b);
    const Keys both{combined(m_.computed_a.op, used_a.op), combined(m_.computed_b.op, used_b.op)};
    const Keys computed{m_.computed_a.op, m_.computed_b.op}, used{used_a.op, used_b.op}, local{locals(a_), locals(b_)};
    // Equal through and through, then equal from one side: what stands before all changes, and what stands after them.
    for (const Keys* keys : {&both, &computed}) {
      forward(*keys, true);
      forward(*keys, false);
    }
    backward(used, true);
    backward(used, false);
    pair_inputs_by_use();
    // Between changes the neighbours decide, at first those on all sides.
    walk(Alike::kSaying, local);
    by_name();
    walk(Alike::kKind, local);
    walk(Alike::kPlace, local);
    pair_inputs_by_use();
    m_.says_a = local.a;
    m_.says_b = local.b;
    const Labels settled = labels_of(m_.interface.inputs);
    m_.computed_a = from_inputs(a_, settled.a);
    m_.computed_b = from_inputs(b_, settled.b);
    return std::move(m_);
  }

 private:
  struct Keys {
    IdVec<OpId, Hash> a, b;
  };

  static IdVec<OpId, Hash> combined(const IdVec<OpId, Hash>& x, const IdVec<OpId, Hash>& y) {
    IdVec<OpId, Hash> sum(x.size());
    for (size_t i = 0; i < x.size(); ++i) sum[OpId(i)] = mix(x[OpId(i)], y[OpId(i)]);
    return sum;
  }
  static IdVec<OpId, Hash> locals(const Structure& s) {
    IdVec<OpId, Hash> h(s.graph.ops.size());
    for (size_t i = 0; i < h.size(); ++i) h[OpId(i)] = s.local(OpId(i));
    return h;
  }

  const Graph& ga() const { return a_.graph; }
  const Graph& gb() const { return b_.graph; }
  bool free_a(OpId a) const { return !m_.to_b[a].valid(); }
  bool free_b(OpId b) const { return !m_.to_a[b].valid(); }
  void pair(OpId a, OpId b) {
    m_.to_b[a] = b;
    m_.to_a[b] = a;
    fresh_.push_back(a);
  }

  // The value of B that stands for a value of A; invalid when there is none.
  ValueId partner(ValueId v) const {
    const Value& value = ga()[v];
    if (!value.def.valid()) {
      const uint32_t b = m_.interface.inputs.to_b[input_of(a_, inputs_a_, v)];
      return b == kNoPartner ? ValueId{} : gb().inputs[b].value;
    }
    const OpId b = m_.to_b[value.def];
    return b.valid() && value.result < gb()[b].out.size() ? gb()[b].out[value.result] : ValueId{};
  }

  static uint32_t input_of(const Structure& s, IdVec<ValueId, uint32_t>& places, ValueId v) {
    if (places.empty()) {
      places.resize(s.graph.values.size());
      for (uint32_t i = 0; i < s.graph.inputs.size(); ++i) places[s.graph.inputs[i].value] = i;
    }
    return places[v];
  }

  // The op itself and what it reads, in terms of B. Nothing for an op of A that reads what has no partner.
  std::optional<Hash> operand_key(const Graph& g, OpId id, Hash own) const {
    Hash key = own;
    for (const Operand& o : g[id].in) {
      if (!o.is_value()) continue;
      const ValueId v = &g == &ga() ? partner(o.value) : o.value;
      if (!v.valid()) return std::nullopt;
      key = mix(key, v.index);
    }
    return key;
  }

  // The same of who reads it.
  std::optional<Hash> user_key(const Structure& s, OpId id, Hash own) const {
    const bool is_a = &s == &a_;
    Hash key = own;
    for (ValueId v : s.graph[id].out) {
      Hash sum = 0;
      if (v.valid()) {
        for (const Use& use : s.uses(v)) {
          const OpId user = is_a ? m_.to_b[use.op] : use.op;
          if (!user.valid()) return std::nullopt;
          sum += mix(user.index, use.operand);
        }
        for (uint32_t output : s.outputs(v)) {
          const uint32_t o = is_a ? m_.interface.outputs.to_b[output] : output;
          if (o == kNoPartner) return std::nullopt;
          sum += mix(o, 1u << 31);
        }
      }
      key = mix(key, sum);
    }
    return key;
  }

  // Pairs ops of equal keys, of several the one of the same name first. `key_of`: for an op of A or B, or nothing.
  template <class KeyA, class KeyB>
  size_t pair_equal(bool reverse, KeyA key_a, KeyB key_b) {
    Pool pool;
    std::vector<std::optional<Hash>> keys(gb().ops.size());
    for (size_t i = 0; i < gb().ops.size(); ++i) {
      const OpId b(reverse ? gb().ops.size() - 1 - i : i);
      if (!free_b(b)) continue;
      if ((keys[b.index] = key_b(b))) pool.add(*keys[b.index], b);
    }
    pool.seal();
    size_t pairs = 0;
    for (size_t i = 0; i < ga().ops.size(); ++i) {
      const OpId a(reverse ? ga().ops.size() - 1 - i : i);
      if (!free_a(a)) continue;
      const std::optional<Hash> key = key_a(a);
      if (!key) continue;
      const auto named = named_b_.find(ga().name_of(a));
      OpId b;
      if (named != named_b_.end() && free_b(named->second) && keys[named->second.index] == key) b = named->second;
      else b = pool.take(*key, [&](OpId op) { return free_b(op); });
      if (!b.valid()) continue;
      pair(a, b);
      ++pairs;
    }
    return pairs;
  }

  // In an order in which operands come first.
  size_t forward(const Keys& keys, bool with_operands) {
    if (!with_operands)
      return pair_equal(false, [&](OpId a) { return std::optional(keys.a[a]); }, [&](OpId b) { return std::optional(keys.b[b]); });
    return pair_equal(
        false, [&](OpId a) { return operand_key(ga(), a, keys.a[a]); }, [&](OpId b) { return operand_key(gb(), b, keys.b[b]); });
  }
  // In an order in which users come first.
  size_t backward(const Keys& keys, bool with_users) {
    if (!with_users)
      return pair_equal(true, [&](OpId a) { return std::optional(keys.a[a]); }, [&](OpId b) { return std::optional(keys.b[b]); });
    return pair_equal(true, [&](OpId a) { return user_key(a_, a, keys.a[a]); }, [&](OpId b) { return user_key(b_, b, keys.b[b]); });
  }

  // From matched ops to their neighbours, and on from there, until nothing is left that is alike.
  void walk(Alike alike, const Keys& local) {
    if (alike == Alike::kSaying)
      for (int round = 0; round < 4 && forward(local, true) + backward(local, true) > 0; ++round) {
      }
    fresh_.clear();
    for (size_t i = 0; i < ga().ops.size(); ++i)
      if (!free_a(OpId(i))) fresh_.push_back(OpId(i));
    start_from_interface(alike);
    while (!fresh_.empty()) {
      const OpId a = fresh_.front(), b = m_.to_b[a];
      fresh_.pop_front();
      const Op &oa = ga()[a], &ob = gb()[b];
      for (size_t i = 0; i < std::min(oa.in.size(), ob.in.size()); ++i)
        if (oa.in[i].is_value() && ob.in[i].is_value()) {
          const OpId da = ga()[oa.in[i].value].def, db = gb()[ob.in[i].value].def;
          if (da.valid() && db.valid() && ga()[oa.in[i].value].result == gb()[ob.in[i].value].result) offer(da, db, alike);
        }
      for (size_t r = 0; r < std::min(oa.out.size(), ob.out.size()); ++r)
        if (oa.out[r].valid() && ob.out[r].valid()) pair_users(oa.out[r], ob.out[r], alike);
    }
  }

  void start_from_interface(Alike alike) {
    const Pairing &in = m_.interface.inputs, &out = m_.interface.outputs;
    for (size_t i = 0; i < in.to_b.size(); ++i)
      if (in.to_b[i] != kNoPartner) pair_users(ga().inputs[i].value, gb().inputs[in.to_b[i]].value, alike);
    for (size_t i = 0; i < out.to_b.size(); ++i) {
      if (out.to_b[i] == kNoPartner) continue;
      const OpId a = ga()[ga().outputs[i].value].def, b = gb()[gb().outputs[out.to_b[i]].value].def;
      if (a.valid() && b.valid()) offer(a, b, alike);
    }
  }

  // Users of two values that are the same, at the same operand: in the order of the op lists, those that say the same first.
  void pair_users(ValueId va, ValueId vb, Alike alike) {
    Pool pool;
    auto key = [&](const Structure& s, const Use& use, bool saying) {
      const Hash own = saying ? s.local(use.op) : alike == Alike::kKind ? static_cast<Hash>(s.graph[use.op].kind) : 0;
      return mix(mix(own, use.operand), saying);
    };
    bool any = false;
    for (const Use& use : b_.uses(vb)) {
      if (!free_b(use.op)) continue;
      any = true;
      pool.add(key(b_, use, true), use.op);
      if (alike != Alike::kSaying) pool.add(key(b_, use, false), use.op);
    }
    if (!any) return;
    pool.seal();
    for (bool saying : {true, false})
      for (const Use& use : a_.uses(va)) {
        if ((!saying && alike == Alike::kSaying) || !free_a(use.op)) continue;
        const OpId b = pool.take(key(a_, use, saying), [&](OpId op) { return free_b(op); });
        if (b.valid()) offer(use.op, b, alike);
      }
  }

  void offer(OpId a, OpId b, Alike alike) {
    if (!free_a(a) || !free_b(b)) return;
    const bool accepted = alike == Alike::kSaying ? a_.local(a) == b_.local(b)
                          : alike == Alike::kKind ? ga()[a].kind == gb()[b].kind
                                                  : in_one_place(a, b);
    if (accepted) pair(a, b);
  }

  // Ops of different kinds are one op that was changed where they read something in common, and something in common reads them or nothing
  // does.
  bool in_one_place(OpId a, OpId b) const {
    const Op &oa = ga()[a], &ob = gb()[b];
    if (oa.out.size() != ob.out.size()) return false;
    bool reads = false, creates = true;
    for (size_t i = 0; i < oa.in.size(); ++i) {
      creates = creates && !oa.in[i].is_value();
      if (!oa.in[i].is_value()) continue;
      const ValueId v = partner(oa.in[i].value);
      reads = reads || (v.valid() && std::any_of(ob.in.begin(), ob.in.end(), [&](const Operand& o) { return o.value == v; }));
    }
    if (!reads && !(creates && std::none_of(ob.in.begin(), ob.in.end(), [](const Operand& o) { return o.is_value(); }))) return false;
    bool read = false;
    for (size_t r = 0; r < oa.out.size(); ++r) {
      read = read || is_read(a_, oa.out[r]) || is_read(b_, ob.out[r]);
      if (!oa.out[r].valid() || !ob.out[r].valid()) continue;
      for (const Use& use : a_.uses(oa.out[r])) {
        const OpId user = m_.to_b[use.op];
        if (user.valid() && use.operand < gb()[user].in.size() && gb()[user].in[use.operand].value == ob.out[r]) return true;
      }
      for (uint32_t output : a_.outputs(oa.out[r])) {
        const uint32_t o = m_.interface.outputs.to_b[output];
        if (o != kNoPartner && gb().outputs[o].value == ob.out[r]) return true;
      }
    }
    return !read && reads;
  }

  static bool is_read(const Structure& s, ValueId v) { return v.valid() && (!s.uses(v).empty() || !s.outputs(v).empty()); }

  // Names come last, as they may have been dealt out anew.
  void by_name() {
    for (size_t i = 0; i < ga().ops.size(); ++i) {
      const OpId a(i);
      if (!free_a(a)) continue;
      const auto at = named_b_.find(ga().name_of(a));
      if (at != named_b_.end() && free_b(at->second) && ga()[a].kind == gb()[at->second].kind) pair(a, at->second);
    }
  }

  // Inputs that stand at the same operand of partners.
  void pair_inputs_by_use() {
    Pairing& in = m_.interface.inputs;
    if (std::find(in.to_b.begin(), in.to_b.end(), kNoPartner) == in.to_b.end()) return;
    for (uint32_t i = 0; i < in.to_b.size(); ++i) {
      if (in.to_b[i] != kNoPartner) continue;
      for (const Use& use : a_.uses(ga().inputs[i].value)) {
        const OpId user = m_.to_b[use.op];
        if (!user.valid() || use.operand >= gb()[user].in.size() || !gb()[user].in[use.operand].is_value()) continue;
        const ValueId v = gb()[user].in[use.operand].value;
        if (!gb()[v].def.valid() && in.add(i, input_of(b_, inputs_b_, v))) break;
      }
    }
    for (uint32_t i = 0; i < in.to_b.size(); ++i)
      for (uint32_t output : a_.outputs(ga().inputs[i].value)) {
        const uint32_t o = in.to_b[i] == kNoPartner ? m_.interface.outputs.to_b[output] : kNoPartner;
        if (o != kNoPartner && !gb()[gb().outputs[o].value].def.valid()) in.add(i, input_of(b_, inputs_b_, gb().outputs[o].value));
      }
    // Nothing tells inputs apart that nothing reads.
    uint32_t b = 0;
    for (uint32_t a = 0; a < in.to_b.size(); ++a) {
      if (in.to_b[a] != kNoPartner || !unused(a_, a)) continue;
      while (b < in.to_a.size() && (in.to_a[b] != kNoPartner || !unused(b_, b))) ++b;
      if (b == in.to_a.size()) break;
      in.add(a, b);
    }
  }

  static bool unused(const Structure& s, uint32_t input) {
    const ValueId v = s.graph.inputs[input].value;
    return s.uses(v).empty() && s.outputs(v).empty();
  }

  const Structure a_, b_;
  Matching m_;
  std::unordered_map<std::string, OpId> named_b_;
  std::deque<OpId> fresh_;  // pairs whose neighbours have not been looked at
  mutable IdVec<ValueId, uint32_t> inputs_a_, inputs_b_;
};

}  // namespace

bool Matching::same(const Graph& a, ValueId va, const Graph& b, ValueId vb) const {
  if (computed_a.value[va] == computed_b.value[vb]) return true;
  const OpId def = a[va].def;
  return def.valid() && to_b[def].valid() && to_b[def] == b[vb].def && a[va].result == b[vb].result;
}

Matching match(const Graph& a, const Graph& b) { return Matcher(a, b, label_symbols(a.symbols, b.symbols)).run(); }

}  // namespace fusec
