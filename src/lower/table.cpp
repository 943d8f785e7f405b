#include "lower/table.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernel/visit.h"
#include "lower/schedule.h"

namespace fusec {

namespace {

constexpr int kMaxSlices = 3;               // (every update is read as often)
constexpr int64_t kManyUpdates = 32768;     // fewer are over before a table is cleared
constexpr int64_t kUpdatesPerBlock = 4096;  // at least, and as many as a table has elements, which it takes to add them up
constexpr int64_t kFewestCopies = 4;
constexpr int64_t kCacheSize = 4096, kCacheWorth = 1 << 21;  // elements; updates, each of which costs the look into the table
constexpr int64_t kCopiesBytes = 64 << 10;                   // of a table with copies
constexpr int64_t kBytesInFlight = 64;                       // that a thread loads at once

// True if every update adds the same and a block cannot count beyond 32 bits.
bool is_counted(const Part& part) {
  const Store& store = part.stores[0];
  const Size updates = iterations(part) * Size(part.vector);
  return store.accumulate == Accumulate::kAdd && part.nodes[store.value].kind == Node::kConstant && updates.is_constant() &&
         updates.value() < int64_t{1} << 32;
}

// True if one instruction adds several elements that lie side by side.
bool is_vector_update(const Part& part, const Kernel& kernel) {
  const Index& index = part.stores[0].index;
  return part.lane.valid() && kernel.buffers[part.stores[0].buffer].dtype == DType::kF32 && index.coefficient(part.lane).is(1) &&
         !inside_atom(part.space, index, part.lane);
}

int64_t loaded_bytes(const Part& part) {
  int64_t bytes = 0;
  for (const Node& n : part.nodes)
    if (n.kind == Node::kLoad) bytes += int64_t{bytes_of(n.dtype)} * part.vector;
  return bytes;
}

// A table that holds the whole target, in slices where it must; or none.
std::optional<Table> whole_table(const Target& target, int64_t size, DType dtype, const Part& part, int64_t updates, bool always) {
  Table table;
  table.size = size;
  table.dtype = dtype;
  table.counts = is_counted(part);
  const int64_t most = target.shared_bytes_per_block - 1024, bytes = size * table.element_bytes();
  if (bytes > kMaxSlices * most || (!always && updates < std::max(kManyUpdates, 4 * size))) return std::nullopt;
  table.slices = static_cast<int>((bytes + most - 1) / most);
  // Threads that add floats wait for each other, as shared memory has no operation for that.
  const int64_t copies = std::bit_floor(static_cast<uint64_t>(kCopiesBytes / (table.range() * table.element_bytes())));
  if (is_float(dtype) && !table.counts && part.stores[0].accumulate == Accumulate::kAdd && copies >= kFewestCopies)
    table.copies = static_cast<int>(std::min<int64_t>(copies, 32));
  return table;
}

// What many updates meet in comes early, and finds its place free.
std::optional<Table> cache(int64_t size, DType dtype, int64_t updates, bool always) {
  if (size > std::numeric_limits<int32_t>::max()) return std::nullopt;
  if (!always && updates < kCacheWorth) return std::nullopt;
  Table table;
  table.size = kCacheSize;
  table.dtype = dtype;
  table.cached = true;
  return table;
}

}  // namespace

std::string make_table(const Target& target, const Size& elements, ScatterSchedule schedule, Kernel& kernel) {
  Part& part = kernel.parts[0];
  const Store& store = part.stores[0];
  if (!elements.is_constant()) return "the target's size is open";
  if (part.tile) return "the updates go through tiles that are turned in shared memory";
  const DType dtype = kernel.buffers[store.buffer].dtype;
  const int64_t updates = evaluate(iterations(part), typical_values(part.space.symbols())) * part.vector;
  if (schedule != ScatterSchedule::kCached)
    part.table = whole_table(target, elements.value(), dtype, part, updates, schedule == ScatterSchedule::kShared);
  // (Vectors of updates meet less, and are faster together.)
  if (!part.table && schedule != ScatterSchedule::kShared && (schedule == ScatterSchedule::kCached || !is_vector_update(part, kernel)))
    part.table = cache(elements.value(), dtype, updates, schedule == ScatterSchedule::kCached);
  if (!part.table)
    return schedule == ScatterSchedule::kShared ? "the target does not fit into " + std::to_string(kMaxSlices) + " blocks' shared memory"
                                                : "the target has more elements than 32 bits count";
  Table& table = *part.table;
  kernel.dynamic_bytes = static_cast<int>(table.range() * (table.element_bytes() * table.copies + (table.cached ? 4 : 0)));
  const int64_t by_memory = std::clamp<int64_t>((target.shared_bytes_per_block - 1024) / (kernel.dynamic_bytes + 1024), 1, 4);
  kernel.block = by_memory == 1 ? 1024 : 512;
  const int64_t resident = std::min<int64_t>(by_memory, target.threads_per_multiprocessor / kernel.block);
  kernel.blocks_resident = static_cast<int>(resident);  // all of the grid at once, whatever registers that leaves
  if (!part.serial.valid())
    part.unroll = static_cast<int>(std::clamp<int64_t>(kBytesInFlight / std::max<int64_t>(1, loaded_bytes(part)), 1, 4));
  table.updates = grid_of(part, kernel.block);
  const int64_t wanted = updates / std::max(kUpdatesPerBlock, 2 * table.size);
  const int64_t teams = std::clamp<int64_t>(wanted, 1, target.multiprocessors * resident / table.slices);
  part.grid = {Size(teams * table.slices), 1};
  return "";
}

}  // namespace fusec
