// The report as one HTML page: the graph drawn, each kernel's code and cost, the reason of every cut. It loads nothing and talks to nobody.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "driver/compile.h"
#include "emit/report.h"

namespace fusec {

// Of `fusec run --bench --json`.
struct MeasuredTimes {
  std::string device;
  double us = 0, limit_gbps = 0;
  std::map<uint32_t, double> segment_us;
};
// Failure(kBadInput) when the text is no such object, or of another graph.
MeasuredTimes read_measured(const std::string& json, const std::string& graph);

struct HtmlOptions {
  bool use_dot = true;  // for the places of the ops, when it is installed
  int64_t dot_timeout_ms = 4000;
  std::optional<MeasuredTimes> measured;
};

std::string report_html(const Compilation& compilation, const Target& target, const std::map<std::string, KernelResources>& resources,
                        const HtmlOptions& options);

}  // namespace fusec
