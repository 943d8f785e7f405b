#include "lower/phases.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "kernel/visit.h"
#include "lower/block_work.h"
#include "lower/launch.h"
#include "lower/schedule.h"
#include "lower/workspace.h"
#include "support/check.h"

namespace fusec {

namespace {

constexpr size_t kMostPhases = 24;
constexpr int64_t kMostMeeting = 4;  // updates of an element of floats: in shared memory they wait for each other, each a loop

// What memory a parameter names: an output that lies over an input is that input.
std::pair<KernelArg::Kind, uint32_t> memory_of(const Graph& graph, const KernelArg& arg) {
  if (arg.kind == KernelArg::kOutput && graph.outputs[arg.index].alias) return {KernelArg::kInput, *graph.outputs[arg.index].alias};
  return {arg.kind, arg.index};
}

// True if one has to be finished before the other begins. (The record of bad indices is written by atomics.)
bool depend(const Graph& graph, const Kernel& a, const Kernel& b) {
  for (const Buffer& x : a.buffers)
    for (const Buffer& y : b.buffers)
      if ((x.written || y.written) && x.arg.kind != KernelArg::kErrorFlag && x.arg.kind != KernelArg::kScalar &&
          memory_of(graph, x.arg) == memory_of(graph, y.arg))
        return true;
  return false;
}

// How a kernel uses one of its buffers.
struct Use {
  bool reads = false, stores = false, updates = false;
  bool adds_floats = false, adds_vectors = false;
  int64_t items = 0;  // updates
};

Use use_of(const Kernel& kernel, BufferId buffer) {
  Use use;
  for (const Part& part : kernel.parts) {
    for (const Node& n : part.nodes) {
      use.reads = use.reads || (n.kind == Node::kLoad && n.buffer == buffer);
    }
    for (const Store& s : part.stores) {
      if (s.buffer != buffer) continue;
      (s.update ? use.updates : use.stores) = true;
      if (!s.update || s.accumulate == Accumulate::kNone) continue;
      const DType dtype = kernel.buffers[buffer].dtype;
      use.adds_floats = use.adds_floats || (is_float(dtype) && (s.accumulate == Accumulate::kAdd || s.accumulate == Accumulate::kMul));
      use.adds_vectors = use.adds_vectors || (part.lane.valid() && dtype == DType::kF32 && s.accumulate == Accumulate::kAdd);
      use.items += items_of(part);
    }
  }
  return use;
}

// What is known of a program before anything is joined.
struct Launches {
  const Graph& graph;
  const Target& target;
  const Program& program;
  const std::vector<Kernel>& kernels;
  std::vector<WorkspaceSpan> spans;
};

// Builds one kernel of a run of kernels.
class Joining {
 public:
  Joining(const Launches& all, size_t first, size_t last)
      : graph_(all.graph), program_(all.program), kernels_(all.kernels), spans_(all.spans), first_(first), last_(last) {}

  // Nothing where the phases have no common block or too much shared memory.
  std::optional<Kernel> join() {
    const int block = common_block();
    if (block == 0) return std::nullopt;
    whole_.name = kernels_[first_].name;
    whole_.segment = kernels_[first_].segment;
    whole_.block = block;
    for (size_t k = first_; k < last_; ++k) {
      whole_.phases.push_back(kernels_[k]);
      fit_to_block(block, whole_.phases.back());
    }
    for (const Kernel& phase : whole_.phases) shared_left_ -= own_shared_bytes(graph_, phase);
    if (shared_left_ < 0 || !find_buffers() || reads_while_overwriting()) return std::nullopt;
    find_levels();
    share_values();
    order_by_level();
    drop_parameters();
    return std::move(whole_);
  }

 private:
  int common_block() const {
    int fixed = 0, least = 32;
    int64_t wanted = 32;
    for (size_t k = first_; k < last_; ++k) {
      const BlockWish wish = block_wish(graph_, kernels_[k]);
      if (wish.only != 0 && fixed != 0 && wish.only != fixed) return 0;
      fixed = std::max(fixed, wish.only);
      least = std::max(least, wish.least);
      wanted = std::max(wanted, wish.threads);
    }
    if (fixed != 0) return fixed >= least ? fixed : 0;
    // A turn more for a few elements is cheaper than a block twice as large.
    const auto rounded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(wanted - wanted / 4)));
    return static_cast<int>(std::clamp<int64_t>(rounded, least, kLargestBlock));
  }

  // The buffers of all phases, each once. False where two phases see one of them differently.
  bool find_buffers() {
    for (Kernel& phase : whole_.phases)
      for (const Buffer& b : phase.buffers) {
        BufferId at;
        for (size_t i = 0; i < whole_.buffers.size(); ++i)
          if (whole_.buffers[BufferId(i)].arg == b.arg) at = BufferId(i);
        if (!at.valid()) at = whole_.buffers.push(b);
        Buffer& all = whole_.buffers[at];
        if (all.dtype != b.dtype) return false;
        if (b.written) all.value = b.value;
        all.read = all.read || b.read;
        all.written = all.written || b.written;
        all.may_overlap = all.may_overlap || b.may_overlap;
        phase.outer.push_back(at);
      }
    for (Buffer& a : whole_.buffers)
      for (const Buffer& b : whole_.buffers)
        a.may_overlap = a.may_overlap || (b.may_overlap && memory_of(graph_, a.arg) == memory_of(graph_, b.arg));
    return true;
  }

  // Threads without a row read the last one's, which its own thread may be overwriting.
  bool reads_while_overwriting() const {
    return std::any_of(whole_.phases.begin(), whole_.phases.end(), [](const Kernel& phase) {
      const bool overlaps = std::any_of(phase.buffers.begin(), phase.buffers.end(), [](const Buffer& b) { return b.may_overlap; });
      return overlaps && std::any_of(phase.parts.begin(), phase.parts.end(), [](const Part& p) { return p.sweep && !rows_fill_blocks(p); });
    });
  }

  void find_levels() {
    for (size_t k = 0; k < whole_.phases.size(); ++k) {
      levels_.push_back(0);
      for (size_t before = 0; before < k; ++before)
        if (depend(graph_, whole_.phases[before], whole_.phases[k])) levels_[k] = std::max(levels_[k], levels_[before] + 1);
    }
  }

  // What one phase stores whole and others touch after it lies in shared memory. An output is written from there at the end.
  void share_values() {
    for (size_t i = 0; i < whole_.buffers.size(); ++i) {
      const BufferId b(i);
      const KernelArg arg = whole_.buffers[b].arg;
      const int64_t elems = elements(whole_.buffers[b]), bytes = elems * bytes_of(whole_.buffers[b].dtype);
      if (elems == 0 || bytes > shared_left_ || !can_share(b, elems)) continue;
      shared_left_ -= (bytes + 15) / 16 * 16;
      Buffer parameter = whole_.buffers[b];
      whole_.buffers[b].shared_elems = elems;
      for (Kernel& phase : whole_.phases)
        for (size_t own = 0; own < phase.outer.size(); ++own)
          if (phase.outer[own] == b) phase.buffers[BufferId(own)].shared_elems = elems;
      if (arg.kind == KernelArg::kOutput || read_outside(arg)) store_at_end(b, std::move(parameter), elems);
    }
  }

  // Elements that the memory of a buffer holds, where that is known and it may move; else 0.
  int64_t elements(const Buffer& b) const {
    if (b.may_overlap || !b.written) return 0;
    if (b.arg.kind == KernelArg::kOutput) {
      const Output& output = graph_.outputs[b.arg.index];
      const Size count = element_count(graph_[output.value].shape);
      return output.alias || !count.is_constant() ? 0 : count.value();
    }
    if (b.arg.kind != KernelArg::kWorkspace) return 0;
    const Size& bytes = program_.workspace[b.arg.index].bytes;
    return bytes.is_constant() ? bytes.value() / bytes_of(b.dtype) : 0;
  }

  bool can_share(BufferId b, int64_t elems) const {
    int touching = 0;
    for (const Kernel& phase : whole_.phases)
      for (size_t own = 0; own < phase.outer.size(); ++own) {
        if (phase.outer[own] != b) continue;
        const Use use = use_of(phase, BufferId(own));
        if (touching++ == 0 && (!use.stores || use.updates || use.reads)) return false;
        if (use.adds_vectors || (use.adds_floats && use.items > kMostMeeting * elems)) return false;
      }
    return touching > 1;
  }

  bool read_outside(const KernelArg& arg) const { return spans_[arg.index].first < first_ || spans_[arg.index].last >= last_; }

  // One more phase: from shared memory to where the value was to be.
  void store_at_end(BufferId shared, Buffer parameter, int64_t elems) {
    int level = 0;
    for (size_t k = 0; k < whole_.phases.size(); ++k)
      for (size_t own = 0; own < whole_.phases[k].outer.size(); ++own)
        if (whole_.phases[k].outer[own] == shared && whole_.phases[k].buffers[BufferId(own)].written)
          level = std::max(level, levels_[k] + 1);
    Kernel phase;
    phase.segment = whole_.segment;
    Buffer from = parameter;
    from.shared_elems = elems;
    from.read = true, from.written = false;
    parameter.read = false, parameter.written = true;
    phase.outer = {shared, whole_.buffers.push(parameter)};
    Part part(graph_.symbols);
    Node load;
    load.kind = Node::kLoad;
    load.dtype = parameter.dtype;
    load.buffer = phase.buffers.push(std::move(from));
    const AtomId i = part.space.add_variable("i0", elems);
    part.dims = {i};
    load.index = part.space.variable(i);
    Store store;
    store.index = load.index;
    store.value = part.nodes.push(std::move(load));
    store.buffer = phase.buffers.push(std::move(parameter));
    part.stores.push_back(std::move(store));
    choose_index_width(part);
    phase.parts.push_back(std::move(part));
    fit_to_block(whole_.block, phase);
    whole_.phases.push_back(std::move(phase));
    levels_.push_back(level);
  }

  void order_by_level() {
    std::vector<size_t> order;
    const int deepest = *std::max_element(levels_.begin(), levels_.end());
    for (int level = 0; level <= deepest; ++level)
      for (size_t k = 0; k < levels_.size(); ++k)
        if (levels_[k] == level) order.push_back(k);
    std::vector<Kernel> phases;
    for (size_t at = 0; at < order.size(); ++at) {
      phases.push_back(std::move(whole_.phases[order[at]]));
      phases.back().waits = at > 0 && levels_[order[at]] != levels_[order[at - 1]];
    }
    whole_.phases = std::move(phases);
  }

  // Parameters first, then what lies in shared memory.
  void drop_parameters() {
    IdVec<BufferId, Buffer> ordered;
    std::vector<BufferId> moved(whole_.buffers.size());
    for (const bool shared : {false, true})
      for (size_t i = 0; i < whole_.buffers.size(); ++i)
        if (const BufferId b(i); (whole_.buffers[b].shared_elems > 0) == shared) moved[i] = ordered.push(whole_.buffers[b]);
    whole_.buffers = std::move(ordered);
    for (Kernel& phase : whole_.phases)
      for (BufferId& b : phase.outer) b = moved[b.index];
  }

  const Graph& graph_;
  const Program& program_;
  const std::vector<Kernel>& kernels_;
  const std::vector<WorkspaceSpan>& spans_;
  size_t first_, last_;
  Kernel whole_;
  std::vector<int> levels_;  // of each phase: barriers before it
  int64_t shared_left_ = kStaticSharedBytes;
};

std::string hundredths(double us) {
  const auto n = static_cast<int64_t>(std::lround(us * 100));
  return std::to_string(n / 100) + "." + (n % 100 < 10 ? "0" : "") + std::to_string(n % 100);
}

// The kernels of one segment, joined where that is worth it: the cheapest cut into runs.
std::vector<Kernel> join_segment(const Launches& all, size_t begin, size_t end) {
  const size_t n = end - begin;
  const double launch = all.target.next_launch_us + kRoundTripUs;
  std::vector<double> loss;
  for (size_t k = begin; k < end; ++k) loss.push_back(loss_of_one_block(all.graph, all.target, all.kernels[k]));
  struct Best {
    double us = std::numeric_limits<double>::infinity();
    size_t from = 0;
    std::optional<Kernel> joined;
  };
  std::vector<Best> best(n + 1);
  best[0].us = 0;
  for (size_t to = 1; to <= n; ++to) {
    best[to] = {best[to - 1].us + launch, to - 1, std::nullopt};
    double lost = loss[to - 1];
    for (size_t from = to - 1; from-- > 0 && to - from <= kMostPhases;) {
      lost += loss[from];
      const double us = best[from].us + launch + lost;
      if (!std::isfinite(lost)) break;
      if (us >= best[to].us) continue;
      std::optional<Kernel> joined = Joining(all, begin + from, begin + to).join();
      if (!joined) continue;
      joined->why = std::to_string(to - from - 1) + (to - from == 2 ? " launch" : " launches") + " less, about " +
                    hundredths(static_cast<double>(to - from - 1) * launch) + " µs; one block instead of many costs " + hundredths(lost) +
                    " µs";
      best[to] = {us, from, std::move(joined)};
    }
  }
  std::vector<Kernel> made;
  for (size_t to = n; to > 0; to = best[to].from)
    made.push_back(best[to].joined ? std::move(*best[to].joined) : all.kernels[begin + to - 1]);
  std::reverse(made.begin(), made.end());
  for (size_t k = 0; k < made.size(); ++k) made[k].name = all.kernels[begin + k].name;  // numbered within the segment
  return made;
}

// Buffers that no kernel and no copy names are gone; the others move up.
void drop_unused_workspace(Program& program, std::vector<Kernel>& kernels, std::vector<Launch>& copies) {
  std::set<uint32_t> used;
  auto each = [&](auto&& f) {
    for (Kernel& kernel : kernels) {
      for (Buffer& b : kernel.buffers)
        if (b.arg.kind == KernelArg::kWorkspace && b.shared_elems == 0) f(b.arg.index);
      for (Kernel& phase : kernel.phases)
        for (Buffer& b : phase.buffers)
          if (b.arg.kind == KernelArg::kWorkspace && b.shared_elems == 0) f(b.arg.index);
    }
    for (Launch& copy : copies)
      for (KernelArg& arg : copy.args)
        if (arg.kind == KernelArg::kWorkspace) f(arg.index);
  };
  each([&](uint32_t index) { used.insert(index); });
  if (used.size() == program.workspace.size()) return;
  std::vector<uint32_t> moved(program.workspace.size());
  std::vector<WorkspaceBuffer> kept;
  for (uint32_t index : used) {
    moved[index] = static_cast<uint32_t>(kept.size());
    kept.push_back(program.workspace[index]);
  }
  program.workspace = std::move(kept);
  each([&](uint32_t& index) { index = moved[index]; });
}

}  // namespace

void join_phases(const Graph& graph, const Target& target, Program& program, std::vector<Kernel>& kernels, std::vector<Launch>& copies) {
  const Launches all{graph, target, program, kernels, spans_of_workspace(program, kernels, copies)};
  std::map<size_t, std::vector<Kernel>> segments;  // that become fewer kernels, by the first of them
  for (size_t begin = 0, end = 0; begin < kernels.size(); begin = end) {
    while (end < kernels.size() && kernels[end].segment == kernels[begin].segment) ++end;
    if (end - begin == 1) continue;
    std::vector<Kernel> some = join_segment(all, begin, end);
    if (some.size() < end - begin) segments[begin] = std::move(some);
  }
  if (segments.empty()) return;
  std::vector<Kernel> made;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const auto joined = segments.find(k);
    if (joined == segments.end()) {
      made.push_back(std::move(kernels[k]));
      continue;
    }
    const uint32_t segment = kernels[k].segment;
    for (Kernel& kernel : joined->second) made.push_back(std::move(kernel));
    while (k + 1 < kernels.size() && kernels[k + 1].segment == segment) ++k;
  }
  kernels = std::move(made);
  drop_unused_workspace(program, kernels, copies);
}

}  // namespace fusec
