// Graph → Segmentation: premerge (cast groups and other atoms), then cost-driven merging.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "segment/segmentation.h"
#include "segment/target.h"

namespace fusec {

// The cast groups of a graph: maximal sets of ops connected through wide values, entered by up-casts and left by down-casts.
std::vector<CastGroup> find_cast_groups(const Graph& graph);

Segmentation segment(const Graph& graph, const Target& target);

// Questions of the kind "what if": the same search with its hands tied.
struct Forced {
  std::vector<std::vector<OpId>> together;   // each set in one kernel, with all that lies on paths between its members
  std::vector<std::pair<OpId, OpId>> apart;  // in two kernels
  std::vector<OpId> stored;                  // computed once, not again where they are read
  // A legal partition drawn from it, in place of the cheapest. Cast groups stay whole in both.
  std::optional<uint64_t> random_seed;
};
struct ForcedSegmentation {
  Segmentation segmentation;
  struct Answer {
    bool possible = true;
    std::string rule, why;      // when not: the refusal, by name and in words
    std::vector<OpId> between;  // what lies on paths between the members
  };
  std::vector<Answer> together;  // one for each set; a refused one took no part
};
ForcedSegmentation segment(const Graph& graph, const Target& target, const Forced& forced);
// FUSEC_CHECKs: each needed op in exactly one segment, the quotient is acyclic and in order, every crossing value is an edge with a why.
void verify(const Graph& graph, const Segmentation& segmentation);

// The cost model, also for reports: bytes and estimated µs of one segment.
struct SegmentCost {
  int64_t bytes_read = 0, bytes_written = 0;
  double us = 0;
};
SegmentCost cost_of(const Graph& graph, const Segment& segment, const Target& target);

class Facts;
class Evaluator;
// The same for many segments of one graph, which must outlive it.
class CostModel {
 public:
  CostModel(const Graph& graph, const Target& target);
  SegmentCost cost_of(const Segment& segment);
  // Inputs read once, as far as the segments asked about so far touch them, and outputs written once.
  int64_t lower_bound_bytes() const;
  // An edge that is wider than what its value could be recomputed from without an anchor.
  struct WideEdge {
    size_t edge = 0;           // position in Segmentation::edges
    int64_t narrow_bytes = 0;  // as many elements of that narrower type
  };
  std::vector<WideEdge> wide_edges(const Segmentation& segmentation) const;
  int64_t bytes_of(ValueId v) const;

 private:
  std::shared_ptr<Facts> facts_;
  Target target_;
  std::shared_ptr<Evaluator> evaluator_;
  std::map<ValueId, int64_t> touched_;
};

}  // namespace fusec
