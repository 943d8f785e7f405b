// What became of the segments, the edges between them and the cost, from two reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diff/graph_diff.h"
#include "diff/report_view.h"

namespace fusec {

// Segments that share ops: some of A and some of B.
struct Recut {
  enum Kind : uint8_t { kMerged, kSplit, kRecut, kRemoved, kAdded } kind = kRecut;
  std::vector<uint32_t> a, b;
  std::vector<std::string> why;  // what keeps the segments of B apart, each reason once
};
const char* word_of(Recut::Kind kind);

struct EdgeChange {
  enum Kind : uint8_t { kAdded, kRemoved, kWidened, kNarrowed, kChanged } kind = kAdded;
  Spot spot;  // the op that writes it; of A for kRemoved
  std::optional<EdgeView> a, b;
  std::optional<ChangedSpot> cause;  // the changed op or input of B from which the edge got its dtype or shape
};
const char* word_of(EdgeChange::Kind kind);

struct SegmentChange {
  uint32_t a = 0, b = 0;
  std::vector<Change> changes;  // kind, registers, spill_bytes
};

struct Metric {
  const char* name;
  std::optional<double> a, b;
};

struct SegmentDiff {
  size_t segments_a = 0, segments_b = 0;
  std::vector<Recut> recuts;
  std::vector<SegmentChange> changed;     // of those that hold the same ops
  std::vector<CastGroupView> cut_groups;  // cast groups of B that are cut, where A has none cut like it
  std::vector<EdgeChange> edges;
  std::vector<EdgeChange> wide;  // edges of B that are wide and were not in A
  std::vector<Metric> cost;

  bool same_segments() const { return recuts.empty() && changed.empty() && edges.empty() && cut_groups.empty(); }
  bool same_cost() const;
  const Metric& metric(const std::string& name) const;
};

// What is known about the ops of a side by the names of their results; may lack any.
struct Known {
  Spot spot;
  std::vector<std::string> operands;
};
using Spots = std::unordered_map<std::string, Known>;
SegmentDiff diff_segments(const ReportView& a, const ReportView& b, const GraphDiff& graphs, const Spots& spots_a, const Spots& spots_b);

}  // namespace fusec
