#include "lower/radix.h"

#include <algorithm>
#include <iterator>

#include "graph/updates.h"
#include "kernel/visit.h"
#include "lower/lines.h"
#include "lower/schedule.h"
#include "support/check.h"

namespace fusec {

namespace {

constexpr int kMinBlock = 256;  // threads that take a value of a digit each

// Threads and keys of each; shared memory holds 32 KiB of keys.
struct TileShape {
  int block, items;
  int64_t keys() const { return int64_t{block} * items; }
};
constexpr TileShape kTiles[] = {{512, 16}, {512, 8}, {kMinBlock, 8}, {kMinBlock, 4}};
constexpr int64_t kStagedBytes = 32 << 10;

Size row_extent(const Graph& graph, const Op& op) { return graph[op.in[0].value].shape[static_cast<size_t>(graph.attrs(op).dim)]; }

// The largest tiles that leave no multiprocessor without one.
TileShape choose_tile(const Graph& graph, const Target& target, OpId id) {
  const int64_t extent = row_extent(graph, graph[id]).value();
  const int64_t rows = evaluate(line_rows(graph, id), typical_values(graph.symbols));
  const int64_t key = std::max(bytes_of(graph[graph[id].in[0].value].dtype), 4);
  for (const TileShape& tile : kTiles)
    if (tile.keys() * key <= kStagedBytes && rows * (extent / tile.keys()) >= target.multiprocessors * 7 / 8) return tile;
  return std::end(kTiles)[-1];
}

// What the results are read from until their loads become the sort's own nodes.
struct ResultBuffers {
  const Graph& graph;
  const Op& op;
  Kernel& kernel;
  BufferId at[2];

  bool is_result(ValueId v) const { return v == op.out[0] || (op.out.size() > 1 && v == op.out[1]); }
  Place place(ValueId v) {
    BufferId& buffer = at[graph[v].result];
    if (!buffer.valid()) buffer = kernel.buffers.push({{}, graph[v].dtype, graph[v].name});
    return {buffer, row_major_strides(graph[v].shape)};
  }
};

// `here`: a result's index at the position.
void turn_loads_into_results(const ResultBuffers& results, const Index here[2], OpId op, Part& part) {
  for (Node& n : part.nodes) {
    if (n.kind != Node::kLoad) continue;
    for (uint32_t r = 0; r < 2; ++r) {
      if (!results.at[r].valid() || n.buffer != results.at[r]) continue;
      FUSEC_CHECK(n.index == here[r] && n.guard.empty(), "a sort's result is asked for at another position");
      n.kind = Node::kSorted;
      n.op = op;
      n.result = r;
      n.buffer = {};
    }
  }
}

Store trace_store(const KernelInput& input, const KernelInput::Stored& stored, Tracer& tracer, const std::vector<Index>& indices,
                  Part& part) {
  const OpId def = input.graph[stored.value].def;
  const Op& op = input.graph[def];
  if (info(op.kind).category != OpCategory::kScatter) {
    Store store = store_at(stored, indices, part.space);
    store.value = tracer.value_at(stored.value, indices);
    return store;
  }
  std::vector<Index> to = indices;
  const size_t dim = static_cast<size_t>(input.graph.attrs(op).dim);
  Store store;
  to[dim] = tracer.index_at(def, op.in[1].value, indices, input.graph[stored.value].shape[dim], store.guard);
  FUSEC_CHECK(store.guard.empty(), "a permutation needs no check");
  store = store_at(stored, to, part.space);
  store.value =
      op.in[2].is_value() ? tracer.value_at(op.in[2].value, indices) : tracer.literal(*op.in[2].literal, input.graph[stored.value].dtype);
  return store;
}

}  // namespace

bool sorts_by_digits(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  if (info(op.kind).category != OpCategory::kSort || graph[op.in[0].value].shape.empty()) return false;
  const Size extent = row_extent(graph, op);
  return extent.is_constant() && extent.value() > kBlockSortedRow;
}

Radix plan_radix(const Graph& graph, const Target& target, OpId id) {
  Radix radix;
  const TileShape tile = choose_tile(graph, target, id);
  radix.block = tile.block;
  radix.items = tile.items;
  radix.digits = bytes_of(graph[graph[id].in[0].value].dtype);
  radix.tiles = (row_extent(graph, graph[id]).value() + tile.keys() - 1) / tile.keys();
  // Where all tiles run at once, none finds the sum of many others at first.
  const double tiles = static_cast<double>(radix.tiles * evaluate(line_rows(graph, id), typical_values(graph.symbols)));
  radix.ahead = radix.tiles > 8 && tiles <= target.multiprocessors ? 32 : 8;
  return radix;
}

Size radix_state_words(const Graph& graph, OpId op, const Radix& radix) { return line_rows(graph, op) * Size(radix.state_words()) + 1; }
Size radix_flag_words(const Graph& graph, OpId op, const Radix& radix) { return line_rows(graph, op) * Size(radix.tiles * 2 * 256); }
int radix_buffers(const Radix& radix) { return std::min(radix.digits - 1, 2); }

void lower_radix(const KernelInput& input, OpId id, Radix radix, Kernel& kernel) {
  const Op& op = input.graph[id];
  const Shape& shape = input.graph[op.in[0].value].shape;
  Part part(input.graph.symbols);
  Line& line = part.line.emplace();
  line.op = id;
  line.extent = row_extent(input.graph, op);
  const std::vector<Index> indices = line_indices(part, shape, static_cast<size_t>(input.graph.attrs(op).dim));
  ResultBuffers results{input.graph, op, kernel, {}};
  IdVec<ValueId, bool> computed = input.computed;
  Index here[2];
  for (ValueId v : op.out) {
    if (!v.valid()) continue;
    computed[v] = false;
    const std::vector<Size> strides = row_major_strides(input.graph[v].shape);
    for (size_t d = 0; d < indices.size(); ++d) here[input.graph[v].result] = here[input.graph[v].result] + indices[d] * strides[d];
    here[input.graph[v].result] = part.space.simplify(here[input.graph[v].result]);
  }
  auto place = [&](ValueId v) { return results.is_result(v) ? results.place(v) : input.place(v); };
  Tracer tracer(input.graph, computed, place, input.check, part);
  line.operand = tracer.value_at(op.in[0].value, indices);
  for (const KernelInput::Stored& stored : input.stores) part.stores.push_back(trace_store(input, stored, tracer, indices, part));
  turn_loads_into_results(results, here, id, part);
  merge_dims(part);
  kernel.block = radix.block;
  part.grid = {iterations(part) * Size(radix.tiles), 1};
  line.radix = std::move(radix);
  choose_index_width(part);
  kernel.parts.push_back(std::move(part));
}

}  // namespace fusec
