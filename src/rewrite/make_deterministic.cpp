// With --deterministic: y = scatter(x, index, src)  →  ops that give the same bits whatever the order in which its updates arrive.
// Integers, bool, max and min need nothing. The steps are named RESULT.step, with `origin` set; the last op keeps the result's name.
//
// Plain stores: last = scatter(−1, index, iota, max) is the last position that goes to an element; each update then stores what that
// position stores, so that which of them stays makes no difference, and what none reaches is not touched.
#include "graph/updates.h"
#include "rewrite/deterministic.h"
#include "rewrite/rewrite.h"

namespace fusec {

ScatterSteps::ScatterSteps(Rebuild& rebuild, const Op& op, FreshNames& names)
    : kind(op.kind),
      attrs(rebuild.from.attrs(op)),
      x(rebuild.mapped(op.in[0].value)),
      index(rebuild.mapped(op.in[1].value)),
      src(rebuild.mapped(op.in[2])),
      dtype(rebuild.to[x].dtype),
      dim(static_cast<size_t>(attrs.dim)),
      updates(rebuild.to[index].shape[op.kind == OpKind::kScatter ? dim : 0]),
      rebuild_(rebuild),
      builder_(rebuild.to),
      names_(names),
      result_(op.out[0]),
      name_(rebuild.from[op.out[0]].name),
      origin_(op.origin) {
  builder_.at = op.at;
}

ValueId ScatterSteps::step(const char* name, OpKind op, std::vector<Operand> in, const Attrs* step_attrs, DType result) {
  builder_.origin = origin_.empty() ? name_ : origin_;
  return builder_.value(op, std::move(in), names_.take(name_ + "." + name), step_attrs, result);
}

ValueId ScatterSteps::cast(const char* name, ValueId v, DType to) {
  return graph()[v].dtype == to ? v : step(name, OpKind::kCast, {operand(v)}, nullptr, to);
}

ValueId ScatterSteps::full(const char* name, Shape shape, DType type, Literal value) {
  Attrs a;
  a.shape = std::move(shape);
  a.value = value;
  return step(name, OpKind::kFull, {}, &a, type);
}

ValueId ScatterSteps::scatter(const char* name, ValueId table, Operand values, Accumulate how) {
  Attrs a = attrs;
  a.accumulate = how;
  return step(name, kind, {operand(table), operand(index), std::move(values)}, &a);
}

ValueId ScatterSteps::at_updates(const char* name, ValueId table) {
  Attrs a;
  a.dim = attrs.dim;
  return step(name, kind == OpKind::kScatter ? OpKind::kGather : OpKind::kIndexSelect, {operand(table), operand(index)}, &a);
}

ValueId ScatterSteps::touched() {
  const ValueId none = full("untouched", graph()[x].shape, DType::kBool, Literal{false});
  return scatter("touched", none, operand(Literal{true}), Accumulate::kNone);
}

ValueId ScatterSteps::source(const char* name) {
  Shape shape = graph()[index].shape;
  if (kind == OpKind::kIndexPut) {
    shape = graph()[x].shape;
    shape[dim] = updates;
  }
  if (src.is_literal()) return full(name, std::move(shape), computing_type(dtype), *src.literal);
  if (graph()[src.value].shape == shape) return src.value;
  Attrs a;
  a.starts.assign(shape.size(), 0);
  a.steps.assign(shape.size(), 1);
  a.stops = std::move(shape);
  return step(name, OpKind::kSlice, {operand(src.value)}, &a);
}

void ScatterSteps::last(OpKind op, std::vector<Operand> in, const Attrs* last_attrs) {
  builder_.origin = origin_;
  rebuild_.map(result_, builder_.value(op, std::move(in), name_, last_attrs, dtype));
}

void ScatterSteps::last_where(ValueId condition, ValueId a, ValueId b) {
  if (!is_narrow_float(dtype)) return last(OpKind::kWhere, {operand(condition), operand(a), operand(b)});
  const DType bits = is_f8(dtype) ? DType::kU8 : DType::kI16;
  const ValueId if_so = bitcast("bits_if_so", a, bits), if_not = bitcast("bits_if_not", b, bits);
  last(OpKind::kBitcast, {operand(step("chosen_bits", OpKind::kWhere, {operand(condition), operand(if_so), operand(if_not)}))});
}

ValueId ScatterSteps::last_of_element(ValueId ranks) {
  Attrs along, table, latest;
  along.dim = table.dim = latest.dim = kind == OpKind::kScatter ? attrs.dim : 0;
  table.shape = graph()[index].shape;
  table.shape[static_cast<size_t>(along.dim)] = graph()[x].shape[dim];
  table.value = Literal{int64_t{-1}};
  latest.accumulate = Accumulate::kMax;
  const ValueId none = step("none", OpKind::kFull, {}, &table, graph()[ranks].dtype);
  const ValueId last = step("last", kind, {operand(none), operand(index), operand(ranks)}, &latest);
  return step("stays", kind == OpKind::kScatter ? OpKind::kGather : OpKind::kIndexSelect, {operand(last), operand(index)}, &along);
}

void store_last(ScatterSteps& s) {
  Attrs order, across;
  order.shape = s[s.index].shape;
  order.dim = s.kind == OpKind::kScatter ? s.attrs.dim : 0;
  across.dim = s.attrs.dim;
  const DType type = upper_bound(s.updates, s.graph().symbols) <= INT32_MAX ? DType::kI32 : DType::kI64;
  const ValueId position = s.step("position", OpKind::kIota, {}, &order, type);
  const OpKind pick = s.kind == OpKind::kScatter ? OpKind::kGather : OpKind::kIndexSelect;
  const ValueId stored = s.step("stored", pick, {s.src, operand(s.last_of_element(position))}, &across);
  s.last(s.kind, {operand(s.x), operand(s.index), operand(stored)}, &s.attrs);
}

namespace {

constexpr double kManyComparisons = static_cast<double>(int64_t{1} << 30);  // a millisecond on a GPU; sorting is faster
constexpr int64_t kMostSortedUpdates = int64_t{1} << 24;                    // what the sorts of the GPU take

using Form = void (*)(ScatterSteps&);  // null: as it is

struct Choice {
  Form form;
  const char* words;  // for the report
};

Choice choose(const Graph& graph, const Op& op) {
  const Accumulate how = graph.attrs(op).accumulate;
  const OpId src = op.in[2].is_value() ? graph[op.in[2].value].def : OpId();
  const bool one_value = op.in[2].is_literal() || (src.valid() && graph[src].kind == OpKind::kFull);
  if (how == Accumulate::kNone && one_value) return {nullptr, "all updates store one value"};
  const bool rounds = is_float(graph[op.out[0]].dtype) && (how == Accumulate::kAdd || how == Accumulate::kMul);
  if (how != Accumulate::kNone && !rounds) return {nullptr, "exact in any order"};
  if (updates_once(graph, op)) return {nullptr, "no element has two updates"};
  if (how == Accumulate::kNone) return {store_last, "each update stores what the last one to its element does"};
  if (how == Accumulate::kAdd)
    return {add_in_any_order, "fixed point: integer sums of multiples of a power of two, chosen for each element"};
  const double comparisons = comparisons_of_updates(graph, op);
  const Size updates = updates_of_one(graph, op);
  if (comparisons > kManyComparisons && updates.is_constant() && updates.value() <= kMostSortedUpdates)
    return {multiply_sorted, "products of updates sorted by their places"};
  if (comparisons <= kMostComparisons) return {multiply_all, "for each element a product over all updates"};
  return {nullptr, "order of arrival"};  // the gate refuses it
}

}  // namespace

Graph make_deterministic(Graph graph, RewriteLog& log) {
  IdVec<OpId, Form> forms(graph.ops.size(), nullptr);
  bool any = false;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (info(graph[OpId(i)].kind).category != OpCategory::kScatter) continue;
    const Choice choice = choose(graph, graph[OpId(i)]);
    log.deterministic[graph.name_of(OpId(i))] = choice.words;
    forms[OpId(i)] = choice.form;
    any = any || choice.form;
  }
  if (!any) return graph;
  FreshNames names(graph);
  Rebuild rebuild(std::move(graph));
  for (size_t i = 0; i < rebuild.from.ops.size(); ++i) {
    if (!forms[OpId(i)]) {
      rebuild.move(OpId(i));
      continue;
    }
    ScatterSteps steps(rebuild, rebuild.from[OpId(i)], names);
    forms[OpId(i)](steps);
  }
  return rebuild.finish();
}

}  // namespace fusec
