#include "lower/launch.h"

#include <algorithm>
#include <set>

#include "kernel/visit.h"

namespace fusec {

namespace {

template <class PartType, class F>
void for_each_buffer(PartType& part, F&& f) {
  for (auto& n : part.nodes)
    if (n.buffer.valid()) f(n.buffer);
  for (auto& s : part.stores) {
    f(s.buffer);
    if (s.claim) f(s.claim->places), f(s.claim->rest), f(s.claim->sums);
  }
  if (part.list && part.list->rest.valid()) f(part.list->rest);
  if (part.list && part.list->sums.valid()) f(part.list->sums);
  if (part.line && part.line->totals.valid()) f(part.line->totals);
  if (part.line && part.line->radix) {
    auto& radix = *part.line->radix;
    f(radix.state), f(radix.flags);
    for (auto* pair : {&radix.keys, &radix.from})
      for (auto& b : *pair)
        if (b.valid()) f(b);
  }
  if (!part.sweep) return;
  for (auto& a : part.sweep->accumulators)
    if (a.partials.valid()) f(a.partials);
  for (auto& c : part.sweep->columns) f(c.accumulator.partials);
}

}  // namespace

void drop_unused_buffers(Kernel& kernel) {
  std::vector<BufferId> moved(kernel.buffers.size());
  std::set<BufferId> used;
  for (const Part& part : kernel.parts) for_each_buffer(part, [&](BufferId b) { used.insert(b); });
  IdVec<BufferId, Buffer> kept;
  for (BufferId b : used) moved[b.index] = kept.push(kernel.buffers[b]);
  for (Part& part : kernel.parts) for_each_buffer(part, [&](BufferId& b) { b = moved[b.index]; });
  kernel.buffers = std::move(kept);
}

bool reads_elsewhere(const Kernel& kernel, BufferId out, uint32_t input) {
  for (const Part& part : kernel.parts) {
    if (part.sweep && part.sweep->split > 1) return true;
    const bool updates = std::any_of(part.stores.begin(), part.stores.end(), [](const Store& s) { return s.update; });
    const std::vector<bool> along = part.sweep ? along_row(part) : std::vector<bool>();
    // What a scan or a sort reads at one position is seen at others.
    const std::vector<bool> scanned = part.line ? needed_nodes(part, {part.line->operand}) : std::vector<bool>(part.nodes.size(), false);
    auto stored_here = [&](const Index& index) {
      return std::any_of(part.stores.begin(), part.stores.end(), [&](const Store& s) { return s.buffer == out && s.index == index; });
    };
    for (size_t i = 0; i < part.nodes.size(); ++i) {
      const Node& n = part.nodes[NodeId(i)];
      if (n.kind != Node::kLoad) continue;
      const KernelArg& arg = kernel.buffers[n.buffer].arg;
      if (arg.kind != KernelArg::kInput || arg.index != input) continue;
      const bool staged =
          part.tile && std::any_of(part.tile->staged.begin(), part.tile->staged.end(), [&](const auto& s) { return s.load == NodeId(i); });
      // All threads of a row read what is the same along it, and threads without a row of their own read the last one's.
      const bool shared = part.sweep && ((part.sweep->group > 1 && !along[i]) || !rows_fill_blocks(part));
      if (staged || updates || shared || scanned[i] || !stored_here(n.index)) return true;
    }
  }
  return false;
}

namespace {

void describe_phases(const Kernel& kernel, Launch& launch) {
  launch.grid = {{Size(1), 1}};
  launch.why = kernel.why;
  int64_t shared = 0;
  for (const Buffer& b : kernel.buffers) shared += b.shared_elems > 0;
  for (const Kernel& phase : kernel.phases) {
    if (launch.scatter.schedule.empty()) launch.scatter = phase.scatter;
    if (launch.phases.empty() || phase.waits) launch.phases.emplace_back();
    for (const Part& part : phase.parts)
      for (const Store& s : part.stores) {
        const Buffer& b = phase.buffers[s.buffer];
        const bool known = std::find(launch.phases.back().begin(), launch.phases.back().end(), b.value) != launch.phases.back().end();
        if (!known) launch.phases.back().push_back(b.value);
      }
  }
  launch.schedule = {{"phases", static_cast<int64_t>(launch.phases.size())}, {"values_in_shared_memory", shared}};
}

}  // namespace

Launch launch_of(const Graph& graph, const Kernel& kernel) {
  Launch launch;
  launch.segment = kernel.segment;
  launch.kernel = kernel.name;
  launch.block = static_cast<uint32_t>(kernel.block);
  launch.shared_bytes = static_cast<uint32_t>(kernel.dynamic_bytes);
  for (const Buffer& b : kernel.buffers) {
    if (b.shared_elems > 0) continue;
    launch.args.push_back(b.arg);
    launch.arg_dtypes.push_back(b.dtype);
  }
  for (size_t i = 0; i < graph.symbols.size(); ++i) {
    launch.args.push_back({KernelArg::kSymbol, static_cast<uint32_t>(i)});
    launch.arg_dtypes.push_back(DType::kI64);
  }
  launch.scatter = kernel.scatter;
  if (!kernel.phases.empty()) {
    describe_phases(kernel, launch);
    return launch;
  }
  const Part* largest = nullptr;
  int64_t bulk_stores = 0;
  for (const Part& part : kernel.parts) {
    launch.grid.push_back(part.grid);
    bulk_stores += static_cast<int64_t>(part.bulk_stores.size());
    if (!largest || part.nodes.size() > largest->nodes.size()) largest = &part;
  }
  launch.schedule = {{"vector", largest->vector}, {"unroll", largest->sweep ? largest->sweep->steps : largest->unroll}};
  if (largest->sweep) {
    launch.schedule.emplace_back("threads_per_row", largest->sweep->group);
    launch.schedule.emplace_back("rows_per_block", largest->sweep->rows);
    if (!largest->sweep->staged.empty()) launch.schedule.emplace_back("held_in_shared_memory", 1);
    if (largest->sweep->held) launch.schedule.emplace_back("held_in_registers", 1);
    if (largest->sweep->split > 1) launch.schedule.emplace_back("blocks_per_row", largest->sweep->split);
  }
  if (kernel.parts.size() > 1) launch.schedule.emplace_back("parts", static_cast<int64_t>(kernel.parts.size()));
  if (largest->line && !largest->line->radix) launch.schedule.emplace_back("threads_per_row", largest->line->group);
  if (largest->line && largest->line->chunks > 1) launch.schedule.emplace_back("blocks_per_row", largest->line->chunks);
  if (largest->line && largest->line->looks_back) launch.schedule.emplace_back("looks_back", 1);
  if (largest->line && largest->line->radix) {
    launch.schedule.emplace_back("radix_tiles_per_row", largest->line->radix->tiles);
    launch.schedule.emplace_back("radix_digits", largest->line->radix->digits);
  }
  if (largest->table) {
    launch.schedule.emplace_back("scatter_tables", largest->grid.elems.value());
    launch.schedule.emplace_back("elements_of_table", largest->table->whole);
    launch.schedule.emplace_back("elements_of_cache", largest->table->cache);
  }
  if (largest->list) launch.schedule.emplace_back("scatter_lists", 1);
  if (largest->replicas) launch.schedule.emplace_back("scatter_replicas", largest->replicas->copies);
  if (largest->tile) launch.schedule.emplace_back("tile", largest->tile->rows);
  if (bulk_stores > 0) launch.schedule.emplace_back("bulk_stores", bulk_stores);
  if (largest->wide_index) launch.schedule.emplace_back("index_bits", 64);
  return launch;
}

}  // namespace fusec
