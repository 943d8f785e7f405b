#include "segment/bind_together.h"

#include <algorithm>

namespace fusec {

namespace {

// The nodes of `members` and those between them, in rank order. Whole clusters: another set may have bound some already.
std::vector<OpId> hull_of(Clusters& clusters, const std::vector<OpId>& members) {
  const Facts& facts = clusters.facts();
  IdVec<OpId, uint8_t> after(facts.graph.ops.size()), before(facts.graph.ops.size());
  auto mark = [&](IdVec<OpId, uint8_t>& marks) {
    for (OpId member : members)
      if (clusters.floating().is_node(member))
        for (OpId node : clusters[clusters.of(member)].nodes) marks[node] = 1;
  };
  mark(after);
  mark(before);
  for (OpId op : facts.ordered())
    for (const Operand& o : facts.graph[op].in)
      if (o.is_value() && facts.graph[o.value].def.valid()) after[op] |= after[facts.graph[o.value].def];
  for (size_t n = facts.ordered().size(); n-- > 0;) {
    const OpId op = facts.ordered()[n];
    if (!before[op]) continue;
    for (const Operand& o : facts.graph[op].in)
      if (o.is_value() && facts.graph[o.value].def.valid()) before[facts.graph[o.value].def] = 1;
  }
  std::vector<OpId> hull;
  for (OpId op : facts.ordered())
    if (after[op] && before[op] && clusters.floating().is_node(op)) hull.push_back(op);
  return hull;
}

}  // namespace

ForcedSegmentation::Answer bind_together(Clusters& clusters, const std::vector<OpId>& members) {
  ForcedSegmentation::Answer answer;
  std::vector<OpId> hull = hull_of(clusters, members);
  for (OpId op : hull)
    if (std::find(members.begin(), members.end(), op) == members.end()) answer.between.push_back(op);
  if (hull.empty()) return answer;
  const Plan plan = clusters.cost_of(hull).plan;
  if (!plan.ok) {
    answer = {false, name_of(plan.refusal.rule), plan.refusal.words, std::move(answer.between)};
    return answer;
  }
  // In rank order every prefix is convex, so no merge closes a cycle; what a prefix alone would be refused for, the whole is not.
  ClusterId all = clusters.of(hull[0]);
  for (OpId op : hull) {
    const ClusterId next = clusters.of(op);
    if (next == all) continue;
    bool gave_up = false;
    clusters.between(all, next, gave_up, SIZE_MAX);
    all = clusters.merge(all, next, clusters.join(all, next));
  }
  clusters[all].cost = clusters.cost_of(hull);
  return answer;
}

}  // namespace fusec
