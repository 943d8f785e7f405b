#include "segment/cast_groups.h"

#include <algorithm>

#include "segment/segment.h"

namespace fusec {

namespace {

// A cast to a float type of more bytes: from a narrower float, a mask or a small integer.
bool is_up_cast(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kCast || !op.in[0].is_value()) return false;
  const DType to = graph[op.out[0]].dtype;
  return is_float(to) && bytes_of(graph[op.in[0].value].dtype) < bytes_of(to);
}

class GroupFinder {
 public:
  explicit GroupFinder(const Facts& facts)
      : facts_(facts),
        graph_(facts.graph),
        base_(graph_.values.size()),
        mask_(graph_.values.size()),
        group_(graph_.ops.size()),
        member_(graph_.ops.size()) {}

  std::vector<CastGroup> find() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) group_[OpId(i)] = OpId(i);
    for (OpId op : facts_.ordered()) widen(op);
    for (OpId op : facts_.ordered())
      for (ValueId v : graph_[op].out)
        if (v.valid() && (base_[v] || mask_[v])) connect(op, v);
    take_side_producers();
    return collect();
  }

 private:
  // Which results are wide: of more bytes than the values that they come from by way of up-casts (an up-cast of something wide keeps its
  // base).
  void widen(OpId id) {
    const Op& op = graph_[id];
    uint8_t base = 0;
    for (const Operand& o : op.in)
      if (o.is_value()) base = std::max(base, base_[o.value]);
    if (!base && is_up_cast(graph_, op)) base = static_cast<uint8_t>(bytes_of(graph_[op.in[0].value].dtype));
    if (!base) return;
    for (ValueId v : op.out) {
      if (!v.valid()) continue;
      const DType t = graph_[v].dtype;
      if (is_float(t) && bytes_of(t) > base) base_[v] = base;
      mask_[v] = t == DType::kBool;
    }
  }

  static bool may_join(Role role) { return role != Role::kLibrary; }

  void connect(OpId def, ValueId v) {
    if (!may_join(facts_.role(def))) return;
    for (OpId user : facts_.users(v)) {
      if (!may_join(facts_.role(user))) continue;
      member_[def] = member_[user] = 1;
      const OpId a = root(def), b = root(user);
      if (a != b) group_[facts_.rank(a) < facts_.rank(b) ? b : a] = facts_.rank(a) < facts_.rank(b) ? a : b;
    }
  }

  OpId root(OpId op) {
    while (group_[op] != op) op = group_[op] = group_[group_[op]];
    return op;
  }

  // Ops of a wide type, or constants, that only one group reads: its side inputs are computed inside.
  void take_side_producers() {
    for (size_t n = facts_.ordered().size(); n-- > 0;) {
      const OpId id = facts_.ordered()[n];
      const Role role = facts_.role(id);
      if (member_[id] || role > Role::kGather) continue;
      const ValueId v = facts_.result(id);
      const auto users = facts_.users(v);
      if (facts_.is_output(v) || users.empty() || !member_[users[0]] || bytes_of(graph_[v].dtype) < 4 || !is_float(graph_[v].dtype))
        continue;
      const OpId home = root(users[0]);
      if (!std::all_of(users.begin(), users.end(), [&](OpId u) { return member_[u] && root(u) == home; })) continue;
      member_[id] = 1;
      group_[id] = home;
    }
  }

  std::vector<CastGroup> collect() {
    std::vector<CastGroup> groups;
    IdVec<OpId, uint32_t> place(graph_.ops.size(), UINT32_MAX);
    for (OpId id : facts_.ordered()) {
      if (!member_[id]) continue;
      uint32_t& p = place[root(id)];
      if (p == UINT32_MAX) {
        p = static_cast<uint32_t>(groups.size());
        groups.push_back({});
      }
      groups[p].ops.push_back(id);
    }
    return groups;
  }

  const Facts& facts_;
  const Graph& graph_;
  IdVec<ValueId, uint8_t> base_, mask_;
  IdVec<OpId, OpId> group_;
  IdVec<OpId, uint8_t> member_;
};

}  // namespace

std::vector<CastGroup> find_cast_groups(const Facts& facts) { return GroupFinder(facts).find(); }

std::vector<CastGroup> find_cast_groups(const Graph& graph) { return find_cast_groups(Facts(graph)); }

IdVec<ValueId, uint8_t> narrower_sources(const Facts& facts) {
  const Graph& graph = facts.graph;
  IdVec<ValueId, uint8_t> source(graph.values.size());
  for (OpId id : facts.ordered()) {
    if (facts.role(id) > Role::kGather) continue;
    const Op& op = graph[id];
    const ValueId v = facts.result(id);
    int widest = 0;
    for (const Operand& o : op.in) {
      if (!o.is_value() || facts.elems(o.value) < facts.elems(v) / 64) continue;
      const int own = bytes_of(graph[o.value].dtype);
      widest = std::max(widest, source[o.value] ? source[o.value] : own);
    }
    if (widest > 0 && widest < bytes_of(graph[v].dtype)) source[v] = static_cast<uint8_t>(widest);
  }
  return source;
}

}  // namespace fusec
