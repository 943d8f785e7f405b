// Kernels in the making: sets of nodes, merged two at a time while the graph of clusters stays acyclic.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "segment/evaluation.h"
#include "segment/facts.h"
#include "segment/floating.h"
#include "segment/schedule.h"

namespace fusec {

struct ClusterTag;
using ClusterId = Id<ClusterTag>;

// What a cluster costs as a kernel.
struct ClusterCost {
  Evaluation evaluation;
  Plan plan;
  size_t op_count = 0;
  double us = 0;
};

struct Cluster {
  std::vector<OpId> nodes;
  ClusterCost cost;
  std::vector<std::pair<OpId, OpId>> links;  // pairs of nodes that share a value, at least one of them here
  bool anchored = false;
  uint32_t order = 0;    // place in a topological order of the clusters
  uint32_t version = 0;  // counts merges
  uint32_t first_rank = 0;
};

class Clusters {
 public:
  // The two ops of each pair in `apart` never join. `stored` ops and those of pairs are nodes whatever they cost, and never made again.
  using Pairs = std::vector<std::pair<OpId, OpId>>;
  Clusters(const Facts& facts, const Target& target, Pairs apart = {}, std::vector<OpId> stored = {});

  ClusterId of(OpId node);
  ClusterId root(ClusterId id);  // the cluster that a merged one became
  const Cluster& operator[](ClusterId id) const { return clusters_[id]; }
  Cluster& operator[](ClusterId id) { return clusters_[id]; }
  // All clusters, by first rank.
  std::vector<ClusterId> all();

  // The cost of the union, or why no kernel can hold it. Acyclicity is asked separately.
  ClusterCost join(ClusterId a, ClusterId b);
  // The same for any set of nodes.
  ClusterCost cost_of(const std::vector<OpId>& nodes);
  // A quick estimate of the same, for ranking: no schedule is asked.
  double estimated_gain(ClusterId a, ClusterId b);
  // Whether a path through a third cluster connects the two: a cluster on it, if so. Gives up (`gave_up`) on a search of more clusters than
  // the budget.
  static constexpr size_t kSearchBudget = 3000;
  ClusterId between(ClusterId a, ClusterId b, bool& gave_up, size_t budget = kSearchBudget);
  // Needs: not between(a, b), asked just before. Returns the union's id.
  ClusterId merge(ClusterId a, ClusterId b, ClusterCost cost);
  // Whether nothing but b reads what a writes.
  bool leads_only_to(ClusterId a, ClusterId b);

  // Stored once and read, never made again.
  bool is_pinned(OpId op) const { return std::find(pinned_.begin(), pinned_.end(), op) != pinned_.end(); }

  const std::vector<OpId>& readers(ValueId v) const { return readers_[v]; }
  const Facts& facts() const { return facts_; }
  const Target& target() const { return target_; }
  Floating& floating() { return floating_; }
  Evaluator& evaluator() { return evaluator_; }
  Scheduler& scheduler() { return scheduler_; }

 private:
  void make_cluster(OpId node);
  bool asked_apart(ClusterId a, ClusterId b);
  bool stays_written(ValueId v, ClusterId a, ClusterId b);
  Evaluation join_estimate(ClusterId a, ClusterId b);
  std::vector<ClusterId> successors(ClusterId id);
  std::vector<ClusterId> predecessors(ClusterId id);
  bool search(ClusterId from, ClusterId to, bool forward, size_t budget, std::vector<ClusterId>& found, ClusterId& via);

  const Facts& facts_;
  const Target& target_;
  const Pairs apart_;
  const std::vector<OpId> pinned_;
  Floating floating_;
  Evaluator evaluator_;
  Scheduler scheduler_;
  IdVec<ClusterId, Cluster> clusters_;
  IdVec<ClusterId, ClusterId> parent_;
  IdVec<OpId, ClusterId> cluster_of_;
  IdVec<ValueId, std::vector<OpId>> readers_;  // nodes that read a value, directly or through floating ops, by rank
  IdVec<ClusterId, uint32_t> seen_;
  uint32_t stamp_ = 0;
  std::vector<ClusterId> before_, after_;  // of the last between()
};

// Why a union of this cost is refused before any schedule is asked; kNone when nothing speaks against it.
Refusal limits_refusal(const Facts& facts, const Target& target, const Evaluation& evaluation, size_t op_count);

}  // namespace fusec
