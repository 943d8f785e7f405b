#include "lower/lines.h"

#include <algorithm>

#include "kernel/visit.h"
#include "lower/line_values.h"
#include "lower/schedule.h"
#include "support/check.h"

namespace fusec {

namespace {

constexpr int kBlock = 256, kSortBlock = 128;
constexpr int64_t kManyRows = 1024;  // that keep all multiprocessors busy, a warp each

// A thread for each row where that makes neighbours touch neighbouring elements, unless few threads would take many turns.
bool goes_across(const Part& part) {
  const Index& index = part.stores[0].index;
  if (!part.line->position.valid() || index.coefficient(part.line->position).is(1) || part.dims.empty()) return false;
  const Size rows = iterations(part);
  const bool few = rows.is_constant() && rows.value() < 1024, is_long = !part.line->extent.is_constant() || part.line->extent.value() > 256;
  return index.coefficient(part.dims.back()).is(1) && !(few && is_long);
}

// `in_order`: one after the other, as products of floats are unless rows are long: those of a part of the row may overflow where what
// stands before them is 0.
void schedule_scan(bool in_order, Part& part, Kernel& kernel) {
  Line& line = *part.line;
  line.across = in_order || goes_across(part);
  kernel.block = kBlock;
  const bool is_short = line.extent.is_constant() && line.extent.value() <= 128;
  line.group = line.across ? 1 : is_short ? 32 : kBlock;
  part.grid = {iterations(part), kernel.block / line.group};
}

void share_rows(const ScanChunks& chunks, Part& part, Kernel& kernel) {
  Line& line = *part.line;
  line.group = kernel.block = kBlock;
  line.chunks = chunks.count;
  line.chunk = chunks.elems;
  line.totals = chunks.totals;
  line.sums_chunks = chunks.first;
  line.looks_back = chunks.looks_back;
  part.grid = {iterations(part) * Size(chunks.count), 1};
}

void schedule_sort(const Graph& graph, Part& part, Kernel& kernel) {
  Line& line = *part.line;
  const int64_t longest = part.space.highest(Index(line.extent));
  FUSEC_CHECK(longest <= kBlockSortedRow, "a row that is too long for '" + graph.name_of(line.op) + "'");
  line.capacity = 2;
  while (line.capacity < longest) line.capacity *= 2;
  kernel.block = line.group = std::clamp(line.capacity, 32, 512);
  part.grid = {iterations(part), 1};
  const bool many = !part.grid.elems.is_constant() || part.grid.elems.value() >= kManyRows;
  if (line.counts() && (line.capacity <= 32 || many)) {
    line.group = 32, kernel.block = kSortBlock;
    part.grid.per_block = kSortBlock / 32;
  }
}

}  // namespace

ScanChunks plan_chunks(const Graph& graph, const Target& target, OpId id) {
  constexpr int64_t kChunk = 4096;    // positions at least
  constexpr int64_t kBlocksEach = 4;  // of a multiprocessor
  const Op& op = graph[id];
  const Shape& shape = graph[op.in[0].value].shape;
  ScanChunks chunks;
  if (info(op.kind).category != OpCategory::kScan || shape.empty()) return chunks;
  const Size& extent = shape[static_cast<size_t>(graph.attrs(op).dim)];
  if (!extent.is_constant() || extent.value() < 2 * kChunk) return chunks;
  const int64_t elems = evaluate(element_count(shape), typical_values(graph.symbols)), rows = std::max<int64_t>(elems / extent.value(), 1);
  if (rows >= target.multiprocessors) return chunks;
  const Size all_rows = line_rows(graph, id);
  if (!is_float(graph[op.in[0].value].dtype) && all_rows.is_constant()) {
    constexpr int64_t kMostChunks = 1 << 18;  // whose words are part of the program
    chunks.elems = kChunk;
    chunks.count = (extent.value() + kChunk - 1) / kChunk;
    chunks.looks_back = chunks.count * all_rows.value() <= kMostChunks;
    if (chunks.looks_back) return chunks;
  }
  const int64_t wanted = target.multiprocessors * kBlocksEach / rows;
  chunks.elems = std::max((extent.value() + wanted - 1) / wanted, kChunk);
  chunks.elems = (chunks.elems + kChunk - 1) / kChunk * kChunk;
  chunks.count = (extent.value() + chunks.elems - 1) / chunks.elems;
  return chunks;
}

Size line_rows(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  const Shape& shape = graph[op.in[0].value].shape;
  Size rows = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    if (static_cast<int64_t>(d) != graph.attrs(op).dim) rows *= shape[d];
  return rows;
}

std::vector<Index> line_indices(Part& part, const Shape& shape, size_t dim) {
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

void lower_line(const KernelInput& input, OpId id, const ScanChunks& chunks, Kernel& kernel) {
  const Op& op = input.graph[id];
  const ValueId x = op.in[0].value;
  const Shape& shape = input.graph[x].shape;
  const bool is_scan = info(op.kind).category == OpCategory::kScan;
  if (element_count(input.graph[op.out[0].valid() ? op.out[0] : op.out[1]].shape).is(0)) return;
  Part part(input.graph.symbols);
  part.line.emplace();
  part.line->op = id;
  const size_t dim = static_cast<size_t>(input.graph.attrs(op).dim);
  part.line->extent = shape.empty() ? Size(1) : shape[dim];
  const std::vector<Index> indices = line_indices(part, shape, dim);
  trace_line(input, id, indices, part, kernel);
  merge_dims(part);
  constexpr int64_t kLongRow = 4096;
  const bool is_short = part.line->extent.is_constant() && part.line->extent.value() <= kLongRow;
  if (chunks.count > 1) share_rows(chunks, part, kernel);
  else if (is_scan) schedule_scan(op.kind == OpKind::kCumprod && is_float(input.graph[x].dtype) && is_short, part, kernel);
  else schedule_sort(input.graph, part, kernel);
  choose_index_width(part);
  kernel.parts.push_back(std::move(part));
}

}  // namespace fusec
