#include "lower/lists.h"

#include <limits>

#include "lower/schedule.h"

namespace fusec {

namespace {

constexpr int64_t kShortestRow = 16;  // elements
constexpr int64_t kLongestList = 32;  // updates a row, on average

int64_t rows_of(const Graph& graph, const Op& op) { return graph[op.in[0].value].shape[static_cast<size_t>(graph.attrs(op).dim)].value(); }

}  // namespace

bool can_list(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  if (op.kind != OpKind::kIndexPut || graph.attrs(op).accumulate != Accumulate::kAdd) return false;
  if (graph[op.out[0]].dtype != DType::kF32) return false;
  const Size elems = element_count(graph[op.in[0].value].shape), updates = graph[op.in[1].value].shape[0];
  if (!elems.is_constant() || !updates.is_constant() || elems.is(0) || updates.is(0)) return false;
  return updates.value() <= std::numeric_limits<int32_t>::max() && elems.value() / rows_of(graph, op) >= kShortestRow;
}

bool should_list(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  return graph[op.in[1].value].shape[0].value() <= kLongestList * rows_of(graph, op);
}

void lower_list_starts(const KernelInput& input, OpId id, BufferId first, Kernel& kernel) {
  Part part(input.graph.symbols);
  const AtomId row = part.space.add_variable("i0", Size(rows_of(input.graph, input.graph[id])));
  part.dims = {row};
  Node none;
  none.dtype = DType::kI32;
  none.constant = Literal{int64_t{-1}};
  Store store;
  store.buffer = first;
  store.index = part.space.variable(row);
  store.value = part.nodes.push(std::move(none));
  part.stores.push_back(std::move(store));
  kernel.parts.push_back(std::move(part));
  schedule_parts(input.graph, input.target, kernel);
}

void lower_list_links(const KernelInput& input, OpId id, const ListPlace& list, Kernel& kernel) {
  const Op& op = input.graph[id];
  Part part(input.graph.symbols);
  const AtomId update = part.space.add_variable("i0", input.graph[op.in[1].value].shape[0]);
  part.dims = {update};
  Tracer tracer(input.graph, input.computed, input.place, input.check, part);
  Store store;
  store.buffer = list.first;
  store.previous = list.next;
  store.position = part.space.variable(update);
  store.index = tracer.index_at(id, op.in[1].value, {store.position}, Size(rows_of(input.graph, op)), store.guard);
  store.value = tracer.literal(Literal{int64_t{0}}, DType::kI32);
  store.update = true;
  part.stores.push_back(std::move(store));
  kernel.parts.push_back(std::move(part));
  schedule_parts(input.graph, input.target, kernel);
}

}  // namespace fusec
