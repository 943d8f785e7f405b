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

// True for each number from 0 to below the extent once, along `dim`: what a sort gives as its order, and the inverse of such a value.
bool is_permutation(const Graph& graph, ValueId value, size_t dim);

// True for plain stores to every element, one to each: nothing is left of what they start from.
bool stores_permutation(const Graph& graph, const Op& op);

// At most one update goes to an element, as far as the graph shows.
inline bool updates_once(const Graph& graph, const Op& op) {
  if (stores_permutation(graph, op)) return true;
  const Size along = updates_of_one(graph, op);
  if (along.is(0) || along.is(1)) return true;
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
