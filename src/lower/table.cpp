#include "lower/table.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernel/visit.h"
#include "lower/schedule.h"

namespace fusec {

namespace {

constexpr int kMostTables = 3;              // of a target that has one: most updates of larger ones go to memory anyway
constexpr int64_t kManyUpdates = 32768;     // fewer are over before a table is cleared
constexpr int64_t kUpdatesPerBlock = 4096;  // at least, and as many as a table has elements, which it takes to add them up
constexpr int64_t kFewestCopies = 4;
constexpr int kCopiesOfVectors = 16;                         // of a table, which is slower with fewer than vectors of updates in memory
constexpr int64_t kCacheSize = 4096, kCacheWorth = 1 << 21;  // elements; updates, each of which costs the look into the table
constexpr int64_t kRestSize = 1024, kStep = 64;              // elements: for what a table leaves, and by which tables grow
constexpr int64_t kCopiesBytes = 64 << 10;                   // of a table with copies
constexpr int64_t kBytesInFlight = 64, kOfVectors = 96;      // that a thread loads at once
constexpr int kMostRepeats = 4, kRepeatsOfVectors = 2;       // (more take registers that all blocks of a multiprocessor do not have)
constexpr int64_t kMostShares = 6;                           // (each reads all indices)

Size updates_of(const Part& part) {
  const Size all = iterations(part) * Size(part.vector);
  return part.serial.valid() ? all * part.space.extent(part.serial) : all;
}

// True if every update adds the same and a block cannot count beyond 32 bits.
bool is_counted(const Part& part) {
  const Store& store = part.stores[0];
  const Size updates = updates_of(part);
  return store.accumulate == Accumulate::kAdd && part.nodes[store.value].kind == Node::kConstant && updates.is_constant() &&
         updates.value() < int64_t{1} << 32;
}

// True if one instruction adds several elements that lie side by side.
bool is_vector_update(const Part& part, const Kernel& kernel) {
  const Store& store = part.stores[0];
  return part.lane.valid() && kernel.buffers[store.buffer].dtype == DType::kF32 && store.accumulate == Accumulate::kAdd &&
         store.index.coefficient(part.lane).is(1) && !inside_atom(part.space, store.index, part.lane);
}

// True if such elements are a vector of the target that no other overlaps.
bool has_places_of_vectors(const Part& part) {
  return !part.has_tail && part.space.alignment(part.stores[0].index, part.lane, part.vector) == part.vector;
}

// A table of the whole target, or of as much as fits beside a cache for the rest: while shared memory and the L2 cache both update, neither
// waits. Or none.
std::optional<Table> whole_table(const Target& target, int64_t size, DType dtype, const Part& part, int64_t updates, bool always) {
  Table table;
  table.dtype = dtype;
  table.counts = is_counted(part);
  const int64_t each = table.element_bytes(), most = target.shared_bytes_per_block - 1024;
  if (size * each > kMostTables * most || (!always && updates < std::max(kManyUpdates, 4 * size))) return std::nullopt;
  if (size * each > most) {
    table.cache = kRestSize;
    table.whole = (most - table.bytes()) / each / kStep * kStep;
    return table;
  }
  table.whole = size;
  // Threads that add floats wait for each other, as shared memory has no operation for that.
  const int64_t copies = std::bit_floor(static_cast<uint64_t>(kCopiesBytes / (size * each)));
  if (is_float(dtype) && !table.counts && part.stores[0].accumulate == Accumulate::kAdd && copies >= kFewestCopies)
    table.copies = static_cast<int>(std::min<int64_t>(copies, 32));
  return table;
}

// What many updates meet in comes early, and finds its place free.
std::optional<Table> cache(int64_t size, DType dtype, int lanes, int64_t updates, bool always) {
  if (size > std::numeric_limits<int32_t>::max()) return std::nullopt;
  if (!always && updates < kCacheWorth) return std::nullopt;
  Table table;
  table.cache = kCacheSize / lanes;
  table.lanes = lanes;
  table.dtype = dtype;
  return table;
}

// The nodes that the place of the update needs, or the check of an index.
std::vector<bool> needed_by_indices(const Part& part) {
  const Store& store = part.stores[0];
  std::vector<NodeId> roots = part.space.data_of(store.index);
  for (const Index& g : store.guard)
    for (NodeId id : part.space.data_of(g)) roots.push_back(id);
  for (size_t i = 0; i < part.nodes.size(); ++i)
    if (part.nodes[NodeId(i)].kind == Node::kChecked) roots.push_back(NodeId(i));
  return needed_nodes(part, roots);
}

// Loads that serve a value are left out where the guards do not hold. Those of long rows only: others share their sectors.
void guard_values(const std::vector<Index>& guards, const std::vector<bool>& indices, Part& part) {
  if (part.dims.size() < 2) return;
  const int64_t row = evaluate(part.space.extent(part.dims.back()), typical_values(part.space.symbols())) * part.vector;
  const std::vector<NodeId> place = part.space.data_of(part.stores[0].index);
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    Node& n = part.nodes[NodeId(i)];
    const bool follows = std::all_of(place.begin(), place.end(), [&](NodeId p) { return p.index < i; });
    if (n.kind != Node::kLoad || indices[i] || !follows || row * bytes_of(n.dtype) < kSectorBytes) continue;
    n.guard.insert(n.guard.end(), guards.begin(), guards.end());
    n.in.insert(n.in.end(), place.begin(), place.end());
  }
}

// Updates miss a target that the L2 cache cannot hold: where they come back to a sector, its shares are updated in turns.
void divide_target(const Target& target, int64_t size, int64_t updates, Part& part) {
  Table& table = *part.table;
  const int64_t bytes = size * bytes_of(table.dtype), room = target.l2_bytes / 5 * 3;
  const int64_t shares = std::min((bytes + room - 1) / room, kMostShares);
  if (bytes <= target.l2_bytes || bytes > shares * target.l2_bytes || updates * kSectorBytes < 2 * bytes) return;
  const std::vector<bool> indices = needed_by_indices(part);
  table.share = part.space.add_variable("share", Size(shares));
  Store& store = part.stores[0];
  const int64_t each = (size / table.lanes + shares - 1) / shares * table.lanes;
  Index at = store.index;
  if (table.lanes > 1) at = at - part.space.variable(part.lane);
  const Index from = at - part.space.variable(table.share) * Size(each), left = Index(Size(each - 1)) - from;
  const std::vector<Index> mine{part.space.simplify(from), part.space.simplify(left)};
  store.guard.insert(store.guard.end(), mine.begin(), mine.end());
  if (part.vector == table.lanes) guard_values(mine, indices, part);
}

}  // namespace

std::string make_table(const Target& target, const Size& elements, ScatterSchedule schedule, Kernel& kernel) {
  Part& part = kernel.parts[0];
  const Store& store = part.stores[0];
  if (!elements.is_constant()) return "the target's size is open";
  if (part.tile) return "the updates go through tiles that are turned in shared memory";
  const DType dtype = kernel.buffers[store.buffer].dtype;
  const int64_t updates = evaluate(updates_of(part), typical_values(part.space.symbols()));
  const bool is_auto = schedule == ScatterSchedule::kAuto, vectors = is_vector_update(part, kernel);
  const int lanes = vectors && has_places_of_vectors(part) ? part.vector : 1;
  if (schedule != ScatterSchedule::kCached)
    part.table = whole_table(target, elements.value(), dtype, part, updates, schedule == ScatterSchedule::kShared);
  const bool wants_cache = is_auto && (!part.table || (lanes > 1 && part.table->copies < kCopiesOfVectors));
  // (Vectors that have no places go to memory together, where they meet less.)
  if (schedule == ScatterSchedule::kCached || (wants_cache && (!vectors || lanes > 1)))
    if (auto made = cache(elements.value(), dtype, lanes, updates, !is_auto)) part.table = std::move(made);
  if (!part.table)
    return schedule == ScatterSchedule::kShared ? "the target is larger than " + std::to_string(kMostTables) + " blocks' shared memory"
                                                : "the target has more elements than 32 bits count";
  Table& table = *part.table;
  if (table.whole == 0) divide_target(target, elements.value(), updates, part);
  kernel.dynamic_bytes = static_cast<int>(table.bytes());
  const int64_t by_memory = std::clamp<int64_t>((target.shared_bytes_per_block - 1024) / (kernel.dynamic_bytes + 1024), 1, 4);
  kernel.block = by_memory == 1 ? 1024 : 512;
  const int64_t resident = std::min<int64_t>(by_memory, target.threads_per_multiprocessor / kernel.block);
  kernel.blocks_resident = static_cast<int>(resident);  // all of the grid at once, whatever registers that leaves
  const int64_t in_flight = table.lanes > 1 ? kOfVectors : kBytesInFlight, most = table.lanes > 1 ? kRepeatsOfVectors : kMostRepeats;
  if (!part.serial.valid())
    part.unroll = static_cast<int>(std::clamp<int64_t>(in_flight / std::max<int64_t>(1, loaded_bytes(part)), 1, most));
  table.updates = grid_of(part, kernel.block);
  const int64_t wanted = updates / std::max(kUpdatesPerBlock, 2 * (table.whole + table.cache));
  part.grid = {Size(std::clamp<int64_t>(wanted, 1, target.multiprocessors * resident)), 1};
  return "";
}

}  // namespace fusec
