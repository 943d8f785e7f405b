// order = argsort(p)  →  order = scatter(zeros, p, iota), where p is known to hold each of 0 … n−1 once: no two keys are equal, so that
// the position of key k stands at k. Descending: at n−1−k. sort(p) gives the numbers themselves beside it.
// Stands after simplify, which leaves casts that change nothing as copies. Ops that it adds are named RESULT.step; the last one keeps the
// result's name.
#include "graph/builder.h"
#include "graph/updates.h"
#include "rewrite/fresh_names.h"
#include "rewrite/rebuild.h"
#include "rewrite/rewrite.h"

namespace fusec {

namespace {

// Descending orders need the last number as a literal.
bool is_sort_of_permutation(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kArgsort && op.kind != OpKind::kSort) return false;
  const Attrs& attrs = graph.attrs(op);
  const ValueId x = op.in[0].value;
  if (!is_permutation(graph, x, static_cast<size_t>(attrs.dim))) return false;
  return !attrs.descending || graph[x].shape[static_cast<size_t>(attrs.dim)].is_constant();
}

class Inverse {
 public:
  Inverse(Rebuild& rebuild, const Op& op, FreshNames& names)
      : rebuild_(rebuild),
        builder_(rebuild.to),
        names_(names),
        attrs_(rebuild.from.attrs(op)),
        keys_(rebuild.mapped(op.in[0].value)),
        extent_(rebuild.to[keys_].shape[static_cast<size_t>(attrs_.dim)]) {
    builder_.at = op.at;
    builder_.origin = op.origin;
  }

  // The numbers in order.
  void write_values(ValueId result) {
    if (!result.valid()) return;
    const Value& v = rebuild_.from[result];
    rebuild_.map(result, attrs_.descending ? iota(v.name, v.dtype, extent_.value() - 1, -1) : iota(v.name, v.dtype, 0, 1));
  }

  // Where each of them stands.
  void write_order(ValueId result) {
    if (!result.valid()) return;
    const std::string name = rebuild_.from[result].name, origin = builder_.origin;
    const DType dtype = rebuild_.from[result].dtype;
    builder_.origin = origin.empty() ? name : origin;
    ValueId places = keys_;
    if (attrs_.descending)
      places = builder_.value(OpKind::kSub, {operand(Literal{extent_.value() - 1}), operand(keys_)}, names_.take(name + ".places"));
    Attrs zeros;
    zeros.shape = rebuild_.to[keys_].shape;
    zeros.value = Literal{int64_t{0}};
    const ValueId target = builder_.value(OpKind::kFull, {}, names_.take(name + ".zeros"), &zeros, dtype);
    const ValueId positions = iota(names_.take(name + ".positions"), dtype, 0, 1);
    Attrs scatter;
    scatter.dim = attrs_.dim;
    builder_.origin = origin;
    rebuild_.map(result, builder_.value(OpKind::kScatter, {operand(target), operand(places), operand(positions)}, name, &scatter));
  }

 private:
  ValueId iota(const std::string& name, DType dtype, int64_t start, int64_t step) {
    Attrs a;
    a.shape = rebuild_.to[keys_].shape;
    a.dim = attrs_.dim;
    a.start = Literal{start};
    a.step = Literal{step};
    return builder_.value(OpKind::kIota, {}, name, &a, dtype);
  }

  Rebuild& rebuild_;
  Builder builder_;
  FreshNames& names_;
  const Attrs attrs_;
  const ValueId keys_;
  const Size extent_;
};

}  // namespace

Graph invert_permutations(Graph graph, RewriteLog& log) {
  IdVec<OpId, bool> inverted(graph.ops.size(), false);
  bool any = false;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const OpId id(i);
    if (!is_sort_of_permutation(graph, graph[id])) continue;
    inverted[id] = any = true;
    log.inverted[graph.name_of(id)] = std::string(name_of(graph[id].kind)) + " of a permutation: its inverse, by a scatter of positions";
  }
  if (!any) return graph;
  FreshNames names(graph);
  Rebuild rebuild(std::move(graph));
  for (size_t i = 0; i < rebuild.from.ops.size(); ++i) {
    if (!inverted[OpId(i)]) {
      rebuild.move(OpId(i));
      continue;
    }
    const Op& op = rebuild.from[OpId(i)];
    Inverse inverse(rebuild, op, names);
    if (op.kind == OpKind::kSort) inverse.write_values(op.out[0]);
    inverse.write_order(op.out.back());
  }
  return rebuild.finish();
}

}  // namespace fusec
