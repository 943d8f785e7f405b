#include "segment/materialize.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "segment/cast_groups.h"
#include "segment/min_cut.h"
#include "support/byte_sum.h"
#include "support/check.h"

namespace fusec {

namespace {

constexpr size_t kRegion = 300;            // values considered behind what a kernel reads
constexpr int64_t kLeastBytes = 64 << 10;  // less is not worth a change
// What storing a value costs that narrower ones could stand for: only arithmetic without end outweighs it.
constexpr double kWideFactor = 8;
constexpr double kWideUs = 0.05;  // and each wide value beyond that, however small: a few numbers are made again
constexpr double kArithmeticShares[] = {1.0,
                                        0.2};  // instructions hide behind memory to a degree: several guesses, judged by the whole cost

class Materializer {
 public:
  explicit Materializer(Clusters& clusters)
      : clusters_(clusters),
        facts_(clusters.facts()),
        home_(facts_.graph.ops.size(), UINT32_MAX),
        reader_count_(facts_.graph.values.size()),
        narrower_(narrower_sources(facts_)),
        stamp_of_(facts_.graph.ops.size()),
        stop_of_(facts_.graph.values.size()) {}

  std::vector<PlannedKernel> run() {
    std::vector<ClusterId> ids = clusters_.all();
    std::sort(ids.begin(), ids.end(), [&](ClusterId a, ClusterId b) { return clusters_[a].order < clusters_[b].order; });
    for (ClusterId id : ids) {
      const Cluster& c = clusters_[id];
      PlannedKernel k{id, clusters_.floating().closure(c.nodes), {}, c.cost.evaluation.writes, c.cost.plan};
      for (const Read& r : c.cost.evaluation.reads) k.reads.push_back(r.value);
      std::sort(k.writes.begin(), k.writes.end());
      for (OpId node : c.nodes) home_[node] = static_cast<uint32_t>(kernels_.size());
      for (ValueId v : k.reads) ++reader_count_[v];
      us_.push_back(c.cost.us);
      kernels_.push_back(std::move(k));
    }
    // Once more where a neighbour's change may have made another choice better.
    dirty_.assign(kernels_.size(), 1);
    for (int pass = 0; pass < 2; ++pass)
      for (size_t k = 0; k < kernels_.size(); ++k)
        if (std::exchange(dirty_[k], 0)) improve(k);
    for (const Output& o : facts_.graph.outputs)
      if (o.alias) defer_overwrite(o.value, facts_.graph.inputs[*o.alias].value);
    drop_unneeded();
    return std::move(kernels_);
  }

 private:
  struct Change {
    std::vector<std::pair<size_t, PlannedKernel>> kernels;  // new states
    std::vector<double> us;
    double gain = 0;
  };

  bool writes(const PlannedKernel& k, ValueId v) const { return std::binary_search(k.writes.begin(), k.writes.end(), v); }

  double us_of_bytes(ValueId v) const { return static_cast<double>(facts_.bytes(v)) / (clusters_.target().bandwidth_gbps * 1e3); }

  // Tries to read less, or narrower, values for kernel `at`.
  bool improve(size_t at) {
    const PlannedKernel& k = kernels_[at];
    std::vector<ValueId> crossing;
    int64_t bytes = 0;
    bool wide = false;
    for (ValueId v : k.reads) {
      if (!facts_.graph[v].def.valid() || (facts_.elems(v) == 1 && !narrower_[v])) continue;
      crossing.push_back(v);
      add_bytes(bytes, facts_.bytes(v));
      wide |= narrower_[v] != 0;
    }
    if (crossing.empty() || (bytes < kLeastBytes && !wide) || k.plan.kind == SegmentKind::kLibrary) return false;
    Change best;
    std::vector<std::vector<ValueId>> tried{k.reads};
    for (double share : kArithmeticShares) {
      std::vector<ValueId> reads = cheapest_reads(at, crossing, share);
      if (std::find(tried.begin(), tried.end(), reads) != tried.end()) continue;
      tried.push_back(reads);
      Change change = judge(at, std::move(reads));
      if (change.gain > best.gain + 1e-4) best = std::move(change);
    }
    if (best.kernels.empty()) return false;
    apply(best);
    return true;
  }

  // The minimum cut: the values that kernel `at` should read.
  std::vector<ValueId> cheapest_reads(size_t at, const std::vector<ValueId>& crossing, double arithmetic_share) {
    const PlannedKernel& k = kernels_[at];
    const Graph& graph = facts_.graph;
    MinCut cut;
    const uint32_t source = cut.add_node(), sink = cut.add_node();
    std::vector<ValueId> region;
    std::vector<double> behind;                      // µs to recompute from there on, along the first path found
    std::unordered_map<uint32_t, uint32_t> node_of;  // value → its "made" node; the next one is "at hand"
    auto enter = [&](ValueId v, double us) {
      auto [it, fresh] = node_of.try_emplace(v.index, 0);
      if (fresh) {
        it->second = cut.add_node();
        cut.add_node();
        region.push_back(v);
        behind.push_back(us);
      }
      return it->second;
    };
    // Arithmetic beyond what the kernel's memory time hides and what storing costs is never worth it.
    double most_us = us_[at];
    for (ValueId v : crossing) {
      cut.add_edge(enter(v, 0) + 1, sink, MinCut::kInfinite);
      most_us += 2 * us_of_bytes(v) * (narrower_[v] ? kWideFactor : 1);
    }
    for (size_t n = 0; n < region.size(); ++n) {
      const ValueId v = region[n];
      const uint32_t made = node_of[v.index];
      cut.add_edge(made, made + 1, store_cost(at, v));
      const OpId def = graph[v].def;
      const bool fixed = !def.valid() || facts_.is_anchor(def) || graph[def].kind == OpKind::kBitcast || evaluated_here(k, def) ||
                         clusters_.is_pinned(def) ||
                         ((region.size() > kRegion || behind[n] > most_us) && clusters_.floating().is_node(def));
      if (fixed) {
        cut.add_edge(source, made, MinCut::kInfinite);
        continue;
      }
      const double us =
          facts_.instructions(def) * static_cast<double>(facts_.elems(facts_.result(def))) / clusters_.target().instructions_per_us;
      cut.add_edge(source, made, us * arithmetic_share + 1e-6);
      for (const Operand& o : graph[def].in)
        if (o.is_value()) cut.add_edge(enter(o.value, behind[n] + us) + 1, made, MinCut::kInfinite);
    }
    if (cut.solve(source, sink) >= MinCut::kInfinite / 2) return k.reads;
    std::vector<ValueId> reads;
    for (ValueId v : k.reads)
      if (!node_of.contains(v.index) || std::find(crossing.begin(), crossing.end(), v) == crossing.end()) reads.push_back(v);
    for (ValueId v : region)
      if (cut.on_source_side(node_of[v.index]) && !cut.on_source_side(node_of[v.index] + 1) &&
          !(graph[v].def.valid() && evaluated_here(k, graph[v].def)))
        reads.push_back(v);
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    return reads;
  }

  bool evaluated_here(const PlannedKernel& k, OpId op) const {
    return std::binary_search(k.ops.begin(), k.ops.end(), op, [&](OpId a, OpId b) { return facts_.rank(a) < facts_.rank(b); });
  }

  // µs that reading v in kernel `at` costs, its write included where this kernel is what it is written for.
  double store_cost(size_t at, ValueId v) {
    const PlannedKernel& k = kernels_[at];
    const OpId def = facts_.graph[v].def;
    const bool reads_now = std::binary_search(k.reads.begin(), k.reads.end(), v);
    if (def.valid() && evaluated_here(k, def)) return 0;
    if (!def.valid()) {
      if (reads_now) return 0;
      return facts_.is_aliased_input(v) ? MinCut::kInfinite : us_of_bytes(v);
    }
    if (clusters_.floating().floats(def)) return MinCut::kInfinite;
    const size_t home = home_[def];
    if (home >= at) return MinCut::kInfinite;
    const double us = narrower_[v] ? us_of_bytes(v) * kWideFactor + kWideUs : us_of_bytes(v);
    if (facts_.is_output(v)) return us;
    if (writes(kernels_[home], v)) return us * (1 + 1.0 / std::max(1u, reader_count_[v] + (reads_now ? 0 : 1)));
    return 2 * us;
  }

  // The kernel's ops that its writes need, and what they read; values in `stops` come from memory.
  void prune(PlannedKernel& k, const std::vector<ValueId>& stops) {
    ++stamp_;
    for (ValueId v : stops) stop_of_[v] = stamp_;
    std::vector<OpId> ops;
    std::vector<ValueId> reads;
    auto need = [&](OpId op) {
      if (stamp_of_[op] == stamp_) return;
      stamp_of_[op] = stamp_;
      ops.push_back(op);
    };
    for (ValueId v : k.writes) need(facts_.graph[v].def);
    for (size_t n = 0; n < ops.size(); ++n)
      for (const Operand& o : facts_.graph[ops[n]].in) {
        if (!o.is_value()) continue;
        const OpId def = facts_.graph[o.value].def;
        if (!def.valid() || stop_of_[o.value] == stamp_) reads.push_back(o.value);
        else need(def);
      }
    std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) { return facts_.rank(a) < facts_.rank(b); });
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    k.ops = std::move(ops);
    k.reads = std::move(reads);
  }

  // µs of a kernel's new state; nothing when no schedule holds it. `narrower`: it reads less wide values than it did. Then, and from then
  // on, rows that do not fit where they could be held may come from memory again: twice the narrow bytes are fewer than the wide ones
  // written and read.
  std::optional<double> cost(PlannedKernel& k, bool narrower = false) {
    if (k.writes.empty()) return 0;
    k.plan = clusters_.scheduler().plan(k.ops, k.writes);
    const bool again = !k.plan.ok && (narrower || k.reads_again);
    if (again) k.plan = clusters_.scheduler().plan(k.ops, k.writes, true);
    k.reads_again = again;
    if (!k.plan.ok) return std::nullopt;
    Evaluation e = clusters_.evaluator().evaluate(k.ops, k.writes, k.plan.inline_reductions);
    add_bytes(e.bytes_written, k.plan.partial_bytes);
    if (again) add_bytes(e.bytes_read, e.bytes_read);
    if (limits_refusal(facts_, clusters_.target(), e, k.ops.size()).rule != Rule::kNone) return std::nullopt;
    return kernel_us(e, clusters_.target(), k.plan.parallel);
  }

  Change judge(size_t at, std::vector<ValueId> reads) {
    Change change;
    PlannedKernel next = kernels_[at];
    prune(next, reads);
    for (OpId op : next.ops)
      if (!evaluated_here(kernels_[at], op) && facts_.is_anchor(op)) return change;
    std::vector<size_t> touched;
    std::unordered_map<size_t, PlannedKernel> homes;
    auto home_state = [&](ValueId v) -> PlannedKernel& {
      const size_t home = home_[facts_.graph[v].def];
      return homes.try_emplace(home, kernels_[home]).first->second;
    };
    for (ValueId v : kernels_[at].reads) {
      const OpId def = facts_.graph[v].def;
      const bool dropped = !std::binary_search(next.reads.begin(), next.reads.end(), v);
      if (dropped && def.valid() && reader_count_[v] == 1 && !facts_.is_output(v)) std::erase(home_state(v).writes, v);
    }
    for (ValueId v : next.reads) {
      const OpId def = facts_.graph[v].def;
      if (!def.valid()) continue;
      FUSEC_CHECK(home_[def] < at, "a kernel would read what comes later: " + facts_.graph[v].name);
      if (writes(kernels_[home_[def]], v)) continue;
      PlannedKernel& home = home_state(v);
      home.writes.insert(std::lower_bound(home.writes.begin(), home.writes.end(), v), v);
    }
    const double narrowed_us = wide_us(kernels_[at].reads) - wide_us(next.reads);
    double gain = narrowed_us;
    auto add = [&](size_t index, PlannedKernel state) {
      const std::optional<double> us = cost(state, index == at && narrowed_us > 0);
      if (!us) return false;
      gain += us_[index] - *us;
      change.us.push_back(*us);
      change.kernels.emplace_back(index, std::move(state));
      return true;
    };
    if (!add(at, std::move(next))) return {};
    for (auto& [index, state] : homes) touched.push_back(index);
    std::sort(touched.begin(), touched.end());
    for (size_t index : touched) {
      PlannedKernel& state = homes.at(index);
      const std::vector<ValueId> stops = state.reads;
      prune(state, stops);
      if (!add(index, std::move(state))) return {};
    }
    change.gain = gain;
    return change;
  }

  // What reading wide values costs beyond their bytes.
  double wide_us(const std::vector<ValueId>& reads) const {
    double us = 0;
    for (ValueId v : reads)
      if (narrower_[v] && facts_.graph[v].def.valid()) us += (kWideFactor - 1) * us_of_bytes(v) + kWideUs;
    return us;
  }

  void apply(Change& change) {
    for (size_t n = 0; n < change.kernels.size(); ++n) {
      auto& [index, state] = change.kernels[n];
      for (ValueId v : kernels_[index].reads) --reader_count_[v];
      for (ValueId v : state.reads) ++reader_count_[v];
      // A producer's other readers pay another share of its stores now.
      for (ValueId v : kernels_[index].writes)
        if (!writes(state, v)) for_each_reader(v, [&](uint32_t reader) { dirty_[reader] = 1; });
      us_[index] = change.us[n];
      kernels_[index] = std::move(state);
    }
  }

  // An output written over an input that a dependent kernel still reads would have to be copied there in the end: it is computed in
  // that later kernel instead, where this costs less than the copy.
  void defer_overwrite(ValueId output, ValueId input) {
    const OpId def = facts_.graph[output].def;
    if (!def.valid() || facts_.is_anchor(def) || clusters_.is_pinned(def)) return;
    const size_t home = home_[def];
    size_t last = home;
    for (size_t k = home + 1; k < kernels_.size(); ++k) {
      if (std::binary_search(kernels_[k].reads.begin(), kernels_[k].reads.end(), output)) return;
      if (std::binary_search(kernels_[k].reads.begin(), kernels_[k].reads.end(), input) && depends(k, home)) last = k;
    }
    if (last == home || kernels_[last].plan.kind == SegmentKind::kLibrary || !writes(kernels_[home], output)) return;
    PlannedKernel early = kernels_[home], late = kernels_[last];
    std::erase(early.writes, output);
    late.writes.insert(std::lower_bound(late.writes.begin(), late.writes.end(), output), output);
    // What the later kernel reads: whatever either reads now, and results of the earlier one's anchors.
    std::vector<ValueId> stops = late.reads;
    stops.insert(stops.end(), early.reads.begin(), early.reads.end());
    for (OpId op : early.ops) {
      if (!facts_.is_anchor(op) || evaluated_here(late, op)) continue;
      for (ValueId v : facts_.graph[op].out)
        if (v.valid()) stops.push_back(v);
    }
    prune(late, stops);
    for (ValueId v : late.reads) {
      const OpId made = facts_.graph[v].def;
      if (made.valid() && home_[made] == home && !writes(early, v))
        early.writes.insert(std::lower_bound(early.writes.begin(), early.writes.end(), v), v);
    }
    const std::vector<ValueId> early_reads = early.reads;
    prune(early, early_reads);
    Change change;
    const std::optional<double> early_us = cost(early), late_us = cost(late);
    if (!early_us || !late_us) return;
    const double copy_us = 2 * us_of_bytes(output) + clusters_.target().next_launch_us;
    if (*early_us + *late_us > us_[home] + us_[last] + copy_us) return;
    change.us = {*early_us, *late_us};
    change.kernels.emplace_back(home, std::move(early));
    change.kernels.emplace_back(last, std::move(late));
    apply(change);
    home_[def] = static_cast<uint32_t>(last);
  }

  // Whether kernel `at` needs something of kernel `of`, at whatever remove.
  bool depends(size_t at, size_t of) const {
    std::vector<uint8_t> needs(kernels_.size());
    needs[of] = 1;
    for (size_t k = of + 1; k <= at; ++k)
      for (ValueId v : kernels_[k].reads)
        if (const OpId def = facts_.graph[v].def; def.valid() && home_[def] < k && needs[home_[def]] && writes(kernels_[home_[def]], v))
          needs[k] = 1;
    return needs[at];
  }

  void for_each_reader(ValueId v, auto&& use) {
    for (OpId node : clusters_.readers(v)) use(home_[node]);
  }

  // Stores that nobody reads, and kernels that store nothing, from the last kernel back.
  void drop_unneeded() {
    for (size_t n = kernels_.size(); n-- > 0;) {
      PlannedKernel& k = kernels_[n];
      const size_t before = k.writes.size();
      std::erase_if(k.writes, [&](ValueId v) { return !facts_.is_output(v) && reader_count_[v] == 0; });
      if (k.writes.size() == before) continue;
      for (ValueId v : k.reads) --reader_count_[v];
      const std::vector<ValueId> stops = k.reads;
      prune(k, stops);
      for (ValueId v : k.reads) ++reader_count_[v];
      if (k.writes.empty()) continue;
      if (Plan plan = clusters_.scheduler().plan(k.ops, k.writes, k.reads_again); plan.ok) k.plan = std::move(plan);
    }
    std::erase_if(kernels_, [](const PlannedKernel& k) { return k.writes.empty(); });
  }

  Clusters& clusters_;
  const Facts& facts_;
  std::vector<PlannedKernel> kernels_;
  std::vector<double> us_;
  std::vector<uint8_t> dirty_;
  IdVec<OpId, uint32_t> home_;
  IdVec<ValueId, uint32_t> reader_count_;
  IdVec<ValueId, uint8_t> narrower_;
  IdVec<OpId, uint32_t> stamp_of_;
  IdVec<ValueId, uint32_t> stop_of_;
  uint32_t stamp_ = 0;
};

}  // namespace

std::vector<PlannedKernel> materialize(Clusters& clusters) { return Materializer(clusters).run(); }

}  // namespace fusec
