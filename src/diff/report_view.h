// A segmentation report as `fusec compile` writes it, read back: what `fusec diff` compares of segments, edges and costs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace fusec {

struct SegmentView {
  std::string kernel, kind;
  std::vector<std::string> ops, recomputed;
  int64_t bytes = 0;
  double us = 0;
  std::optional<int64_t> registers, spill_bytes;
  bool lowered = false;  // it has a launch
};

struct EdgeView {
  std::string value, dtype, why;
  int64_t bytes = 0;
  std::optional<int64_t> narrow_bytes;  // a wide edge: what a narrower value that it can be recomputed from would take
  uint32_t from = 0;
  std::vector<uint32_t> to;
};

struct CastGroupView {
  std::vector<std::string> ops;
  bool whole = true;
  std::string why;
};

struct ReportView {
  std::string graph, fusec, arch;
  std::vector<SegmentView> segments;
  std::vector<EdgeView> edges;
  std::vector<CastGroupView> cast_groups;
  std::unordered_map<std::string, std::string> origin, merged;
  std::map<std::string, double> totals;
  bool lowered() const;
};

// `path` is for messages. Failure(kBadInput) for anything that is no report of version 1.
ReportView read_report(const std::string& text, const std::string& path);

}  // namespace fusec
