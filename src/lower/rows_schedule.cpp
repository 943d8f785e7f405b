#include <algorithm>
#include <bit>

#include "kernel/visit.h"
#include "lower/rows.h"
#include "lower/schedule.h"
#include "support/check.h"

namespace fusec {

namespace {

constexpr int64_t kBytesInFlight = 64;       // that a thread should have on the way
constexpr int64_t kHeldBytes = 128;          // that a thread may keep in registers between phases
constexpr int64_t kHeldBytesOfLargest = 96;  // and a thread of a block of kMaxBlock
constexpr int64_t kKeptBytes = 128;          // of computed values, beside those
constexpr int64_t kDearInstructions = 8;
constexpr int kBlock = 128, kAcrossBlock = 256, kMaxBlock = 1024;
constexpr int64_t kMaxSteps = 16;
constexpr int kClusterBlock = 512, kMaxCluster = 8;  // (portable)
constexpr int kMaxColumns = 32;                      // threads along the rows, where the lane runs over them
constexpr int64_t kBlocksWanted = 32;                // on a multiprocessor, before blocks stop sharing rows
constexpr int64_t kMaxSplit = 4096;
constexpr int64_t kThreadsWanted = 1024;
constexpr int64_t kInlinePositions = 16;  // that one thread reduces alone

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t bit_ceil(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1)))); }

int64_t typical(const Part& part, const Size& size) { return std::max<int64_t>(1, evaluate(size, typical_values(part.space.symbols()))); }

bool target_has_clusters(const Target& target) { return std::atoi(target.arch.c_str() + 3) >= 90; }

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

int choose_width(const Part& part, const Kernel& kernel, AtomId v) {
  int width = std::bit_floor(static_cast<unsigned>(preferred_vector(part, kernel, v)));
  while (width > 1 && (!guards_uniform(part, v, width) || !part.space.extent(v).exact_quotient(width))) width /= 2;
  return width;
}

// Sweeps in which each node's value is used: bit q for sweep q.
std::vector<uint64_t> uses(const Part& part, const std::vector<int>& phase, const std::vector<bool>& along) {
  std::vector<uint64_t> used(part.nodes.size());
  auto use = [&](NodeId n, int in) {
    if (along[n.index]) used[n.index] |= uint64_t{1} << std::min(in, 63);
  };
  for (const Accumulator& a : part.sweep->accumulators)
    use(a.operand, std::max(phase[a.operand.index], a.mean.valid() ? phase[a.mean.index] : 0));
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
  std::vector<NodeId> kept;
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    const Node& n = part.nodes[NodeId(i)];
    if (n.kind != Node::kOp || !along[i] || std::popcount(used[i]) < 2 || node_cost(graph, n) < kDearInstructions) continue;
    const bool lanes = part.lane.valid() && !independent_nodes(part, part.lane)[i];
    const int64_t more = int64_t{part.sweep->steps} * bytes_of(n.dtype) * (lanes ? part.vector : 1);
    if (more > bytes) continue;
    bytes -= more;
    kept.push_back(NodeId(i));
  }
  return kept;
}

struct Traffic {
  int64_t first = 0;  // bytes that a position loads in the first sweep
  int64_t held = 0;   // bytes that a later sweep needs again
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
    const int64_t bytes = bytes_of(n.dtype) * (part.lane.valid() && part.space.depends_on(n.index, part.lane) ? part.vector : 1);
    if (used[i] & 1) t.first += bytes;
    if (std::popcount(used[i]) > 1) t.held += bytes;
  }
  for (const Store& s : part.stores) {
    auto varies = [&](AtomId v) { return part.space.depends_on(s.index, v); };
    t.stores_along |= along[s.value.index] || std::any_of(part.sweep->dims.begin(), part.sweep->dims.end(), varies);
  }
  return t;
}

}  // namespace

bool too_few_rows(const Part& part, const Target& target) {
  if (!traffic(part).stores_along && traffic(part).sweeps == 1) return false;  // blocks can share a row
  const int64_t rows = typical(part, iterations(part)), positions = typical(part, iterations(part, part.sweep->dims));
  return rows * 4 < target.multiprocessors && rows * positions > int64_t{1} << 18;
}

void schedule_rows(const Graph& graph, const Target& target, const std::function<KernelArg(const Size&)>& scratch, Kernel& kernel) {
  Part& part = kernel.parts[0];
  Sweep& sweep = *part.sweep;
  merge_dims(part, part.dims);
  merge_dims(part, sweep.dims);
  const double along_bytes = order_for_memory(part, kernel, sweep.dims), across_bytes = order_for_memory(part, kernel, part.dims);
  sweep.across = across_bytes > along_bytes;
  std::vector<AtomId>& vector_dims = sweep.across ? part.dims : sweep.dims;
  if (!vector_dims.empty()) apply_vector(part, vector_dims, choose_width(part, kernel, vector_dims.back()));

  const Traffic t = traffic(part);
  const Size row_count = iterations(part), position_count = iterations(part, sweep.dims);
  const int64_t rows = typical(part, row_count), positions = typical(part, position_count);
  const int64_t in_flight = std::clamp<int64_t>(kBytesInFlight / std::max<int64_t>(1, t.first), 1, 8);
  int64_t group = bit_ceil(ceil_div(positions, in_flight));
  if (sweep.across) {
    sweep.rows = static_cast<int>(std::min<int64_t>(kMaxColumns, bit_ceil(rows)));
    group = std::min<int64_t>(group, kAcrossBlock / sweep.rows);
    // A thread takes a whole row where there are threads enough.
    while (group > 1 && positions <= kInlinePositions && rows * (group / 2) >= target.multiprocessors * kThreadsWanted) group /= 2;
  } else {
    group = std::min<int64_t>(group, 512);
    while (group < kMaxBlock / 2 && group < positions && rows * group < target.multiprocessors * kThreadsWanted) group *= 2;
  }
  // Larger groups, then clusters of blocks, while that lets the row be held.
  const int64_t most = kMaxBlock / sweep.rows;
  auto fits = [&](int64_t g, int64_t blocks) {
    const int64_t each = ceil_div(positions, g * blocks), bytes = each * t.held;
    return each <= kMaxSteps && bytes <= (g * sweep.rows == kMaxBlock ? kHeldBytesOfLargest : kHeldBytes);
  };
  int64_t holding = group, blocks = 1;
  while (holding < most && !fits(holding, 1)) holding *= 2;
  const bool clusters = target_has_clusters(target) && !sweep.across && t.sweeps + t.stores_along > 1 && position_count.is_constant();
  if (clusters && !fits(holding, 1)) {
    holding = kClusterBlock;
    while (blocks < kMaxCluster && !fits(holding, blocks)) blocks *= 2;
  }
  sweep.held = t.held > 0 && position_count.is_constant() && fits(holding, blocks);
  if (sweep.held) group = holding, sweep.split = static_cast<int>(blocks), sweep.cluster = blocks > 1;
  sweep.group = static_cast<int>(group);
  if (!sweep.across) sweep.rows = static_cast<int>(std::max<int64_t>(1, kBlock / group));
  kernel.block = sweep.group * sweep.rows;

  const int64_t row_blocks = ceil_div(rows, sweep.rows);
  const bool can_split = t.sweeps == 1 && !t.stores_along && row_count.is_constant();
  if (can_split) {
    const int64_t wanted = ceil_div(target.multiprocessors * kBlocksWanted * 256, kernel.block) / std::max<int64_t>(1, row_blocks);
    const int64_t most_blocks = std::clamp<int64_t>(std::min(wanted, positions / (2 * group * in_flight)), 1, kMaxSplit);
    sweep.split = static_cast<int>(std::bit_floor(static_cast<uint64_t>(most_blocks)));
  }
  const int64_t whole = ceil_div(positions, group * sweep.split);
  sweep.steps = static_cast<int>(sweep.held || (position_count.is_constant() && whole <= (group == 1 ? kInlinePositions : in_flight))
                                     ? std::max<int64_t>(whole, 1)
                                     : in_flight);
  if (sweep.held) sweep.kept = choose_kept(graph, part, kKeptBytes);
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
