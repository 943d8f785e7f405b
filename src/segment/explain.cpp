#include "segment/explain.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace fusec {

const Refusal& Explainer::why_apart(ClusterId a, ClusterId b) {
  a = clusters_.root(a);
  b = clusters_.root(b);
  auto [at, fresh] = known_.try_emplace({std::min(a.index, b.index), std::max(a.index, b.index)});
  if (!fresh) return at->second;
  const ClusterCost cost = clusters_.join(a, b);
  Refusal& reason = at->second;
  bool gave_up = false;
  const ClusterId via = clusters_.between(a, b, gave_up);
  if (cost.plan.refusal.rule == Rule::kGridWide) {
    reason = cost.plan.refusal;
    if (const std::string better = grid_wide(a, b, {}); !better.empty()) reason.words = better;
  }
  if (!cost.plan.ok) {
    if (reason.words.empty()) reason = cost.plan.refusal;
  } else if (via.valid()) {
    const Facts& facts = clusters_.facts();
    OpId through = clusters_[via].nodes[0];
    for (OpId op : clusters_[via].nodes)
      if (facts.is_anchor(op)) through = op;
    reason = {Rule::kCycle, "cycle: a path leaves through `" + facts.graph.name_of(through) + "` and comes back"};
    const ClusterCost first = clusters_.join(a, via);
    if (!first.plan.ok) reason.words += "; " + first.plan.refusal.words;
    else if (const ClusterCost second = clusters_.join(via, b); !second.plan.ok) reason.words += "; " + second.plan.refusal.words;
  } else if (gave_up) {
    reason = {Rule::kCycle, "too large a search for a cycle"};
  } else if (drawn_) {
    reason = {Rule::kDrawn, "drawn at random (--partition)"};
  } else {
    char text[160];
    std::snprintf(text, sizeof text, "cost: one kernel%s would take %.1f us, two take %.1f us",
                  cost.plan.parallel < 1 ? " on few multiprocessors" : "", cost.us, clusters_[a].cost.us + clusters_[b].cost.us);
    if (reason.rule == Rule::kNone) reason.rule = Rule::kCost;
    reason.words += (reason.words.empty() ? "" : "; ") + std::string(text);
  }
  return reason;
}

Refusal Explainer::why_crosses(ValueId v, ClusterId from, ClusterId to) {
  Refusal reason = why_apart(from, to);
  if (reason.rule != Rule::kGridWide) return reason;
  const std::string own = grid_wide(clusters_.root(from), clusters_.root(to), v);
  if (own.empty()) return reason;
  // What it costs to wait in one block, where that is possible, stays said.
  const size_t cost = reason.words.find("; cost:");
  reason.words = own + (cost == std::string::npos ? "" : reason.words.substr(cost));
  return reason;
}

// A grid-wide dependence is best told by an anchor of one side and what waits for it on the other: the largest such anchor, where the
// words of a refusal may speak of one side only. `through`: only what waits by way of this value. "" when there is none.
std::string Explainer::grid_wide(ClusterId a, ClusterId b, ValueId through) {
  const Facts& facts = clusters_.facts();
  if (clusters_[a].order > clusters_[b].order) std::swap(a, b);
  std::vector<OpId> nodes = clusters_[a].nodes;
  nodes.insert(nodes.end(), clusters_[b].nodes.begin(), clusters_[b].nodes.end());
  // Op → the largest anchor of a that it depends on, at all and by way of `through`.
  std::map<OpId, OpId> behind, behind_through;
  auto take = [&](OpId& largest, OpId from) {
    if (from.valid() && (!largest.valid() || facts.work(from) > facts.work(largest))) largest = from;
  };
  auto look_up = [](const std::map<OpId, OpId>& map, OpId op) {
    const auto at = map.find(op);
    return at == map.end() ? OpId() : at->second;
  };
  OpId anchor, user;
  for (OpId op : clusters_.floating().closure(nodes)) {
    OpId largest, by_way;
    for (const Operand& o : facts.graph[op].in) {
      const OpId def = o.is_value() ? facts.graph[o.value].def : OpId();
      if (!def.valid()) continue;
      OpId from = facts.is_anchor(def) && clusters_.of(def) == a ? def : OpId();
      take(from, look_up(behind, def));
      take(largest, from);
      take(by_way, o.value == through ? from : look_up(behind_through, def));
    }
    if (largest.valid()) behind[op] = largest;
    if (by_way.valid()) behind_through[op] = by_way;
    const OpId waits_for = through.valid() ? by_way : largest;
    const bool here = clusters_.floating().is_node(op) && clusters_.of(op) == a;
    if (here || !waits_for.valid() || (anchor.valid() && facts.work(waits_for) <= facts.work(anchor))) continue;
    const bool spreads = facts.is_anchor(op) || facts.elems(facts.result(op)) > facts.elems(facts.result(waits_for)) ||
                         facts.role(waits_for) == Role::kScatter;
    if (!spreads) continue;
    anchor = waits_for;
    user = op;
  }
  return anchor.valid() ? grid_wide_words(facts, anchor, user) : "";
}

// The members that are no anchors, connected through float values.
std::vector<CastGroup> Explainer::parts_without_anchors(const CastGroup& group) {
  const Facts& facts = clusters_.facts();
  const Graph& graph = facts.graph;
  std::map<OpId, OpId> parent;
  for (OpId op : group.ops)
    if (!facts.is_anchor(op)) parent[op] = op;
  auto root = [&](OpId op) {
    while (parent[op] != op) op = parent[op] = parent[parent[op]];
    return op;
  };
  for (OpId op : group.ops) {
    if (!parent.contains(op)) continue;
    for (const Operand& o : graph[op].in) {
      const OpId def = o.is_value() ? graph[o.value].def : OpId();
      if (!def.valid() || !parent.contains(def) || !is_float(graph[o.value].dtype)) continue;
      // A narrow result ends a part, unless the group has it inside (nested widths keep their base).
      parent[root(op)] = root(def);
    }
  }
  std::map<OpId, CastGroup> parts;
  std::vector<CastGroup> result;
  for (OpId op : group.ops)
    if (parent.contains(op)) parts[root(op)].ops.push_back(op);
  for (auto& [first, part] : parts)
    if (part.ops.size() > 1) result.push_back(std::move(part));
  std::sort(result.begin(), result.end(),
            [&](const CastGroup& a, const CastGroup& b) { return facts.rank(a.ops[0]) < facts.rank(b.ops[0]); });
  return result;
}

std::vector<CastGroup> Explainer::settle_groups(const std::vector<CastGroup>& groups, const std::vector<Segment>& segments,
                                                const std::vector<PlannedKernel>& kernels) {
  IdVec<OpId, std::vector<uint32_t>> segments_of(clusters_.facts().graph.ops.size());
  for (uint32_t s = 0; s < segments.size(); ++s) {
    for (OpId op : segments[s].ops) segments_of[op].push_back(s);
    for (OpId op : segments[s].recomputed) segments_of[op].push_back(s);
  }
  // The segment that holds all of the ops; else nothing.
  auto home_of = [&](const std::vector<OpId>& ops) -> std::optional<uint32_t> {
    const std::vector<uint32_t>* fewest = &segments_of[ops[0]];
    for (OpId op : ops)
      if (segments_of[op].size() < fewest->size()) fewest = &segments_of[op];
    for (uint32_t s : *fewest)
      if (std::all_of(ops.begin(), ops.end(),
                      [&](OpId op) { return std::binary_search(segments_of[op].begin(), segments_of[op].end(), s); }))
        return s;
    return std::nullopt;
  };
  std::vector<CastGroup> settled;
  auto settle = [&](CastGroup group) {
    if (const auto home = home_of(group.ops)) {
      group.segment = *home;
    } else {
      group.segment = segments_of[group.ops[0]].empty() ? 0 : segments_of[group.ops[0]][0];
      group.whole = false;
      for (OpId op : group.ops) {
        const auto& at = segments_of[op];
        if (at.empty() || std::binary_search(at.begin(), at.end(), group.segment)) continue;
        const Refusal& reason = why_apart(kernels[group.segment].cluster, kernels[at[0]].cluster);
        group.rule = name_of(reason.rule);
        group.why = reason.words;
        break;
      }
    }
    settled.push_back(std::move(group));
  };
  for (const CastGroup& group : groups) {
    if (home_of(group.ops)) settle(group);
    else
      for (CastGroup& part : parts_without_anchors(group)) settle(std::move(part));
  }
  return settled;
}

}  // namespace fusec
