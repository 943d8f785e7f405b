#include "segment/clusters.h"

#include <algorithm>

#include "support/byte_sum.h"
#include "support/check.h"

namespace fusec {

namespace {
std::vector<OpId> pinned(const Clusters::Pairs& apart, std::vector<OpId> stored) {
  for (const auto& [a, b] : apart) stored.insert(stored.end(), {a, b});
  return stored;
}

}  // namespace

Refusal limits_refusal(const Facts& facts, const Target& target, const Evaluation& e, size_t op_count) {
  if (op_count > kMaxOps)
    return {Rule::kTooManyOps, "too many ops in one kernel: " + std::to_string(op_count) + ", at most " + std::to_string(kMaxOps)};
  const size_t pointers = e.reads.size() + e.writes.size() + facts.graph.symbols.size() + 1;
  if (pointers > max_pointers(target))
    return {Rule::kParameters,
            "kernel parameters: " + std::to_string(pointers) + " pointers and sizes, at most " + std::to_string(max_pointers(target))};
  if (e.copies > kMaxCopies || e.most_copies > kMaxCopiesOfOne)
    return {Rule::kTooManyCopies,
            "too many copies of an op: its value would be made again at " + std::to_string(e.most_copies) + " places"};
  return {};
}

Clusters::Clusters(const Facts& facts, const Target& target, Pairs apart, std::vector<OpId> stored)
    : facts_(facts),
      target_(target),
      apart_(std::move(apart)),
      pinned_(pinned(apart_, std::move(stored))),
      floating_(facts, pinned_),
      evaluator_(facts),
      scheduler_(facts, target),
      cluster_of_(facts.graph.ops.size()),
      readers_(facts.graph.values.size()) {
  std::vector<std::vector<OpId>> closures;
  for (OpId op : facts.ordered()) {
    if (!floating_.is_node(op)) continue;
    cluster_of_[op] = clusters_.push({});
    closures.push_back(floating_.closure({op}));
    // Who reads what, before any cost: what a node writes depends on its readers.
    ++stamp_;
    for (OpId member : closures.back())
      for (const Operand& o : facts.graph[member].in) {
        if (!o.is_value()) continue;
        const OpId def = facts.graph[o.value].def;
        if (def.valid() && floating_.floats(def)) continue;
        if (readers_[o.value].empty() || readers_[o.value].back() != op) readers_[o.value].push_back(op);
      }
  }
  for (size_t n = 0; n < clusters_.size(); ++n) {
    Cluster& c = clusters_[ClusterId(n)];
    const OpId node = [&] {
      for (OpId op : closures[n])
        if (floating_.is_node(op)) return op;
      return OpId();
    }();
    c.nodes = {node};
    c.order = static_cast<uint32_t>(n);
    c.first_rank = facts.rank(node);
    c.anchored = facts.is_anchor(node);
    std::vector<ValueId> writes;
    for (ValueId v : facts.graph[node].out)
      if (v.valid() && (facts.is_output(v) || !readers_[v].empty())) writes.push_back(v);
    std::sort(writes.begin(), writes.end());
    c.cost.evaluation = evaluator_.evaluate(closures[n], writes);
    c.cost.op_count = closures[n].size();
    if (c.anchored) c.cost.plan = scheduler_.plan(closures[n], writes);
    else c.cost.plan.ok = true;
    c.cost.us = kernel_us(c.cost.evaluation, target, c.cost.plan.ok ? c.cost.plan.parallel : 1);
    parent_.push(ClusterId(n));
    seen_.push(0);
  }
  stamp_ = 0;
  // Links: writer and reader, and neighbouring readers of one value.
  auto link = [&](OpId a, OpId b) {
    clusters_[cluster_of_[a]].links.push_back({a, b});
    clusters_[cluster_of_[b]].links.push_back({a, b});
  };
  for (size_t i = 0; i < facts.graph.values.size(); ++i) {
    const auto& readers = readers_[ValueId(i)];
    const OpId def = facts.graph.values[ValueId(i)].def;
    for (size_t k = 0; k < readers.size(); ++k) {
      if (def.valid()) link(def, readers[k]);
      if (k > 0) link(readers[k - 1], readers[k]);
    }
  }
}

ClusterId Clusters::root(ClusterId id) {
  while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
  return id;
}

ClusterId Clusters::of(OpId node) { return cluster_of_[node] = root(cluster_of_[node]); }

std::vector<ClusterId> Clusters::all() {
  std::vector<ClusterId> ids;
  for (size_t n = 0; n < clusters_.size(); ++n)
    if (parent_[ClusterId(n)] == ClusterId(n)) ids.push_back(ClusterId(n));
  std::sort(ids.begin(), ids.end(), [&](ClusterId a, ClusterId b) { return clusters_[a].first_rank < clusters_[b].first_rank; });
  return ids;
}

bool Clusters::asked_apart(ClusterId a, ClusterId b) {
  return std::any_of(apart_.begin(), apart_.end(), [&](const auto& pair) {
    const ClusterId x = of(pair.first), y = of(pair.second);
    return (x == a && y == b) || (x == b && y == a);
  });
}

bool Clusters::stays_written(ValueId v, ClusterId a, ClusterId b) {
  if (facts_.is_output(v)) return true;
  for (OpId reader : readers_[v]) {
    const ClusterId c = of(reader);
    if (c != a && c != b) return true;
  }
  return false;
}

namespace {

// Merges two lists sorted by value; equal values are handed to `same`.
std::vector<Read> merge_reads(std::vector<Read> a, const std::vector<Read>& b) {
  std::vector<Read> all;
  all.reserve(a.size() + b.size());
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].value < b[j].value)) {
      all.push_back(std::move(a[i++]));
    } else if (i == a.size() || b[j].value < a[i].value) {
      all.push_back(b[j++]);
    } else {
      add_contexts(a[i].contexts, b[j++].contexts);
      all.push_back(std::move(a[i++]));
    }
  }
  return all;
}

const Read* find_read(const Evaluation& e, ValueId v) {
  auto at = std::lower_bound(e.reads.begin(), e.reads.end(), v, [](const Read& r, ValueId value) { return r.value < value; });
  return at != e.reads.end() && at->value == v ? &*at : nullptr;
}

bool is_identity(const std::vector<Context>& contexts, double elems) {
  return contexts.size() == 1 && contexts[0].path == 0 && contexts[0].evals == elems;
}

}  // namespace

// The union's evaluation from the two evaluations: exact for what is moved, an upper bound for how often ops are evaluated.
Evaluation Clusters::join_estimate(ClusterId ia, ClusterId ib) {
  const bool a_first = clusters_[ia].order < clusters_[ib].order;
  const Evaluation& from = clusters_[a_first ? ia : ib].cost.evaluation;
  const Evaluation& to = clusters_[a_first ? ib : ia].cost.evaluation;
  Evaluation u;
  // How the producer is asked for its values now: as stored before, or at the consumer's index maps.
  std::vector<Context> asked;
  bool stored = false;
  std::vector<ValueId> inside;
  for (ValueId v : from.writes) {
    const Read* r = find_read(to, v);
    const bool stays = !r || stays_written(v, ia, ib);
    if (r) {
      inside.push_back(v);
      const double elems = static_cast<double>(facts_.elems(v));
      std::vector<Context> shares = r->contexts;
      if (elems == 1) shares = {{0, 1}};
      for (Context& c : shares) c.evals = elems > 0 ? c.evals / elems : 1;
      add_contexts(asked, shares);
    }
    if (stays) stored = true, u.writes.push_back(v);
  }
  if (stored) add_contexts(asked, {{0, 1}});
  const bool same = asked.empty() || is_identity(asked, 1);
  double scale = 0;
  for (const Context& c : asked) scale += c.evals;
  if (same) scale = 1;
  scale = std::max(scale, 1.0);
  const double places = same ? 1 : static_cast<double>(asked.size());
  u.instructions = from.instructions * scale + to.instructions;
  u.atomics = from.atomics + to.atomics;
  u.copies = from.copies * places + to.copies;
  u.most_copies = std::max(static_cast<size_t>(static_cast<double>(from.most_copies) * places), to.most_copies);
  std::vector<Read> reads = from.reads;
  if (!same)
    for (Read& r : reads)
      if (facts_.elems(r.value) > 1) r.contexts = compose(r.contexts, asked, 1);
  std::vector<Read> others = to.reads;
  if (!inside.empty())
    std::erase_if(others, [&](const Read& r) { return std::find(inside.begin(), inside.end(), r.value) != inside.end(); });
  u.reads = merge_reads(std::move(reads), others);
  u.writes.insert(u.writes.end(), to.writes.begin(), to.writes.end());
  for (const Read& r : u.reads) add_bytes(u.bytes_read, touched_bytes(facts_, r));
  for (ValueId v : u.writes) add_bytes(u.bytes_written, written_bytes(facts_, v));
  return u;
}

// What the union saves, from the smaller side's values alone: reads in common, and what one side writes for the other.
double Clusters::estimated_gain(ClusterId ia, ClusterId ib) {
  const Evaluation& ea = clusters_[ia].cost.evaluation;
  const Evaluation& eb = clusters_[ib].cost.evaluation;
  const bool a_small = ea.reads.size() + ea.writes.size() <= eb.reads.size() + eb.writes.size();
  const Evaluation& small = a_small ? ea : eb;
  const Evaluation& large = a_small ? eb : ea;
  auto has_write = [](const Evaluation& e, ValueId v) { return std::binary_search(e.writes.begin(), e.writes.end(), v); };
  int64_t saved = 0;
  double producer_scale = 1;
  auto inside = [&](ValueId v, const Read& read) {
    add_bytes(saved, byte_sum(touched_bytes(facts_, read), stays_written(v, ia, ib) ? 0 : written_bytes(facts_, v)));
    double evals = 0;
    for (const Context& c : read.contexts) evals += c.evals;
    if (facts_.elems(v) > 1) producer_scale = std::max(producer_scale, evals / static_cast<double>(facts_.elems(v)));
  };
  bool small_produces = false;
  for (const Read& r : small.reads) {
    if (has_write(large, r.value)) inside(r.value, r);
    else if (const Read* other = find_read(large, r.value))
      add_bytes(saved, std::min({touched_bytes(facts_, r), touched_bytes(facts_, *other), facts_.bytes(r.value)}));
  }
  for (ValueId v : small.writes)
    if (const Read* r = find_read(large, v)) {
      small_produces = true;
      inside(v, *r);
    }
  Evaluation u;
  u.bytes_read = byte_sum(byte_sum(ea.bytes_read, ea.bytes_written), byte_sum(eb.bytes_read, eb.bytes_written)) - saved;
  u.instructions = small.instructions * (small_produces ? producer_scale : 1) + large.instructions * (small_produces ? 1 : producer_scale);
  u.atomics = ea.atomics + eb.atomics;
  return clusters_[ia].cost.us + clusters_[ib].cost.us - kernel_us(u, target_);
}

ClusterCost Clusters::join(ClusterId a, ClusterId b) {
  ClusterCost cost;
  const Cluster &ca = clusters_[a], &cb = clusters_[b];
  cost.op_count = ca.cost.op_count + cb.cost.op_count;
  if (asked_apart(a, b)) {
    cost.plan.refusal = {Rule::kAsked, "asked to be apart"};
    return cost;
  }
  cost.evaluation = join_estimate(a, b);
  cost.plan.refusal = limits_refusal(facts_, target_, cost.evaluation, cost.op_count);
  if (cost.plan.refusal.rule != Rule::kNone) return cost;
  if (!ca.anchored && !cb.anchored) {
    cost.plan.ok = true;
    cost.us = kernel_us(cost.evaluation, target_);
    return cost;
  }
  std::vector<OpId> nodes = ca.nodes;
  nodes.insert(nodes.end(), cb.nodes.begin(), cb.nodes.end());
  const std::vector<OpId> ops = floating_.closure(nodes);
  cost.plan = scheduler_.plan(ops, cost.evaluation.writes);
  if (!cost.plan.ok) return cost;
  cost.op_count = ops.size();
  cost.evaluation = evaluator_.evaluate(ops, cost.evaluation.writes, cost.plan.inline_reductions);
  add_bytes(cost.evaluation.bytes_written, cost.plan.partial_bytes);
  cost.us = kernel_us(cost.evaluation, target_, cost.plan.parallel);
  return cost;
}

ClusterCost Clusters::cost_of(const std::vector<OpId>& nodes) {
  ClusterCost cost;
  std::vector<uint8_t> inside(facts_.graph.ops.size());
  for (OpId op : nodes) inside[op.index] = 1;
  for (const auto& [a, b] : apart_)
    if (inside[a.index] && inside[b.index]) return cost.plan.refusal = {Rule::kAsked, "asked to be apart"}, cost;
  std::vector<ValueId> writes;
  for (OpId op : nodes)
    for (ValueId v : facts_.graph[op].out) {
      if (!v.valid()) continue;
      const bool leaves = std::any_of(readers_[v].begin(), readers_[v].end(), [&](OpId reader) { return !inside[reader.index]; });
      if (leaves || facts_.is_output(v)) writes.push_back(v);
    }
  std::sort(writes.begin(), writes.end());
  const std::vector<OpId> ops = floating_.closure(nodes);
  cost.op_count = ops.size();
  cost.plan = scheduler_.plan(ops, writes);
  if (!cost.plan.ok) return cost;
  cost.evaluation = evaluator_.evaluate(ops, writes, cost.plan.inline_reductions);
  add_bytes(cost.evaluation.bytes_written, cost.plan.partial_bytes);
  const Refusal refusal = limits_refusal(facts_, target_, cost.evaluation, cost.op_count);
  if (refusal.rule != Rule::kNone) return cost.plan = {}, cost.plan.refusal = refusal, cost;
  cost.us = kernel_us(cost.evaluation, target_, cost.plan.parallel);
  return cost;
}

std::vector<ClusterId> Clusters::successors(ClusterId id) {
  std::vector<ClusterId> next;
  for (ValueId v : clusters_[id].cost.evaluation.writes)
    for (OpId reader : readers_[v]) {
      const ClusterId c = of(reader);
      if (c != id && (next.empty() || next.back() != c)) next.push_back(c);
    }
  std::sort(next.begin(), next.end());
  next.erase(std::unique(next.begin(), next.end()), next.end());
  return next;
}

bool Clusters::leads_only_to(ClusterId a, ClusterId b) {
  for (ValueId v : clusters_[a].cost.evaluation.writes)
    for (OpId reader : readers_[v])
      if (const ClusterId c = of(reader); c != a && c != b) return false;
  return true;
}

std::vector<ClusterId> Clusters::predecessors(ClusterId id) {
  std::vector<ClusterId> previous;
  for (const Read& r : clusters_[id].cost.evaluation.reads) {
    const OpId def = facts_.graph[r.value].def;
    if (def.valid()) previous.push_back(of(def));
  }
  std::sort(previous.begin(), previous.end());
  previous.erase(std::unique(previous.begin(), previous.end()), previous.end());
  return previous;
}

// Clusters reachable from `from` whose order lies strictly between the two; `via`: a direct neighbour of `to` among them.
bool Clusters::search(ClusterId from, ClusterId to, bool forward, size_t budget, std::vector<ClusterId>& found, ClusterId& via) {
  ++stamp_;
  found.clear();
  std::vector<ClusterId> stack{from};
  while (!stack.empty()) {
    const ClusterId at = stack.back();
    stack.pop_back();
    for (ClusterId next : forward ? successors(at) : predecessors(at)) {
      if (next == to) {
        if (at != from) via = at;
        continue;
      }
      const bool inside = forward ? clusters_[next].order < clusters_[to].order : clusters_[next].order > clusters_[to].order;
      if (!inside || seen_[next] == stamp_) continue;
      seen_[next] = stamp_;
      found.push_back(next);
      stack.push_back(next);
      if (found.size() > budget) return false;
    }
    if (via.valid()) return true;
  }
  return true;
}

ClusterId Clusters::between(ClusterId a, ClusterId b, bool& gave_up, size_t budget) {
  gave_up = false;
  before_.clear();
  after_.clear();
  if (clusters_[a].order > clusters_[b].order) std::swap(a, b);
  ClusterId via;
  // All paths from a go to b at once, or all paths to b come from a: nothing can lie between, and nothing has to move.
  if (leads_only_to(a, b)) return via;
  const std::vector<ClusterId> previous = predecessors(b);
  if (previous.empty() || (previous.size() == 1 && previous[0] == a)) return via;
  if (!search(a, b, true, budget, after_, via)) gave_up = true;
  if (via.valid() || gave_up) return via;
  ClusterId ignored;
  if (!search(b, a, false, budget, before_, ignored)) gave_up = true;
  return via;
}

ClusterId Clusters::merge(ClusterId a, ClusterId b, ClusterCost cost) {
  if (clusters_[a].order > clusters_[b].order) std::swap(a, b);
  // The union's place: after all that leads to b, before all that follows from a.
  uint32_t order = clusters_[a].order;
  if (!before_.empty() || !after_.empty()) {
    std::vector<uint32_t> places{clusters_[a].order, clusters_[b].order};
    auto by_order = [&](ClusterId x, ClusterId y) { return clusters_[x].order < clusters_[y].order; };
    std::sort(before_.begin(), before_.end(), by_order);
    std::sort(after_.begin(), after_.end(), by_order);
    for (ClusterId c : before_) places.push_back(clusters_[c].order);
    for (ClusterId c : after_) places.push_back(clusters_[c].order);
    std::sort(places.begin(), places.end());
    size_t n = 0;
    for (ClusterId c : before_) clusters_[c].order = places[n++];
    order = places[n];
    n = places.size() - after_.size();
    for (ClusterId c : after_) clusters_[c].order = places[n++];
  } else {
    if (leads_only_to(a, b)) order = clusters_[b].order;
  }
  const ClusterId into = clusters_[a].nodes.size() >= clusters_[b].nodes.size() ? a : b, gone = into == a ? b : a;
  Cluster &c = clusters_[into], &g = clusters_[gone];
  parent_[gone] = into;
  c.nodes.insert(c.nodes.end(), g.nodes.begin(), g.nodes.end());
  c.links.insert(c.links.end(), g.links.begin(), g.links.end());
  c.anchored |= g.anchored;
  c.order = order;
  c.first_rank = std::min(c.first_rank, g.first_rank);
  ++c.version;
  c.cost = std::move(cost);
  std::sort(c.cost.evaluation.writes.begin(), c.cost.evaluation.writes.end());
  g = {};
  return into;
}

}  // namespace fusec
