#include "lower/lists.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "graph/updates.h"
#include "lower/schedule.h"

namespace fusec {

namespace {

constexpr int64_t kShortestRow = 16, kLongestRow = 16384;  // elements; (the first update without a slot clears its row)
constexpr int64_t kMostUpdates = 128;                      // a row, on average
constexpr int64_t kManyCopies = 16 << 20;                  // elements of the sums that may be there more than once

int64_t rows_of(const Graph& graph, const Op& op) { return graph[op.in[0].value].shape[static_cast<size_t>(graph.attrs(op).dim)].value(); }
int64_t elems_of(const Graph& graph, const Op& op) { return element_count(graph[op.in[0].value].shape).value(); }
int64_t row_elems(const Graph& graph, const Op& op) { return elems_of(graph, op) / rows_of(graph, op); }
int64_t updates_of(const Graph& graph, const Op& op) { return updates_of_one(graph, op).value(); }

}  // namespace

bool can_list(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  if (op.kind != OpKind::kIndexPut || graph.attrs(op).accumulate != Accumulate::kAdd) return false;
  if (graph[op.out[0]].dtype != DType::kF32) return false;
  const Size elems = element_count(graph[op.in[0].value].shape), updates = updates_of_one(graph, op);
  if (!elems.is_constant() || !updates.is_constant() || elems.is(0) || updates.is(0)) return false;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 512;
  return updates.value() <= kMost && rows_of(graph, op) > 1 && rows_of(graph, op) <= kMost && row_elems(graph, op) <= kLongestRow;
}

bool should_list(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  return updates_of(graph, op) <= kMostUpdates * rows_of(graph, op) && row_elems(graph, op) >= kShortestRow;
}

void size_list(const Graph& graph, OpId id, ListPlace& list) {
  const Op& op = graph[id];
  const uint64_t average = static_cast<uint64_t>(updates_of(graph, op) / rows_of(graph, op));
  list.slots = static_cast<int>(std::clamp<uint64_t>(std::bit_ceil(2 * average), 4, 256));
  list.ahead = static_cast<int>(std::clamp<uint64_t>(std::bit_ceil(average), 2, 4));
  list.copies = elems_of(graph, op) <= kManyCopies ? 4 : 1;
}

void lower_list_starts(const KernelInput& input, OpId id, const ListPlace& list, Kernel& kernel) {
  add_zeros(list.counts, Size(rows_of(input.graph, input.graph[id])), Part(input.graph.symbols), kernel);
  add_zeros(list.rest, Size(1), Part(input.graph.symbols), kernel);
  schedule_parts(input.graph, input.target, kernel);
}

void lower_list_claims(const KernelInput& input, OpId id, const ListPlace& list, Kernel& kernel) {
  const Op& op = input.graph[id];
  Part part(input.graph.symbols);
  const AtomId update = part.space.add_variable("i0", updates_of_one(input.graph, op));
  part.dims = {update};
  Tracer tracer(input.graph, input.computed, input.place, input.check, part);
  Store store;
  store.buffer = list.counts;
  store.update = true;
  Claim claim;
  claim.item = part.space.variable(update);
  claim.slots = list.slots;
  claim.row_elems = row_elems(input.graph, op);
  claim.elems = elems_of(input.graph, op);
  claim.copies = list.copies;
  claim.places = list.places, claim.rest = list.rest, claim.sums = list.sums;
  store.index = tracer.index_at(id, op.in[1].value, {claim.item}, Size(rows_of(input.graph, op)), store.guard);
  store.value = tracer.literal(Literal{int64_t{0}}, DType::kI32);
  store.claim = std::move(claim);
  part.stores.push_back(std::move(store));
  kernel.parts.push_back(std::move(part));
  schedule_parts(input.graph, input.target, kernel);
}

void lower_list_rest(const KernelInput& input, OpId id, const ListPlace& list, Kernel& kernel) {
  const Op& op = input.graph[id];
  const size_t dim = static_cast<size_t>(input.graph.attrs(op).dim);
  const Shape& shape = input.graph[op.in[0].value].shape;
  Part part(input.graph.symbols);
  const Size updates = updates_of_one(input.graph, op);
  part.dims.push_back(part.space.add_variable("piece", Size((updates.value() + List::kRest - 1) / List::kRest)));
  std::vector<Index> indices(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == dim || shape[d].is(1)) continue;
    part.dims.push_back(part.space.add_variable("i" + std::to_string(d), shape[d]));
    indices[d] = part.space.variable(part.dims.back());
  }
  Tracer tracer(input.graph, input.computed, input.place, input.check, part);
  const Index item = tracer.listed(id, updates, list.ahead);
  part.list->rest = list.rest;
  part.list->copies = list.copies;
  part.list->elems = elems_of(input.graph, op);
  Store store;
  store.buffer = list.sums;
  store.update = true;
  store.accumulate = Accumulate::kAdd;
  std::vector<Index> target = indices;
  target[dim] = tracer.index_at(id, op.in[1].value, {item}, shape[dim], store.guard);
  store.guard.clear();  // (no other update is listed)
  store.index = tracer.in_rows(target, shape, dim);
  indices[dim] = item;
  store.value = op.in[2].is_value() ? tracer.value_at(op.in[2].value, indices) : tracer.literal(*op.in[2].literal, DType::kF32);
  part.list->row = part.space[target[dim].terms[0].first].node;
  part.stores.push_back(std::move(store));
  kernel.parts.push_back(std::move(part));
  schedule_parts(input.graph, input.target, kernel);
  kernel.block = 128;
  const int64_t threads = kernel.parts[0].grid.elems.value();
  kernel.parts[0].grid = {Size(std::clamp<int64_t>((threads + kernel.block - 1) / kernel.block, 1, 8 * input.target.multiprocessors)), 1};
}

}  // namespace fusec
