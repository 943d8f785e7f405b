// Facts about the updates of scatter and index_put.
#pragma once

#include "graph/graph.h"

namespace fusec {

// The length of the index along `dim`: at most so many updates go to one element.
inline Size updates_of_one(const Graph& graph, const Op& op) {
  const Shape& index = graph[op.in[1].value].shape;
  if (index.empty()) return 1;
  return index[op.kind == OpKind::kScatter ? static_cast<size_t>(graph.attrs(op).dim) : 0];
}

// The op whose result is the index, casts between index dtypes apart.
inline OpId origin_of_index(const Graph& graph, ValueId index) {
  OpId op = graph[index].def;
  auto is_index = [&](ValueId v) { return graph[v].dtype == DType::kI32 || graph[v].dtype == DType::kI64; };
  while (op.valid() && graph[op].kind == OpKind::kCast && is_index(graph[op].in[0].value) && is_index(graph[op].out[0]))
    op = graph[graph[op].in[0].value].def;
  return op;
}

// The sort that the index tells the order of, along its own dim; none for other indices.
inline OpId sort_behind(const Graph& graph, ValueId index) {
  const OpId id = origin_of_index(graph, index);
  if (!id.valid() || info(graph[id].kind).category != OpCategory::kSort) return {};
  ValueId v = index;  // through the casts to the sort's own result
  while (graph[v].def != id) v = graph[graph[v].def].in[0].value;
  const bool is_order = graph[id].kind == OpKind::kArgsort || (graph[id].out.size() > 1 && graph[id].out[1] == v);
  return is_order ? id : OpId();
}

// True for each number from 0 to below the extent once, along `dim`: positions, what a sort gives as its order, the inverse of such a value,
// and one such value in the order of another.
bool is_permutation(const Graph& graph, ValueId value, size_t dim);

// True for plain stores to every element, one to each: nothing is left of what they start from.
bool stores_permutation(const Graph& graph, const Op& op);

// True where every index is known to lie in [0, extent).
inline bool lies_within(const Graph& graph, ValueId index, const Size& extent) {
  auto fits = [&](const Size& n) { return n == extent || (n.is_constant() && extent.is_constant() && n.value() <= extent.value()); };
  for (size_t d = 0; d < graph[index].shape.size(); ++d)
    if (is_permutation(graph, index, d) && fits(graph[index].shape[d])) return true;
  const OpId id = sort_behind(graph, index);
  if (!id.valid()) return false;
  const Shape& shape = graph[graph[id].in[0].value].shape;
  return fits(shape.empty() ? Size(1) : shape[static_cast<size_t>(graph.attrs(graph[id]).dim)]);
}

// True where the updates' positions along `dim` are an order of a sort: no two of them are one.
inline bool follows_an_order(const Graph& graph, const Op& op) {
  const OpId sort = sort_behind(graph, op.in[1].value);
  if (!sort.valid()) return false;
  const int64_t dim = op.kind == OpKind::kScatter ? graph.attrs(op).dim : 0;
  return graph[graph[sort].in[0].value].shape.empty() || graph.attrs(graph[sort]).dim == dim;
}

// At most one update goes to an element, as far as the graph shows.
inline bool updates_once(const Graph& graph, const Op& op) {
  if (stores_permutation(graph, op)) return true;
  const Size along = updates_of_one(graph, op);
  if (along.is(0) || along.is(1) || follows_an_order(graph, op)) return true;
  const OpId index = graph[op.in[1].value].def;
  if (op.kind != OpKind::kIndexPut || !index.valid() || graph[index].kind != OpKind::kIota) return false;
  return graph.attrs(graph[index]).step.as_double() != 0;
}

// Elements times updates that may go to each, for typical sizes: what a product over all updates compares.
inline double comparisons_of_updates(const Graph& graph, const Op& op) {
  const Shape &x = graph[op.in[0].value].shape, &index = graph[op.in[1].value].shape;
  const SymbolValues typical = typical_values(graph.symbols);
  double count = static_cast<double>(evaluate(updates_of_one(graph, op), typical));
  for (size_t d = 0; d < x.size(); ++d) {
    const bool along = static_cast<int64_t>(d) == graph.attrs(op).dim;
    count *= static_cast<double>(evaluate(along || op.kind == OpKind::kIndexPut ? x[d] : index[d], typical));
  }
  return count;
}
// With --deterministic, floats are multiplied where that is not more: tens of milliseconds on a GPU.
constexpr double kMostComparisons = static_cast<double>(int64_t{1} << 36);

}  // namespace fusec
