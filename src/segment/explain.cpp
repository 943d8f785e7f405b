#include "segment/explain.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace fusec {

std::string Explainer::why_apart(ClusterId a, ClusterId b) {
  a = clusters_.root(a);
  b = clusters_.root(b);
  auto [at, fresh] = known_.try_emplace({std::min(a.index, b.index), std::max(a.index, b.index)});
  if (!fresh) return at->second;
  const ClusterCost cost = clusters_.join(a, b);
  std::string& words = at->second;
  bool gave_up = false;
  const ClusterId via = clusters_.between(a, b, gave_up);
  if (cost.plan.refusal.rule == Rule::kGridWide) refine(a, b, words = cost.plan.refusal.words);
  if (!cost.plan.ok) {
    if (words.empty()) words = cost.plan.refusal.words;
  } else if (via.valid()) {
    const Facts& facts = clusters_.facts();
    OpId through = clusters_[via].nodes[0];
    for (OpId op : clusters_[via].nodes)
      if (facts.is_anchor(op)) through = op;
    words = "cycle: a path leaves through `" + facts.graph.name_of(through) + "` and comes back";
    const ClusterCost first = clusters_.join(a, via);
    if (!first.plan.ok) words += "; " + first.plan.refusal.words;
    else if (const ClusterCost second = clusters_.join(via, b); !second.plan.ok) words += "; " + second.plan.refusal.words;
  } else if (gave_up) {
    words = "too large a search for a cycle";
  } else if (drawn_) {
    words = "drawn at random (--partition)";
  } else {
    char text[160];
    std::snprintf(text, sizeof text, "cost: one kernel%s would take %.1f us, two take %.1f us",
                  cost.plan.parallel < 1 ? " on few multiprocessors" : "", cost.us, clusters_[a].cost.us + clusters_[b].cost.us);
    words += (words.empty() ? "" : "; ") + std::string(text);
  }
  return words;
}

// A grid-wide dependence is best told by an anchor of one side and what waits for it on the other: the largest such anchor, where the
// words at hand speak of one side only.
void Explainer::refine(ClusterId a, ClusterId b, std::string& words) {
  const Facts& facts = clusters_.facts();
  if (clusters_[a].order > clusters_[b].order) std::swap(a, b);
  std::vector<OpId> nodes = clusters_[a].nodes;
  nodes.insert(nodes.end(), clusters_[b].nodes.begin(), clusters_[b].nodes.end());
  std::map<OpId, OpId> behind;  // op → the largest anchor of a that it depends on
  OpId anchor, user;
  for (OpId op : clusters_.floating().closure(nodes)) {
    const bool here = clusters_.floating().is_node(op) && clusters_.of(op) == a;
    OpId largest;
    for (const Operand& o : facts.graph[op].in) {
      const OpId def = o.is_value() ? facts.graph[o.value].def : OpId();
      if (!def.valid()) continue;
      OpId from = facts.is_anchor(def) && clusters_.of(def) == a ? def : OpId();
      if (auto at = behind.find(def); at != behind.end() && (!from.valid() || facts.work(at->second) > facts.work(from))) from = at->second;
      if (from.valid() && (!largest.valid() || facts.work(from) > facts.work(largest))) largest = from;
    }
    if (!largest.valid()) continue;
    behind[op] = largest;
    const bool spreads =
        facts.is_anchor(op) || facts.elems(facts.result(op)) > facts.elems(facts.result(largest)) || facts.role(largest) == Role::kScatter;
    if (here || !spreads || (anchor.valid() && facts.work(largest) <= facts.work(anchor))) continue;
    anchor = largest;
    user = op;
  }
  if (anchor.valid()) words = grid_wide_words(facts, anchor, user);
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
        group.why = why_apart(kernels[group.segment].cluster, kernels[at[0]].cluster);
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
