#include "segment/merge.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace fusec {

namespace {

constexpr double kLeastGainUs = 0.01;
constexpr double kForced = 1e30;  // a group is kept whole whatever its gain
constexpr size_t kMaxParts = 16;  // parts of one group that later members are tried with
constexpr size_t kAllPairs = 64;  // up to this many clusters every pair is tried when nothing connects them

// Equal gains must compare equal whatever the order in which they were added up.
double rounded(double us) { return std::round(us * 1e4) * 1e-4; }

uint64_t pair_key(ClusterId a, ClusterId b) {
  const uint64_t low = std::min(a.index, b.index), high = std::max(a.index, b.index);
  return low << 32 | high;
}

}  // namespace

bool MergeSearch::try_merge(ClusterId a, ClusterId b, double least_gain, bool* full) {
  if (a == b) return false;
  ClusterCost cost = clusters_.join(a, b);
  const Rule rule = cost.plan.refusal.rule;
  if (full) *full = rule == Rule::kTooManyOps || rule == Rule::kParameters || rule == Rule::kTooManyCopies;
  if (!cost.plan.ok || clusters_[a].cost.us + clusters_[b].cost.us - cost.us < least_gain) return false;
  bool gave_up = false;
  if (clusters_.between(a, b, gave_up).valid() || gave_up) return false;
  clusters_.merge(a, b, std::move(cost));
  return true;
}

// A group's ops, each behind its operands and before those of other branches: what is halfway joined has few results to store.
std::vector<OpId> MergeSearch::depth_first(const CastGroup& group) {
  const Graph& graph = clusters_.facts().graph;
  enum : uint8_t { kOutside, kMember, kOpen, kDone };
  std::unordered_map<uint32_t, uint8_t> state;
  for (OpId op : group.ops) state[op.index] = kMember;
  auto is_read_here = [&](OpId op) {
    for (ValueId v : graph[op].out)
      if (v.valid())
        for (OpId user : clusters_.facts().users(v))
          if (state.contains(user.index)) return true;
    return false;
  };
  std::vector<OpId> order;
  for (OpId last : group.ops) {
    if (is_read_here(last)) continue;
    std::vector<OpId> stack{last};
    while (!stack.empty()) {
      const OpId at = stack.back();
      uint8_t& seen = state[at.index];
      if (seen != kMember) {
        stack.pop_back();
        if (std::exchange(seen, kDone) == kOpen) order.push_back(at);
        continue;
      }
      seen = kOpen;
      for (auto o = graph[at].in.rbegin(); o != graph[at].in.rend(); ++o) {
        const OpId def = o->is_value() ? graph[o->value].def : OpId();
        if (const auto found = def.valid() ? state.find(def.index) : state.end(); found != state.end() && found->second == kMember)
          stack.push_back(def);
      }
    }
  }
  return order;
}

// Nodes of a group join in order, each with all parts of the group so far that can hold it; an anchor only where that is no loss. What
// would close a cycle, or what no schedule holds with the rest, stays a part of its own. A part that has no room for an op takes none of
// the later ones: it would have to read the results of those that it left out.
void MergeSearch::merge_groups(const std::vector<CastGroup>& groups, bool anchors) {
  for (const CastGroup& group : groups) {
    std::vector<ClusterId> parts;
    for (OpId op : depth_first(group)) {
      if (!clusters_.floating().is_node(op)) continue;
      for (ClusterId& part : parts) {
        const ClusterId a = clusters_.root(part), b = clusters_.of(op);
        const bool anchored = clusters_[a].anchored || clusters_[b].anchored;
        bool full = false;
        if (!anchored || anchors) try_merge(a, b, anchored ? kLeastGainUs : -kForced, &full);
        if (full) part = ClusterId();
      }
      std::erase_if(parts, [](ClusterId part) { return !part.valid(); });
      parts.push_back(clusters_.of(op));
      for (ClusterId& part : parts) part = clusters_.root(part);
      std::sort(parts.begin(), parts.end());
      parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
      if (parts.size() > kMaxParts) parts.erase(parts.begin());
    }
  }
}

bool MergeSearch::is_chain(ClusterId a, ClusterId b) {
  if (clusters_[a].anchored || clusters_[b].anchored) return false;
  if (clusters_[a].order > clusters_[b].order) std::swap(a, b);
  return !clusters_[a].cost.evaluation.writes.empty() && clusters_.leads_only_to(a, b);
}

void MergeSearch::push(OpId node_a, OpId node_b, bool chains_only) {
  ClusterId a = clusters_.of(node_a), b = clusters_.of(node_b);
  if (a == b) return;
  if (clusters_[a].first_rank > clusters_[b].first_rank) std::swap(a, b), std::swap(node_a, node_b);
  if (chains_only && !is_chain(a, b)) return;
  const uint64_t versions = static_cast<uint64_t>(clusters_[a].version) << 32 | clusters_[b].version;
  auto [at, fresh] = settled_.try_emplace(pair_key(a, b), ~versions);
  if (!fresh && at->second == versions) return;
  at->second = versions;
  const double gain = rounded(clusters_.estimated_gain(a, b));
  if (gain < kLeastGainUs) return;
  queue_.push({gain, clusters_[a].first_rank, clusters_[b].first_rank, node_a, node_b, clusters_[a].version, clusters_[b].version, false});
}

void MergeSearch::run(bool chains_only) {
  settled_.clear();
  for (ClusterId id : clusters_.all())
    for (const auto& [a, b] : clusters_[id].links) push(a, b, chains_only);
  while (!queue_.empty()) {
    Candidate top = queue_.top();
    queue_.pop();
    const ClusterId a = clusters_.of(top.a), b = clusters_.of(top.b);
    if (a == b) continue;
    if (clusters_[a].version != top.version_a || clusters_[b].version != top.version_b) {
      push(top.a, top.b, chains_only);  // one of them grew: rank it again
      continue;
    }
    ClusterCost cost = clusters_.join(a, b);
    if (!cost.plan.ok) continue;
    const double gain = rounded(clusters_[a].cost.us + clusters_[b].cost.us - cost.us);
    if (gain < kLeastGainUs) continue;
    if (!top.exact && gain < top.gain && !queue_.empty() && gain < queue_.top().gain) {
      top.gain = gain;
      top.exact = true;
      queue_.push(top);
      continue;
    }
    bool gave_up = false;
    if (clusters_.between(a, b, gave_up).valid() || gave_up) continue;
    const bool a_smaller = clusters_[a].nodes.size() < clusters_[b].nodes.size();
    const std::vector<std::pair<OpId, OpId>> links = clusters_[a_smaller ? a : b].links;
    clusters_.merge(a, b, std::move(cost));
    // The smaller side's neighbours meet a cluster they did not know; the larger side's are ranked again when their turn comes.
    for (const auto& [x, y] : links) push(x, y, chains_only);
  }
}

void MergeSearch::merge_neighbours() {
  // Refused pairs may become possible through a third cluster: until nothing merges any more.
  for (int round = 0; round < 8; ++round) {
    const size_t before = clusters_.all().size();
    run(false);
    if (clusters_.all().size() == before) break;
  }
}

void MergeSearch::merge_unrelated() {
  for (bool merged = true; merged;) {
    merged = false;
    const std::vector<ClusterId> ids = clusters_.all();
    const size_t reach = ids.size() <= kAllPairs ? ids.size() : 2;
    for (size_t i = 0; i < ids.size(); ++i)
      for (size_t j = i + 1; j < std::min(ids.size(), i + 1 + reach); ++j)
        merged |= try_merge(clusters_.root(ids[i]), clusters_.root(ids[j]), kLeastGainUs);
  }
}

void MergeSearch::merge_at_random(uint64_t seed) {
  std::mt19937_64 random(seed);  // the standard fixes its numbers, and those of no distribution
  std::vector<std::pair<OpId, OpId>> pairs;
  const std::vector<ClusterId> ids = clusters_.all();
  for (ClusterId id : ids) {
    const Cluster& c = clusters_[id];
    pairs.insert(pairs.end(), c.links.begin(), c.links.end());
    pairs.push_back({c.nodes[0], clusters_[ids[random() % ids.size()]].nodes[0]});  // as a rule they share nothing
  }
  for (size_t left = pairs.size(); left > 1; --left) std::swap(pairs[left - 1], pairs[random() % left]);
  const uint64_t quarters = random() % 5;  // of the pairs are merged: from every atom alone to whatever fits together
  for (const auto& [a, b] : pairs)
    if (random() % 4 < quarters) try_merge(clusters_.of(a), clusters_.of(b), -kForced);
}

}  // namespace fusec
