// t = cast(f32 x, bf16), y = cast(t, f32)  →  y = copy(x), when all that reads t are up-casts.
// Only with --relaxed-casts: the rounding that the graph wrote is lost. t goes.
#include "rewrite/rewrite.h"

namespace fusec {

namespace {

bool rounds(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kCast) return false;
  const DType from = graph[op.in[0].value].dtype, to = graph[op.out[0]].dtype;
  return is_float(from) && is_float(to) && bytes_of(to) < bytes_of(from);
}

}  // namespace

Graph relax_casts(Graph graph, RewriteLog& log) {
  IdVec<ValueId, char> kept(graph.values.size());  // needed as written: an output, or read by something else than an up-cast
  for (const Output& output : graph.outputs) kept[output.value] = 1;
  for (const Op& op : graph.ops)
    for (const Operand& operand : op.in) {
      if (!operand.is_value()) continue;
      const DType from = graph[operand.value].dtype;
      const bool up = op.kind == OpKind::kCast && is_float(from) && is_float(graph[op.out[0]].dtype) &&
                      bytes_of(graph[op.out[0]].dtype) > bytes_of(from);
      if (!up) kept[operand.value] = 1;
    }

  for (Op& op : graph.ops) {
    if (op.kind != OpKind::kCast || kept[op.in[0].value]) continue;
    const ValueId narrow = op.in[0].value;
    const OpId def = graph[narrow].def;
    if (!def.valid() || !rounds(graph, graph[def])) continue;
    log.absorbed.emplace(graph[narrow].name, graph[op.out[0]].name);
    op.in[0] = graph[def].in[0];
    if (graph[op.in[0].value].dtype == graph[op.out[0]].dtype) op.kind = OpKind::kCopy;
  }
  return remove_dead_ops(std::move(graph), log);
}

}  // namespace fusec
