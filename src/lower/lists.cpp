#include "lower/lists.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "graph/updates.h"
#include "lower/schedule.h"

namespace fusec {

namespace {

constexpr int64_t kShortestRow = 16, kLongestRow = 16384;  // elements; longer ones were not measured
constexpr int64_t kShortestVectors = 64;                   // of elements that go to memory in vectors
// Updates of a row, on average: slots for more would take too much memory. Few rows do without: the updates of a block meet in them.
constexpr int64_t kMostUpdates = 256;
constexpr int64_t kFewRows = 256;
constexpr int64_t kNarrowTarget = 4 << 10;     // bytes, of which shared memory holds copies enough
constexpr int64_t kBytesOfCopies = 256 << 20;  // of the sums, which may be there more than once
constexpr int64_t kBytesInFlight = 64 << 10;   // on a multiprocessor
// Counts that are close to each other wait for each other: the L2 cache counts up one word of a sector at a time.
constexpr int64_t kFewCounts = 16384;
// Claims: updates of a block, more where many go to a row, and threads.
constexpr int64_t kManyMeet = 16;
constexpr int kMostClaims = 2048, kFewClaims = 1024, kFewestClaims = 128;
constexpr int kLeastClaimBlock = 64, kMostClaimBlock = 1024;

int64_t rows_of(const Graph& graph, const Op& op) { return graph[op.in[0].value].shape[static_cast<size_t>(graph.attrs(op).dim)].value(); }
int64_t elems_of(const Graph& graph, const Op& op) { return element_count(graph[op.in[0].value].shape).value(); }
int64_t row_elems(const Graph& graph, const Op& op) { return elems_of(graph, op) / rows_of(graph, op); }
int64_t updates_of(const Graph& graph, const Op& op) { return updates_of_one(graph, op).value(); }

// Of what is loaded for an update: widened scatters cast it.
DType loaded_dtype(const Graph& graph, const Op& op) {
  const Value& v = graph[op.in[op.in[2].is_value() ? 2 : 0].value];
  const bool is_cast = v.def.valid() && graph[v.def].kind == OpKind::kCast;
  return is_cast ? graph[graph[v.def].in[0].value].dtype : v.dtype;
}

int floor_of_two(int64_t n) { return static_cast<int>(std::bit_floor(static_cast<uint64_t>(n))); }

}  // namespace

bool can_list(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  if (op.kind != OpKind::kIndexPut || graph.attrs(op).accumulate != Accumulate::kAdd) return false;
  const Size elems = element_count(graph[op.in[0].value].shape), updates = updates_of_one(graph, op);
  if (!elems.is_constant() || !updates.is_constant() || elems.is(0) || updates.is(0)) return false;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 512;
  return updates.value() <= kMost && rows_of(graph, op) > 1 && rows_of(graph, op) <= kMost && row_elems(graph, op) <= kLongestRow;
}

bool should_list(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  if (row_elems(graph, op) < (graph[op.out[0]].dtype == DType::kF32 ? kShortestVectors : kShortestRow)) return false;
  const int64_t rows = rows_of(graph, op), bytes = elems_of(graph, op) * bytes_of(graph[op.out[0]].dtype);
  return updates_of(graph, op) <= kMostUpdates * rows || (rows <= kFewRows && bytes > kNarrowTarget);
}

void size_list(const Graph& graph, const Target& target, OpId id, ListPlace& list) {
  const Op& op = graph[id];
  const int64_t average = updates_of(graph, op) / rows_of(graph, op);
  list.slots = average > kMostUpdates
                   ? 4
                   : static_cast<int>(std::clamp<uint64_t>(std::bit_ceil(static_cast<uint64_t>(2 * average)), 4, 2 * kMostUpdates));
  // Of few rows more is on the way.
  const int64_t of_all_rows = std::max<int64_t>(1, elems_of(graph, op) * bytes_of(loaded_dtype(graph, op)) / target.multiprocessors);
  const int64_t wanted = std::clamp<int64_t>(kBytesInFlight / of_all_rows, List::kUsualAhead, List::kMostAhead);
  list.ahead = floor_of_two(std::clamp<int64_t>(2 * average - 1, 2, std::min<int64_t>(wanted, list.slots)));
  list.apart = rows_of(graph, op) <= kFewCounts ? static_cast<int>(kSectorBytes / bytes_of(DType::kI32)) : 1;
  list.copies = 4 * elems_of(graph, op) * bytes_of(graph[op.out[0]].dtype) <= kBytesOfCopies ? 4 : 1;
}

void lower_list_starts(const KernelInput& input, OpId id, const ListPlace& list, Kernel& kernel) {
  add_zeros(list.counts, Size(rows_of(input.graph, input.graph[id]) * list.apart), Part(input.graph.symbols), kernel);
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
  claim.apart = list.apart;
  claim.places = list.places, claim.rest = list.rest, claim.sums = list.sums;
  store.index = tracer.index_at(id, op.in[1].value, {claim.item}, Size(rows_of(input.graph, op)), store.guard);
  store.value = tracer.literal(Literal{int64_t{0}}, DType::kI32);
  store.claim = std::move(claim);
  part.stores.push_back(std::move(store));
  kernel.parts.push_back(std::move(part));
  schedule_parts(input.graph, input.target, kernel);
  Part& made = kernel.parts[0];
  // The more updates a block brings, the more of them meet.
  const int64_t updates = updates_of(input.graph, op);
  const bool many_meet = updates >= kManyMeet * rows_of(input.graph, op);
  const int few = floor_of_two(std::clamp<int64_t>(updates / input.target.multiprocessors, kFewestClaims, kFewClaims));
  const int items = many_meet ? kMostClaims : few;
  kernel.block = std::clamp(items / made.vector, kLeastClaimBlock, kMostClaimBlock);
  made.unroll = std::max(1, items / (kernel.block * made.vector));
  made.grid = grid_of(made, kernel.block);
}

void lower_list_rest(const KernelInput& input, OpId id, const ListPlace& list, Kernel& kernel) {
  const Op& op = input.graph[id];
  const size_t dim = static_cast<size_t>(input.graph.attrs(op).dim);
  const Shape& shape = input.graph[op.in[0].value].shape;
  Part part(input.graph.symbols);
  const Size updates = updates_of_one(input.graph, op);
  const int ahead = std::min(list.ahead, List::kUsualAhead);
  part.dims.push_back(part.space.add_variable("piece", Size((updates.value() + ahead - 1) / ahead)));
  std::vector<Index> indices(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == dim || shape[d].is(1)) continue;
    part.dims.push_back(part.space.add_variable("i" + std::to_string(d), shape[d]));
    indices[d] = part.space.variable(part.dims.back());
  }
  Tracer tracer(input.graph, input.computed, input.place, input.check, part);
  const Index item = tracer.listed(id, updates, ahead);
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
  store.value =
      op.in[2].is_value() ? tracer.value_at(op.in[2].value, indices) : tracer.literal(*op.in[2].literal, input.graph[op.out[0]].dtype);
  part.list->row = part.space[target[dim].terms[0].first].node;
  part.stores.push_back(std::move(store));
  kernel.parts.push_back(std::move(part));
  schedule_parts(input.graph, input.target, kernel);
  kernel.block = 128;
  const int64_t threads = kernel.parts[0].grid.elems.value();
  kernel.parts[0].grid = {Size(std::clamp<int64_t>((threads + kernel.block - 1) / kernel.block, 1, 8 * input.target.multiprocessors)), 1};
}

}  // namespace fusec
