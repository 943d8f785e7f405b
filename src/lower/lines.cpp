#include "lower/lines.h"

#include <algorithm>

#include "kernel/visit.h"
#include "lower/schedule.h"
#include "support/check.h"

namespace fusec {

namespace {

constexpr int kBlock = 256;

// One variable for each dim of more than one position, those of the row apart.
std::vector<Index> make_indices(Part& part, const Shape& shape, size_t dim) {
  std::vector<Index> indices;
  for (size_t d = 0; d < shape.size(); ++d) {
    indices.emplace_back();
    if (shape[d].is(1)) continue;
    const AtomId v = part.space.add_variable("i" + std::to_string(d), shape[d], false);
    indices.back() = part.space.variable(v);
    if (d == dim) part.line->position = v;
    else part.dims.push_back(v);
  }
  return indices;
}

// A thread for each row where that makes neighbours touch neighbouring elements, unless few threads would take many turns.
bool goes_across(const Part& part) {
  const Index& index = part.stores[0].index;
  if (!part.line->position.valid() || index.coefficient(part.line->position).is(1) || part.dims.empty()) return false;
  const Size rows = iterations(part);
  const bool few = rows.is_constant() && rows.value() < 1024, is_long = !part.line->extent.is_constant() || part.line->extent.value() > 256;
  return index.coefficient(part.dims.back()).is(1) && !(few && is_long);
}

void schedule_scan(Part& part, Kernel& kernel) {
  Line& line = *part.line;
  line.across = goes_across(part);
  kernel.block = kBlock;
  const bool is_short = line.extent.is_constant() && line.extent.value() <= 128;
  line.group = line.across ? 1 : is_short ? 32 : kBlock;
  part.grid = {iterations(part), kernel.block / line.group};
}

void schedule_sort(Part& part, Kernel& kernel) {
  const int64_t longest = part.space.highest(Index(part.line->extent));
  FUSEC_CHECK(longest <= kMaxSortedRow, "a row that is too long to sort");
  int capacity = 2;
  while (capacity < longest) capacity *= 2;
  part.line->capacity = capacity;
  kernel.block = part.line->group = std::clamp(capacity / 2, 32, 512);
  part.grid = {iterations(part), 1};
}

}  // namespace

void lower_line(const KernelInput& input, OpId id, Kernel& kernel) {
  const Op& op = input.graph[id];
  const ValueId x = op.in[0].value;
  const Shape& shape = input.graph[x].shape;
  const bool is_scan = info(op.kind).category == OpCategory::kScan;
  if (element_count(input.graph[input.stores[0].value].shape).is(0)) return;
  Part part(input.graph.symbols);
  part.line.emplace();
  part.line->op = id;
  const size_t dim = static_cast<size_t>(input.graph.attrs(op).dim);
  part.line->extent = shape.empty() ? Size(1) : shape[dim];
  const std::vector<Index> indices = make_indices(part, shape, dim);
  Tracer tracer(input.graph, input.computed, input.place, input.check, part);
  part.line->operand = tracer.value_at(x, indices);
  for (const KernelInput::Stored& stored : input.stores) {
    Store store;
    store.buffer = stored.buffer;
    store.value = part.line->operand;
    for (size_t d = 0; d < indices.size(); ++d) store.index = store.index + indices[d] * stored.strides[d];
    store.index = part.space.simplify(std::move(store.index));
    part.stores.push_back(std::move(store));
    part.line->results.push_back(stored.value == op.out[0] ? 0 : 1);
  }
  merge_dims(part);
  if (is_scan) schedule_scan(part, kernel);
  else schedule_sort(part, kernel);
  choose_index_width(part);
  kernel.parts.push_back(std::move(part));
}

}  // namespace fusec
