// What both report formats say, gathered once from a compilation.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "emit/report.h"
#include "kernel/program.h"

namespace fusec {

struct LaunchFacts {
  std::string kernel;
  int64_t blocks = 0;
  uint32_t block = 0, shared_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> schedule;
  std::vector<std::vector<std::string>> phases;  // as in Launch
  std::string why;
  ScatterChoice scatter;
};

struct SegmentFacts {
  std::string kernel;
  std::vector<std::string> ops, recomputed, inputs, outputs;
  SegmentCost cost;
  std::vector<LaunchFacts> launches;  // empty before lowering
};

struct ReportFacts {
  std::vector<SegmentFacts> segments;
  std::map<std::string, std::string> origin, merged;
  int64_t launches = 0, edge_bytes = 0, bytes = 0, lower_bound_bytes = 0, recomputed_ops = 0, wide_edges = 0;
  double us = 0;
  std::vector<int64_t> edge_value_bytes;  // as Segmentation::edges
  std::vector<int64_t> narrow_bytes;      // of wide edges: what a narrower value would take; 0 for others
};

ReportFacts gather_report(const Compilation& compilation, const Target& target);

}  // namespace fusec
