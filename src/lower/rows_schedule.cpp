#include <algorithm>
#include <bit>

#include "kernel/visit.h"
#include "lower/rows.h"
#include "lower/schedule.h"
#include "lower/skew.h"
#include "support/check.h"

namespace fusec {

namespace {

constexpr int64_t kBytesInFlight = 64;       // that a thread should have on the way
constexpr int64_t kMostBytesInFlight = 160;  // where threads are few
constexpr int64_t kHeldBytes = 128;          // that a thread may keep in registers between phases
constexpr int64_t kHeldBytesOfLargest = 96;  // and a thread of a block of kMaxBlock
constexpr int64_t kHeldBytesOfNarrow = 144;  // and of one of kNarrowBlock
constexpr int64_t kKeptBytes = 128;          // of computed values, beside those
constexpr int64_t kKeptBytesOfSkewed = 160;  // (their blocks have fewer threads)
constexpr int64_t kDearInstructions = 8;
constexpr int kBlock = 128, kAcrossBlock = 256;
constexpr int64_t kNarrowBlock = 256, kMaxBlock = 1024;
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMaxSteps = 16;
constexpr int kMaxCluster = 8;  // (portable)
constexpr int64_t kClusterBlock = 512;
// Rows in shared memory: narrow blocks, so that some load while others wait for each other; wider ones where later sweeps wait for loads.
constexpr struct {
  int threads, most;  // on a multiprocessor
} kSharedBlock = {256, 4}, kSharedBlockThatLoads = {512, 3};
constexpr int64_t kBytesInFlightToShared = 32;
constexpr int64_t kReservedBytes = 1024;     // of shared memory a block: the system's, and merged states
constexpr int kMaxColumns = 32;              // threads along the rows, where the lane runs over them
constexpr int64_t kBlocksWanted = 4;         // on a multiprocessor, where blocks share rows: all of them run at once
constexpr int64_t kColumnBytes = 64;         // of states that a thread keeps for its positions
constexpr int64_t kColumnThreadBytes = 160;  // of those and of loads
constexpr int kColumnBlock = 512, kWarp = 32;
constexpr int kLeastTurns = 3;  // of a block, for loads ahead to be worth their shared memory
constexpr int64_t kShortColumn = 1024, kLineBytes = 128;
constexpr double kFilled = 0.9;  // of the multiprocessors, at least, before blocks share rows
constexpr int64_t kMaxSplit = 4096;
constexpr int64_t kThreadsWanted = 1024, kThreadsOfStreams = 1536;
constexpr int64_t kLeastThreads = 896;    // on a multiprocessor, before a row gets more than its loads in flight need
constexpr int kLeastSkewedGroup = 128;    // threads of a block that takes rows in turns
constexpr int kWorthSkew = 4;             // times as wide as vectors would be otherwise
constexpr double kIdleWorth = 0.1;        // of the threads, before each does more
constexpr int64_t kInlinePositions = 16;  // that one thread reduces alone

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t bit_ceil(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1)))); }

int64_t typical(const Part& part, const Size& size) { return std::max<int64_t>(1, evaluate(size, typical_values(part.space.symbols()))); }

// Of the positions that `group` threads take together, those beyond the row.
double idle_share(int64_t positions, int64_t group) {
  return 1 - static_cast<double>(positions) / static_cast<double>(ceil_div(positions, group) * group);
}

// Bytes moved, over the whole kernel, by accesses that run along a variable.
double unit_stride_bytes(const Part& part, const Kernel& kernel, AtomId v) {
  double bytes = 0;
  for_each_access(part, kernel, [&](const Index& index, DType dtype) {
    if (!index.coefficient(v).is(1) || inside_atom(part.space, index, v)) return;
    double elems = 1;
    for (const auto* dims : {&part.dims, &part.sweep->dims})
      for (AtomId d : *dims)
        if (part.space.depends_on(index, d)) elems *= static_cast<double>(typical(part, part.space.extent(d)));
    bytes += elems * bytes_of(dtype);
  });
  return bytes;
}

// Moves the variable along which most bytes lie next to each other to the end. Returns those bytes.
double order_for_memory(const Part& part, const Kernel& kernel, std::vector<AtomId>& dims) {
  double best = 0;
  size_t at = dims.size();
  for (size_t d = dims.size(); d-- > 0;) {
    if (typical(part, part.space.extent(dims[d])) == 1) continue;
    const double bytes = unit_stride_bytes(part, kernel, dims[d]);
    if (bytes > best) best = bytes, at = d;
  }
  if (at < dims.size())
    std::rotate(dims.begin() + static_cast<std::ptrdiff_t>(at), dims.begin() + static_cast<std::ptrdiff_t>(at) + 1, dims.end());
  return best;
}

int wanted_width(const Part& part, const Kernel& kernel, AtomId v) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(preferred_vector(part, kernel, v))));
}

int choose_width(const Part& part, const Kernel& kernel, AtomId v) {
  int width = wanted_width(part, kernel, v);
  while (width > 1 && (!guards_uniform(part, v, width) || !part.space.extent(v).exact_quotient(width))) width /= 2;
  return width;
}

// Of positions, whose lane runs along them: skewed ones where `may_skew` allows it and others would be much narrower.
void choose_vectors_along(const Graph& graph, Part& part, const Kernel& kernel, const std::function<bool(int vector)>& may_skew) {
  std::vector<AtomId>& dims = part.sweep->dims;
  const int width = choose_width(part, kernel, dims.back()), wanted = wanted_width(part, kernel, dims.back());
  if (width * kWorthSkew > wanted || !may_skew(wanted) || !skew_rows(graph, part, kernel, wanted)) apply_vector(part, dims, width);
}

// Where a block takes rows in turns: their number is known, and that of the blocks, none of which shares a row, fills whole vectors.
bool rows_of_block_start_alike(const Part& part, const Target& target, int vector) {
  const Sweep& sweep = *part.sweep;
  const Size positions = iterations(part, sweep.dims);
  if (!positions.is_constant() || !iterations(part).is_constant() || target.multiprocessors < vector) return false;
  const int64_t vectors = positions.value() / vector + 2;
  return positions.value() >= int64_t{kLeastSkewedGroup} * vector && (!sweep.accumulators.empty() || vectors <= kColumnBlock);
}

// Sweeps in which each node's value is used: bit q for sweep q.
std::vector<uint64_t> uses(const Part& part, const std::vector<int>& phase, const std::vector<bool>& along) {
  std::vector<uint64_t> used(part.nodes.size());
  auto use = [&](NodeId n, int in) {
    if (along[n.index]) used[n.index] |= uint64_t{1} << std::min(in, 63);
  };
  for (const Accumulator& a : part.sweep->accumulators) use(a.operand, sweep_of(a, phase));
  for (const Column& c : part.sweep->columns) use(c.accumulator.operand, phase[c.accumulator.operand.index]);
  const int last = *std::max_element(phase.begin(), phase.end());
  for (const Store& s : part.stores) use(s.value, s.last ? last : phase[s.value.index]);
  for (size_t i = part.nodes.size(); i-- > 0;)
    for (NodeId in : part.nodes[NodeId(i)].in)
      if (along[in.index]) used[in.index] |= used[i];
  return used;
}

// Values that are dearer to compute again in a later sweep than to keep in a register.
std::vector<NodeId> choose_kept(const Graph& graph, const Part& part, int64_t bytes) {
  const std::vector<int> phase = phases(part);
  const std::vector<bool> along = along_row(part);
  const std::vector<uint64_t> used = uses(part, phase, along);
  const std::vector<bool> same_for_lanes = part.lane.valid() ? independent_nodes(part, part.lane) : std::vector<bool>(along.size(), true);
  std::vector<NodeId> kept;
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    const Node& n = part.nodes[NodeId(i)];
    if (n.kind != Node::kOp || !along[i] || std::popcount(used[i]) < 2 || node_cost(graph, n) < kDearInstructions) continue;
    const int64_t more = int64_t{part.sweep->steps} * bytes_of(n.dtype) * (same_for_lanes[i] ? 1 : part.vector);
    if (more > bytes) continue;
    bytes -= more;
    kept.push_back(NodeId(i));
  }
  return kept;
}

// Loads along the row that a later sweep needs again.
std::vector<NodeId> choose_staged(const Part& part) {
  const std::vector<bool> along = along_row(part);
  const std::vector<uint64_t> used = uses(part, phases(part), along);
  std::vector<NodeId> staged;
  for (size_t i = 0; i < part.nodes.size(); ++i)
    if (part.nodes[NodeId(i)].kind == Node::kLoad && along[i] && std::popcount(used[i]) > 1) staged.push_back(NodeId(i));
  return staged;
}

// Shifted loads that one sweep needs: their pieces take many registers, and mostly come from the caches.
void choose_late(Part& part) {
  const std::vector<uint64_t> used = uses(part, phases(part), along_row(part));
  for (size_t i = 0; i < part.nodes.size(); ++i)
    if (Node& n = part.nodes[NodeId(i)]; n.shifted) n.late = std::popcount(used[i]) == 1;
}

struct Traffic {
  int64_t first = 0;  // bytes that a position loads in the first sweep
  int64_t held = 0;   // bytes that a later sweep needs again
  int64_t late = 0;   // bytes that it loads only then
  int sweeps = 0;
  bool stores_along = false;
};

Traffic traffic(const Part& part) {
  const std::vector<int> phase = phases(part);
  const std::vector<bool> along = along_row(part);
  const std::vector<uint64_t> used = uses(part, phase, along);
  Traffic t;
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    const Node& n = part.nodes[NodeId(i)];
    if (n.kind == Node::kReduce) t.sweeps = std::max(t.sweeps, phase[i]);
    if (n.kind != Node::kLoad || !along[i]) continue;
    const int64_t bytes = bytes_of_load(part, n);
    (used[i] & 1 ? t.first : t.late) += bytes;
    if (std::popcount(used[i]) > 1) t.held += bytes;
  }
  for (const Store& s : part.stores) t.stores_along |= is_along(part, along, s);
  return t;
}

// True if copies to shared memory can bring it: a thread its vector of a load along the row, a warp the number of the whole row.
bool can_be_copied(const Part& part, const Node& n, bool along) {
  if (n.kind != Node::kLoad || !n.in.empty() || !n.guard.empty() || !depends_on_row(part, n.index)) return false;
  if (along && part.sweep->skew && !n.reads_past_row) return false;
  int64_t bytes = bytes_of(n.dtype);
  if (along && part.lane.valid()) {
    const bool whole = n.index.coefficient(part.lane).is(1) && !inside_atom(part.space, n.index, part.lane) &&
                       part.space.alignment(n.index, part.lane, part.vector) == part.vector;
    if (!whole) return false;
    bytes *= part.vector;
  }
  return bytes == 4 || bytes == 8 || bytes % 16 == 0;
}

// The next row's loads, where there is room for two rows in shared memory.
void choose_ahead(const Target& target, int64_t rows, Kernel& kernel) {
  Part& part = kernel.parts[0];
  Sweep& sweep = *part.sweep;
  if (arch_number(target) < 80 || sweep.group % kWarp != 0 || rows < int64_t{kLeastTurns} * sweep.blocks * sweep.rows) return;
  const std::vector<bool> along = along_row(part);
  for (size_t i = 0; i < part.nodes.size(); ++i)
    if (can_be_copied(part, part.nodes[NodeId(i)], along[i])) sweep.ahead.push_back(NodeId(i));
  const int64_t bytes = places_ahead(part, kernel.block).back();
  if ((bytes + 2 * kReservedBytes) * kernel.blocks_resident > target.shared_bytes_per_block) sweep.ahead.clear();
  else kernel.dynamic_bytes = static_cast<int>(bytes);
}

// What a thread keeps for one step of a row, in bytes of registers, beside states. `ahead`: room for another row's loads.
int64_t loaded_bytes_of_step(const Part& part, bool ahead) {
  const std::vector<bool> along = along_row(part);
  int64_t bytes = 0;
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    const Node& n = part.nodes[NodeId(i)];
    if (n.kind != Node::kLoad || !along[i]) continue;
    bytes += std::max<int64_t>(4, bytes_of_load(part, n)) * (ahead && depends_on_row(part, n.index) ? 2 : 1);
  }
  return bytes;
}

// How many threads take a row, and where it is held between sweeps.
struct RowChoice {
  const Target& target;
  Kernel& kernel;
  Sweep& sweep;
  const Traffic t;
  const int64_t rows, positions;
  const bool known;  // the number of positions
  bool can_split = false;
  int64_t in_flight = 1, group = 1;

  int64_t positions_in_flight(int64_t bytes) const { return std::clamp<int64_t>(bytes / std::max<int64_t>(1, t.first), 1, 8); }

  // Registers can hold a row for groups of `g` threads.
  bool fits(int64_t g) const {
    const int64_t bytes = ceil_div(positions, g) * t.held;
    const int64_t most = g * sweep.rows == kMaxBlock ? kHeldBytesOfLargest : g <= kNarrowBlock ? kHeldBytesOfNarrow : kHeldBytes;
    return ceil_div(positions, g) <= kMaxSteps && bytes <= most;
  }

  // By the smallest group from `group` on whose registers can hold it. False where none can.
  bool hold_in_registers() {
    int64_t holding = group;
    while (holding < kMaxBlock / sweep.rows && !fits(holding)) holding *= 2;
    sweep.held = t.held > 0 && known && fits(holding);
    if (sweep.held) group = holding;
    return sweep.held;
  }

  // Few rows, each too long for the registers of one block: in those of the smallest cluster, where there are multiprocessors enough.
  bool hold_in_cluster() {
    if (arch_number(target) < 90) return false;
    for (int blocks = 2; blocks <= kMaxCluster && rows * blocks <= target.multiprocessors; blocks *= 2) {
      const int64_t steps = ceil_div(positions, blocks * kClusterBlock);
      if (steps > kMaxSteps || steps * t.held > kHeldBytes) continue;
      group = kClusterBlock;
      sweep.split = blocks;
      sweep.cluster = sweep.held = true;
      return true;
    }
    return false;
  }

  // A row that registers cannot hold: in the shared memory of one block, or of a cluster, of which several fit on a multiprocessor.
  void hold_in_shared_memory() {
    const int64_t block_limit = target.shared_bytes_per_block - kReservedBytes;
    const int64_t largest_cluster = arch_number(target) >= 90 ? kMaxCluster : 1;
    const auto block = t.late > t.held ? kSharedBlockThatLoads : kSharedBlock;
    for (int share = block.most; share > 0; --share)
      for (int64_t blocks = 1; blocks <= largest_cluster; blocks *= 2) {
        sweep.group = block.threads;
        sweep.split = static_cast<int>(blocks);
        sweep.cluster = blocks > 1;
        if (positions_of_block(sweep, positions) * t.held > block_limit / share - kReservedBytes) continue;
        kernel.blocks_resident = share;
        sweep.staged = choose_staged(kernel.parts[0]);
        group = sweep.group;
        in_flight = positions_in_flight(kBytesInFlightToShared);
        return;
      }
    sweep.split = 1;
    sweep.cluster = false;
  }

  void choose_threads_across(int block) {
    sweep.rows = static_cast<int>(std::min<int64_t>(kMaxColumns, bit_ceil(rows)));
    // Short columns: narrow blocks, rather than some that share columns: a cache line wide where there are fewer than multiprocessors, and
    // less than two wide where there are fewer than twice as many.
    const int64_t row_bytes = std::max<int64_t>(1, t.first);
    auto too_wide = [&] {
      const int64_t bytes = sweep.rows * row_bytes, blocks = ceil_div(rows, sweep.rows);
      return (bytes > kLineBytes && blocks < target.multiprocessors) || (bytes >= 2 * kLineBytes && blocks < 2 * target.multiprocessors);
    };
    while (positions <= kShortColumn && sweep.rows > 1 && too_wide()) sweep.rows /= 2;
    group = std::min<int64_t>(bit_ceil(ceil_div(positions, in_flight)), kAcrossBlock / sweep.rows);
    // Few threads have more on the way.
    const int64_t most_in_flight = positions_in_flight(kMostBytesInFlight);
    while (in_flight * 2 <= most_in_flight && positions >= in_flight * 2 * group &&
           rows * group * 2 <= target.multiprocessors * kThreadsWanted)
      in_flight *= 2;
    // A thread takes a whole row where there are threads enough.
    while (group > 1 && positions <= kInlinePositions && rows * (group / 2) >= target.multiprocessors * kThreadsWanted) group /= 2;
    hold_in_registers();
    if (block > 0) group = block / sweep.rows;
  }

  void choose_threads_along() {
    group = std::min(bit_ceil(ceil_div(positions, in_flight)), t.held <= kVectorBytes ? kNarrowBlock : kMaxBlock / 2);
    while (group < kMaxBlock / 2 && group < positions && rows * group < target.multiprocessors * kLeastThreads) group *= 2;
    // The largest blocks, two of them on each multiprocessor, where no rows need to be shared then.
    const double filled = static_cast<double>(rows) / static_cast<double>(2 * target.multiprocessors);
    if (can_split && known && positions >= 2 * kMaxBlock * in_flight && filled > kFilled && filled <= 1) {
      group = kMaxBlock;
      kernel.blocks_resident = 2;
    }
    if (hold_in_registers()) return choose_threads_holding();
    if (t.held > 0 && known && !hold_in_cluster()) hold_in_shared_memory();
  }

  // Of a row that the registers of one group hold.
  void choose_threads_holding() {
    // Long rows, one a multiprocessor at most: by its largest block.
    if (rows <= target.multiprocessors && positions >= 2 * kMaxBlock && fits(kMaxBlock)) group = kMaxBlock;
    const bool few = rows <= 2 * target.multiprocessors;
    if (sweep.skew && few) {
      // Shifting what all rows load takes many instructions: few for each thread.
      const int64_t wanted = std::min(t.late > 0 ? kMaxBlock : kNarrowBlock, bit_ceil(positions));
      if (fits(wanted)) group = wanted;
    }
    // Fewer idle threads at the end of a row that is no multiple of anything.
    while (sweep.skew && !few && group > kWarp && fits(group / 2) &&
           idle_share(positions, group / 2) + kIdleWorth < idle_share(positions, group))
      group /= 2;
    // A warp needs no barrier.
    if (group == 2 * kWarp && positions <= 3 * kWarp && fits(kWarp)) group = kWarp;
  }
};

}  // namespace

bool too_few_rows(const Part& part, const Target& target) {
  const Traffic t = traffic(part);
  if (!t.stores_along && t.sweeps == 1) return false;  // blocks can share a row
  const int64_t rows = typical(part, iterations(part)), positions = typical(part, iterations(part, part.sweep->dims));
  const bool in_cluster = arch_number(target) >= 90 && t.held > 0 && iterations(part, part.sweep->dims).is_constant() &&
                          positions * t.held <= kMaxCluster * kClusterBlock * kHeldBytes;
  if (in_cluster) return false;
  return rows * 4 < target.multiprocessors && rows * positions > int64_t{1} << 18;
}

// Each block takes one row after another, its threads always the same positions. Without anything that a whole row has to wait for, blocks
// share a row.
bool schedule_columns(const Graph& graph, const Target& target, const std::function<KernelArg(const Size&)>& scratch, Kernel& kernel) {
  Part& part = kernel.parts[0];
  Sweep& sweep = *part.sweep;
  merge_dims(part, part.dims);
  merge_dims(part, sweep.dims);
  order_for_memory(part, kernel, sweep.dims);
  if (sweep.dims.empty()) return false;
  choose_vectors_along(graph, part, kernel, [&](int vector) { return rows_of_block_start_alike(part, target, vector); });
  const Size position_count = iterations(part, sweep.dims), row_count = iterations(part);
  if (!position_count.is_constant()) return false;
  const int64_t positions = position_count.value(), rows = typical(part, row_count);
  int64_t state_bytes_of_position = 0;
  for (const Column& c : sweep.columns) state_bytes_of_position += state_bytes(c.accumulator) * part.vector;
  const bool waits = !sweep.accumulators.empty();
  const int64_t step_bytes = state_bytes_of_position + loaded_bytes_of_step(part, waits);
  const int64_t most_steps = std::max<int64_t>(1, std::min(kColumnBytes / state_bytes_of_position, kColumnThreadBytes / step_bytes));
  sweep.group = static_cast<int>(std::min<int64_t>(waits ? kMaxBlock : kColumnBlock, bit_ceil(positions)));
  while (waits && sweep.group > kColumnBlock && ceil_div(positions, sweep.group / 2) <= most_steps) sweep.group /= 2;
  const int64_t turns = ceil_div(positions, sweep.group);
  if (waits && turns > most_steps) return false;
  sweep.steps = static_cast<int>(waits ? turns : part.vector > 1 ? 1 : std::min(turns, most_steps));
  sweep.split = static_cast<int>(ceil_div(turns, sweep.steps));
  sweep.steps = static_cast<int>(ceil_div(turns, sweep.split));
  sweep.rows = sweep.skew ? 1 : std::max(1, kColumnBlock / sweep.group);  // (rows side by side start at different elements)
  kernel.block = sweep.group * sweep.rows;
  sweep.held = true;
  sweep.kept = choose_kept(graph, part, kKeptBytes / 2);
  kernel.blocks_resident =
      static_cast<int>(std::max<int64_t>(1, (waits || step_bytes > kKeptBytes / 2 ? kThreadsWanted : kThreadsOfStreams) / kernel.block));
  const int64_t resident = std::max<int64_t>(1, int64_t{kernel.blocks_resident} * target.multiprocessors / sweep.split);
  sweep.blocks = static_cast<int>(std::clamp<int64_t>(ceil_div(rows, sweep.rows), 1, resident));
  if (sweep.skew && sweep.blocks < rows) sweep.blocks -= sweep.blocks % part.vector;
  for (Column& c : sweep.columns) {
    const Size states = position_count * Size(int64_t{part.vector} * sweep.blocks);
    Buffer b{scratch(states * Size(state_bytes(c.accumulator))), c.accumulator.dtype, "partial"};
    b.written = true;
    c.accumulator.partials = kernel.buffers.push(std::move(b));
  }
  if (waits) choose_ahead(target, rows, kernel);
  part.grid = {Size(int64_t{sweep.blocks} * sweep.split), 1};
  name_shared_atoms(part);
  choose_index_width(part);
  return true;
}

void schedule_rows(const Graph& graph, const Target& target, const std::function<KernelArg(const Size&)>& scratch, Kernel& kernel,
                   int across_block) {
  Part& part = kernel.parts[0];
  Sweep& sweep = *part.sweep;
  merge_dims(part, part.dims);
  merge_dims(part, sweep.dims);
  const double along_bytes = order_for_memory(part, kernel, sweep.dims), across_bytes = order_for_memory(part, kernel, part.dims);
  sweep.across = across_bytes > along_bytes;
  std::vector<AtomId>& vector_dims = sweep.across ? part.dims : sweep.dims;
  if (!vector_dims.empty()) {
    if (sweep.across) apply_vector(part, vector_dims, choose_width(part, kernel, vector_dims.back()));
    else choose_vectors_along(graph, part, kernel, [](int) { return true; });
  }

  const Size row_count = iterations(part), position_count = iterations(part, sweep.dims);
  RowChoice c{target, kernel, sweep, traffic(part), typical(part, row_count), typical(part, position_count), position_count.is_constant()};
  c.can_split = c.t.sweeps == 1 && !c.t.stores_along && row_count.is_constant() && !(sweep.across && across_block > 0);
  c.in_flight = c.positions_in_flight(kBytesInFlight);
  if (sweep.across) c.choose_threads_across(across_block);
  else c.choose_threads_along();
  sweep.group = static_cast<int>(c.group);
  if (!sweep.across) sweep.rows = static_cast<int>(std::max<int64_t>(1, kBlock / c.group));
  kernel.block = sweep.group * sweep.rows;

  const int64_t rows = c.rows, positions = c.positions;
  const int64_t row_blocks = ceil_div(rows, sweep.rows);
  if (c.can_split) {
    // Blocks share rows where there are not enough for all multiprocessors.
    const bool enough = row_blocks * kernel.block >= target.multiprocessors * 2 * kThreadsWanted || kernel.blocks_resident > 0;
    const int64_t wanted =
        enough ? 1 : ceil_div(target.multiprocessors * kBlocksWanted * 256, kernel.block) / std::max<int64_t>(1, row_blocks);
    const int64_t most_blocks = std::clamp<int64_t>(std::min(wanted, positions / (2 * c.group * c.in_flight)), 1, kMaxSplit);
    sweep.split = static_cast<int>(std::bit_floor(static_cast<uint64_t>(most_blocks)));
  }
  const int64_t whole = ceil_div(positions, c.group * sweep.split);
  sweep.steps = static_cast<int>(sweep.held || (position_count.is_constant() && whole <= (c.group == 1 ? kInlinePositions : c.in_flight))
                                     ? std::max<int64_t>(whole, 1)
                                     : c.in_flight);
  if (sweep.held) sweep.kept = choose_kept(graph, part, sweep.skew ? kKeptBytesOfSkewed : kKeptBytes);
  if (sweep.skew) choose_late(part);
  if (!sweep.staged.empty()) kernel.dynamic_bytes = static_cast<int>(positions_of_block(sweep, positions) * c.t.held);
  if (sweep.cluster) {
    part.grid = {row_count * Size(sweep.split), 1};
  } else if (sweep.split > 1) {
    for (Accumulator& a : sweep.accumulators) {
      const Size states = row_count * Size(sweep.split) * Size(part.lane.valid() && sweep.across ? part.vector : 1);
      Buffer b{scratch(states * Size(state_bytes(a))), DType::kU8, "partial"};
      b.read = b.written = true;
      a.partials = kernel.buffers.push(std::move(b));
    }
    part.grid = {Size(row_blocks * sweep.split), 1};
  } else {
    part.grid = {row_count, sweep.rows};
  }
  name_shared_atoms(part);
  choose_index_width(part);
}

}  // namespace fusec
