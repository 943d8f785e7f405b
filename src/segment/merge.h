// The merge search: cast groups first, then best gain first over neighbours, then what is merely small.
#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

#include "segment/clusters.h"
#include "segment/segmentation.h"

namespace fusec {

class MergeSearch {
 public:
  explicit MergeSearch(Clusters& clusters) : clusters_(clusters) {}

  // `anchors`: also with the reductions and scans of a group, where that is no loss.
  void merge_groups(const std::vector<CastGroup>& groups, bool anchors);
  // Producers with one consumer, pointwise both: never wrong, and cheap to decide.
  void merge_chains() { run(true); }
  void merge_neighbours();
  // Clusters that share nothing: a launch less.
  void merge_unrelated();
  // Instead of the three above: pairs in an order drawn from the seed, each merged or not as drawn, whatever that costs. For tests: a
  // partition is a matter of speed alone.
  void merge_at_random(uint64_t seed);

 private:
  struct Candidate {
    double gain;
    uint32_t rank_a, rank_b;  // first ranks, for ties: the lower pair first
    OpId a, b;                // nodes of the two clusters
    uint32_t version_a, version_b;
    bool exact;  // the schedule has been asked
    bool operator<(const Candidate& o) const {
      if (gain != o.gain) return gain < o.gain;
      if (rank_a != o.rank_a) return rank_a > o.rank_a;
      return rank_b > o.rank_b;
    }
  };

  std::vector<OpId> depth_first(const CastGroup& group);
  void run(bool chains_only);
  void push(OpId a, OpId b, bool chains_only);
  bool is_chain(ClusterId a, ClusterId b);
  // `full`: whether the union would pass a limit of one kernel.
  bool try_merge(ClusterId a, ClusterId b, double least_gain, bool* full = nullptr);

  Clusters& clusters_;
  std::priority_queue<Candidate> queue_;
  std::unordered_map<uint64_t, uint64_t> settled_;  // pair → versions at which it was queued or refused last
};

}  // namespace fusec
