// Ops that no output needs go; of the others, results that nobody reads become unnamed.
// Stands after everything that replaces ops, and once at the start, so that nothing is spent on what is not needed.
#include <vector>

#include "rewrite/rebuild.h"
#include "rewrite/rewrite.h"

namespace fusec {

namespace {

IdVec<ValueId, char> live_values(const Graph& graph) {
  IdVec<ValueId, char> live(graph.values.size());
  for (const Output& output : graph.outputs) live[output.value] = 1;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[OpId(i)];
    bool needed = false;
    for (ValueId v : op.out) needed |= v.valid() && live[v];
    if (!needed) continue;
    for (const Operand& operand : op.in)
      if (operand.is_value()) live[operand.value] = 1;
  }
  return live;
}

// What only an absorbed op needed was absorbed with it.
void absorb_operands(const Graph& graph, OpId dead, const IdVec<ValueId, char>& live, RewriteLog& log) {
  const std::string& name = graph.name_of(dead);
  if (!log.absorbed.contains(name)) return;
  for (const Operand& operand : graph[dead].in) {
    if (!operand.is_value() || live[operand.value] || !graph[operand.value].def.valid()) continue;
    const std::string& needed = graph.name_of(graph[operand.value].def);
    if (!log.merged.contains(needed)) log.absorbed.emplace(needed, name);
  }
}

}  // namespace

Graph remove_dead_ops(Graph graph, RewriteLog& log) {
  const IdVec<ValueId, char> live = live_values(graph);
  std::vector<bool> needed(graph.ops.size());
  bool all_live = true;
  for (size_t i = 0; i < graph.ops.size(); ++i)
    for (ValueId v : graph.ops[OpId(i)].out) {
      if (!v.valid()) continue;
      needed[i] = needed[i] || live[v];
      all_live = all_live && live[v];
    }
  for (size_t i = graph.ops.size(); i-- > 0 && !log.absorbed.empty();) {
    if (needed[i]) log.absorbed.erase(graph.name_of(OpId(i)));  // something else needs it as well
    else absorb_operands(graph, OpId(i), live, log);
  }
  if (all_live) return graph;

  Rebuild rebuild(std::move(graph));
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i]) rebuild.move(OpId(i), &live);
  return rebuild.finish();
}

}  // namespace fusec
