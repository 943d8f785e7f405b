#include "lower/block_work.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernel/visit.h"
#include "lower/schedule.h"

namespace fusec {

namespace {

// What one block moves. (Of an H200: 60 GB/s when each thread has one load in flight.)
constexpr double kBlockBytesPerUs = 6e4;
constexpr int kStoreInstructions = 4, kScanInstructions = 40;
constexpr int kMostNodes = 512;        // of a phase: more leave no registers for a large block
constexpr int kRegisterHungry = 1000;  // instructions an element; then the block is small
constexpr int kSmallBlock = 256;
constexpr int kThreadsOfKey = 4;  // that a sort has use for

bool is_sort(const Graph& graph, const Part& part) { return part.line && info(graph[part.line->op].kind).category == OpCategory::kSort; }

// Several short rows are sorted side by side; one row by all threads.
bool sorts_by_warps(const Part& part) { return part.line->counts() && iterations(part).value() > 1; }

bool can_be_phase(const Part& part) {
  if (part.tile || part.table || part.replicas || part.list || !part.grid.elems.is_constant() || !iterations(part).is_constant())
    return false;
  if (std::any_of(part.stores.begin(), part.stores.end(), [](const Store& s) { return s.claim.has_value(); })) return false;
  if (part.nodes.size() > kMostNodes) return false;
  if (part.line && (part.line->radix || part.line->chunks > 1 || !part.line->extent.is_constant())) return false;
  if (!part.sweep) return true;
  const Sweep& sweep = *part.sweep;
  return sweep.split == 1 && !sweep.cluster && sweep.columns.empty() && sweep.staged.empty() && iterations(part, sweep.dims).is_constant();
}

int64_t positions_of(const Part& part) {
  if (part.line) return part.line->extent.value();
  return part.sweep ? iterations(part, part.sweep->dims).value() : 1;
}

int64_t instructions_of_element(const Graph& graph, const Part& part) {
  int64_t sum = static_cast<int64_t>(part.stores.size()) * kStoreInstructions;
  for (const Node& n : part.nodes) sum += node_cost(graph, n);
  if (part.sweep) sum *= 2;  // (what a second sweep needs is computed again)
  if (part.line && !is_sort(graph, part)) sum += kScanInstructions;
  if (is_sort(graph, part)) {
    const double log = std::log2(static_cast<double>(part.line->capacity));
    sum += part.line->counts() ? 6 * part.line->capacity : static_cast<int64_t>(200 + 6 * log * log);
  }
  return sum;
}

// Turns that the largest block takes; each waits for memory, but loops over elements have a few loads in flight.
double waiting_us(const Graph& graph, const Part& part) {
  constexpr double kElementTurnUs = 0.15, kRowTurnUs = 0.5;
  int64_t threads = iterations(part).value();
  if (part.sweep) threads *= part.sweep->group;
  if (part.line) {
    const bool by_block = is_sort(graph, part) ? !sorts_by_warps(part) : part.line->group > 32;
    threads *= by_block ? kLargestBlock : is_sort(graph, part) ? 32 : part.line->group;
  }
  const int64_t turns = (threads + kLargestBlock - 1) / kLargestBlock;
  return static_cast<double>(turns - 1) * (part.line || part.sweep ? kRowTurnUs : kElementTurnUs);
}

int64_t bytes_of_element(const Part& part, const Kernel& kernel) {
  int64_t bytes = 0;
  for_each_access(part, kernel, [&](const Index&, DType dtype) { bytes += bytes_of(dtype); });
  return bytes;
}

// The block of a scan of whole blocks, or of sums across rows: another one would add in another order.
int only_block(const Graph& graph, const Kernel& kernel) {
  for (const Part& part : kernel.parts) {
    if (part.line && !is_sort(graph, part) && part.line->group > 32) {
      const Op& op = graph[part.line->op];
      if (is_float(graph[op.in[0].value].dtype)) return kernel.block;
    }
    if (part.sweep && part.sweep->across && part.sweep->group > 1) return kernel.block;
  }
  return 0;
}

}  // namespace

int64_t items_of(const Part& part) {
  const Size threads = iterations(part);
  if (!threads.is_constant()) return std::numeric_limits<int64_t>::max() / 1024;
  return threads.value() * part.vector * (part.serial.valid() ? part.unroll : 1) * part.copies;
}

double loss_of_one_block(const Graph& graph, const Target& target, const Kernel& kernel) {
  if (kernel.dynamic_bytes > 0 || kernel.parts.empty()) return std::numeric_limits<double>::infinity();
  double us = 0, waiting = 0;
  int64_t blocks = 0;
  const double rate = target.instructions_per_us / target.multiprocessors;
  for (const Part& part : kernel.parts) {
    if (!can_be_phase(part)) return std::numeric_limits<double>::infinity();
    const double elems = static_cast<double>(items_of(part)) * static_cast<double>(positions_of(part));
    us += std::max(elems * static_cast<double>(instructions_of_element(graph, part)) / rate,
                   elems * static_cast<double>(bytes_of_element(part, kernel)) / kBlockBytesPerUs);
    waiting += waiting_us(graph, part);
    blocks += part.grid.blocks();
  }
  blocks = std::clamp<int64_t>(blocks, 1, target.multiprocessors);
  return waiting + us * (1 - 1 / static_cast<double>(blocks));
}

BlockWish block_wish(const Graph& graph, const Kernel& kernel) {
  BlockWish wish;
  wish.only = only_block(graph, kernel);
  int64_t most = kLargestBlock;
  for (const Part& part : kernel.parts) {
    int64_t threads = iterations(part).value();
    if (part.sweep) threads *= part.sweep->group, wish.least = std::max(wish.least, part.sweep->group);
    if (is_sort(graph, part)) threads = sorts_by_warps(part) ? threads * 32 : part.line->extent.value() * kThreadsOfKey;
    else if (part.line && part.line->group == 32) threads *= 32;
    else if (part.line && part.line->group > 32) threads = std::min<int64_t>(part.line->extent.value(), kSmallBlock);
    if (instructions_of_element(graph, part) > kRegisterHungry) most = kSmallBlock;
    wish.threads = std::max(wish.threads, threads);
  }
  wish.threads = std::min(wish.threads, most);
  wish.least = static_cast<int>(std::bit_ceil(static_cast<unsigned>(wish.least)));
  return wish;
}

void fit_to_block(int block, Kernel& kernel) {
  kernel.is_phase = true;
  for (Part& part : kernel.parts) {
    if (part.line) {
      Line& line = *part.line;
      const bool is_sort = line.capacity > 1;
      if (is_sort && sorts_by_warps(part)) line.group = 32;
      else if (is_sort || line.group > 32) line.group = block;
      part.grid = {iterations(part), block / part.line->group};
    } else if (part.sweep) {
      if (!part.sweep->across) part.sweep->rows = block / part.sweep->group;
      else if (part.sweep->group == 1) part.sweep->rows = block;
      part.grid = {iterations(part), part.sweep->rows};
    } else {
      if (!part.serial.valid()) part.unroll = 1;
      part.grid = grid_of(part, block);
    }
  }
  kernel.block = block;
  kernel.blocks_resident = 0;
}

int64_t own_shared_bytes(const Graph& graph, const Kernel& phase) {
  constexpr int64_t kStateBytes = 16;  // at most, of a scan
  int64_t bytes = 0;
  for (const Part& part : phase.parts) {
    if (is_sort(graph, part)) {
      const int64_t element = bytes_of(graph[graph[part.line->op].in[0].value].dtype);
      const int64_t rows = sorts_by_warps(part) ? phase.block / 32 : 1;
      bytes += rows * part.line->capacity * (std::max<int64_t>(element, 4) + (part.line->merges() ? 4 : 2) + (element < 4 ? element : 0));
    } else if (part.line && part.line->group > 32) {
      bytes += phase.block / 32 * kStateBytes;
    }
    if (!part.sweep || part.sweep->group == 1) continue;
    for (const Accumulator& a : part.sweep->accumulators)
      bytes += int64_t{state_bytes(a)} * (part.sweep->across ? phase.block * part.vector : phase.block / 32);
  }
  return bytes;
}

}  // namespace fusec
