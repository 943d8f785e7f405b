#include "lower/radix.h"

#include <algorithm>
#include <iterator>

#include "graph/updates.h"
#include "kernel/visit.h"
#include "lower/line_values.h"
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
  trace_line(input, id, indices, part, kernel);
  merge_dims(part);
  kernel.block = radix.block;
  part.grid = {iterations(part) * Size(radix.tiles), 1};
  line.radix = std::move(radix);
  choose_index_width(part);
  kernel.parts.push_back(std::move(part));
}

}  // namespace fusec
