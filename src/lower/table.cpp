#include "lower/table.h"

#include <algorithm>
#include <bit>

#include "kernel/visit.h"
#include "lower/schedule.h"

namespace fusec {

namespace {

constexpr int kMaxSlices = 3;               // (every update is read as often)
constexpr int64_t kManyUpdates = 32768;     // fewer are over before a table is cleared
constexpr int64_t kUpdatesPerBlock = 4096;  // at least, and as many as a table has elements, which it takes to add them up
constexpr int64_t kCopiesBytes = 32 << 10;  // of a table with copies
constexpr int64_t kBytesInFlight = 64;      // that a thread loads at once

// True if every update adds the same and a block cannot count beyond 32 bits.
bool is_counted(const Part& part) {
  const Store& store = part.stores[0];
  const Size updates = iterations(part) * Size(part.vector);
  return store.accumulate == Accumulate::kAdd && part.nodes[store.value].kind == Node::kConstant && updates.is_constant() &&
         updates.value() < int64_t{1} << 32;
}

// Shared memory has atomic operations for integers of 32 bits only: others compare and swap, and wait for each other.
bool waits(const Table& table) { return !table.counts && table.dtype != DType::kI32; }

int64_t loaded_bytes(const Part& part) {
  int64_t bytes = 0;
  for (const Node& n : part.nodes)
    if (n.kind == Node::kLoad) bytes += int64_t{bytes_of(n.dtype)} * part.vector;
  return bytes;
}

}  // namespace

void make_table(const Target& target, const Size& elements, bool always, Kernel& kernel) {
  Part& part = kernel.parts[0];
  const Store& store = part.stores[0];
  if (!elements.is_constant() || part.dims.empty() || part.tile || store.accumulate == Accumulate::kNone) return;
  Table table;
  table.size = elements.value();
  table.dtype = kernel.buffers[store.buffer].dtype;
  table.counts = is_counted(part);
  const int64_t most = target.shared_bytes_per_block - 1024, bytes = table.size * table.element_bytes();
  const int64_t updates = evaluate(iterations(part), typical_values(part.space.symbols())) * part.vector;
  if (bytes > kMaxSlices * most) return;
  if (!always && (updates < kManyUpdates || updates < 4 * table.size)) return;
  table.slices = static_cast<int>((bytes + most - 1) / most);
  const int64_t slice_bytes = table.range() * table.element_bytes();
  if (waits(table) && store.accumulate == Accumulate::kAdd)
    table.copies = static_cast<int>(std::clamp<int64_t>(std::bit_floor(static_cast<uint64_t>(kCopiesBytes / slice_bytes)), 1, 32));
  kernel.dynamic_bytes = static_cast<int>(slice_bytes * table.copies);
  const int64_t resident = std::clamp<int64_t>(most / (kernel.dynamic_bytes + 1024), 1, 4);
  kernel.block = resident == 1 ? 1024 : 512;
  if (!part.serial.valid())
    part.unroll = static_cast<int>(std::clamp<int64_t>(kBytesInFlight / std::max<int64_t>(1, loaded_bytes(part)), 1, 4));
  table.updates = grid_of(part, kernel.block);
  const int64_t wanted = updates / std::max(kUpdatesPerBlock, 2 * table.size);
  const int64_t teams = std::clamp<int64_t>(wanted, 1, target.multiprocessors * resident / table.slices);
  part.grid = {Size(teams * table.slices), 1};
  part.table = table;
}

}  // namespace fusec
