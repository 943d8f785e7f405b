// What `fusec diff` compares, and the rules that make a difference fail a script (--fail-on).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diff/segment_diff.h"
#include "diff/side.h"

namespace fusec {

struct Comparison {
  Side a, b;
  GraphDiff graph;
  std::optional<SegmentDiff> segments;  // nothing where only the graphs were asked for
  std::vector<std::string> notes;       // what limits the comparison, in words
};

struct Rule {
  enum Kind : uint8_t { kGraph, kSegments, kEdgeBytes, kLaunches, kWideEdges, kTime } kind = kGraph;
  double percent = 0;  // kEdgeBytes, kTime: growth that is allowed
  std::string text;    // as written
};
// "graph", "edge-bytes:5". Failure(kBadInput) for what is no rule.
Rule parse_rule(const std::string& text);

struct Verdict {
  Rule rule;
  bool broken = false;
  std::vector<std::string> why;  // when broken: each reason
};

// Failure(kBadInput) when a side lacks what a rule is about.
Verdict judge(const Rule& rule, const Comparison& comparison);

// Failure(kBadInput) when the two sides are no versions of one thing: no op of one is like an op of the other.
void check_common(const Comparison& comparison);

}  // namespace fusec
