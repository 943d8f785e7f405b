#include "diff/compare.h"

#include <set>

namespace fusec {

namespace {

constexpr const char* kDefaultArch = "sm_80";
constexpr size_t kMostLowered = 5000;  // ops; in larger graphs a segment counts as one launch, as lowering takes its time

// The ops of a report as they were written.
std::set<std::string> written_ops(const ReportView& report) {
  std::set<std::string> names;
  auto add = [&](const std::string& op) {
    const auto origin = report.origin.find(op);
    names.insert(origin == report.origin.end() ? op : origin->second);
  };
  for (const SegmentView& segment : report.segments)
    for (const std::string& op : segment.ops) add(op);
  return names;
}

GraphDiff diff_names(const ReportView& a, const ReportView& b) {
  const std::set<std::string> of_a = written_ops(a), of_b = written_ops(b);
  auto known = [](const ReportView& r, const std::set<std::string>& ops, const std::string& op) {
    return ops.contains(op) || r.merged.contains(op);
  };
  GraphDiff d;
  d.by_name = true;
  d.ops_a = of_a.size();
  d.ops_b = of_b.size();
  for (const std::string& op : of_a)
    if (known(b, of_b, op)) ++d.matched;
    else d.removed.push_back({op, "", "", 0});
  for (const std::string& op : of_b)
    if (!known(a, of_a, op)) d.added.push_back({op, "", "", 0});
  d.common = d.matched;
  return d;
}

std::string arch_for(const Side& a, const Side& b, const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  for (const Side* side : {&a, &b})
    if (side->report) return side->report->arch;
  return kDefaultArch;
}

void note_limits(Comparison& c) {
  const ReportView &a = *c.a.report, &b = *c.b.report;
  if (c.graph.by_name)
    c.notes.push_back("a report has no graph: ops are matched by their names, and neither kinds nor operands are compared");
  if (a.arch != b.arch) c.notes.push_back("the sides are for different GPUs: " + a.arch + " and " + b.arch);
  if (a.fusec != b.fusec) c.notes.push_back("the sides were compiled by different versions of fusec: " + a.fusec + " and " + b.fusec);
  if (!a.lowered() || !b.lowered()) c.notes.push_back("launches are counted as one for each segment where a side was not lowered");
}

}  // namespace

Comparison compare(Side a, Side b, const CompareOptions& options) {
  Comparison c{std::move(a), std::move(b), {}, {}, {}};
  const bool both = c.a.graph && c.b.graph;
  if (both) {
    c.graph = diff_graphs(*c.a.graph, c.a.text(), *c.b.graph, c.b.text());
    check_common(c);
    if (!options.segments) return c;
  }
  const bool lower = (!c.a.graph || c.a.graph->ops.size() <= kMostLowered) && (!c.b.graph || c.b.graph->ops.size() <= kMostLowered);
  const std::string arch = arch_for(c.a, c.b, options.arch);
  if (both && c.graph.same() && !c.a.report && !c.b.report) {
    // Segments depend on structure alone: one graph's are the other's.
    add_reports({&c.a}, arch, options.read, lower);
    c.b.report = c.a.report;
    GraphDiff identity;
    identity.by_name = true;
    c.segments = diff_segments(*c.a.report, *c.b.report, identity, {}, {});
  } else {
    add_reports({&c.a, &c.b}, arch, options.read, lower);
    if (!both) {
      c.graph = diff_names(*c.a.report, *c.b.report);
      check_common(c);
    }
    c.segments = diff_segments(*c.a.report, *c.b.report, c.graph, spots_of(c.a), spots_of(c.b));
  }
  note_limits(c);
  return c;
}

}  // namespace fusec
