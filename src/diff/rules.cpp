#include "diff/rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "diff/words.h"
#include "support/quantity.h"
#include "support/text.h"

namespace fusec {

namespace {

struct RuleName {
  std::string_view name;
  Rule::Kind kind;
  bool takes_percent;
};
constexpr RuleName kRules[] = {
    {"graph", Rule::kGraph, false},       {"segments", Rule::kSegments, false},    {"edge-bytes", Rule::kEdgeBytes, true},
    {"launches", Rule::kLaunches, false}, {"wide-edges", Rule::kWideEdges, false}, {"time", Rule::kTime, true},
};

[[noreturn]] void refuse(const std::string& why) { throw Failure(Exit::kBadInput, "--fail-on: " + why); }

double parse_percent(const std::string& rule, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    refuse("'" + rule + "': " + fusec::quoted(text) + " is no percentage; write for example edge-bytes:5");
  return value;
}

// Growth of a number beyond a percentage.
Verdict judge_growth(const Rule& rule, const SegmentDiff& d, const char* name, std::string (*spell)(double)) {
  const Metric& m = d.metric(name);
  if (!m.a || !m.b) refuse("'" + rule.text + "': the report of " + (m.a ? "the second" : "the first") + " side does not tell " + name);
  Verdict v{rule, *m.b > *m.a * (1 + rule.percent / 100), {}};
  if (!v.broken) return v;
  v.why.push_back(metric_label(m) + " " + spell(*m.a) + " → " + spell(*m.b) + (*m.a > 0 ? " (" + percent_text(*m.a, *m.b) + ")" : ""));
  return v;
}

std::string integer_text(double n) { return number_text(n); }

Verdict judge_wide_edges(const Rule& rule, const SegmentDiff& d) {
  Verdict v = judge_growth(rule, d, "wide_edges", integer_text);
  if (d.wide.empty()) return v;
  v.broken = true;
  v.why.clear();
  for (const EdgeChange& e : d.wide) v.why.push_back(wide_text(e));
  return v;
}

}  // namespace

Rule parse_rule(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  for (const RuleName& row : kRules) {
    if (row.name != name) continue;
    if (colon != std::string::npos && !row.takes_percent) refuse("'" + name + "' takes no percentage");
    return {row.kind, colon == std::string::npos ? 0 : parse_percent(name, text.substr(colon + 1)), text};
  }
  std::vector<std::string_view> names;
  std::string list;
  for (const RuleName& row : kRules) {
    names.push_back(row.name);
    list += (list.empty() ? "" : ", ") + std::string(row.name);
  }
  const std::string near = nearest(name, names);
  refuse(fusec::quoted(name) + " is none of " + list + (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

Verdict judge(const Rule& rule, const Comparison& c) {
  auto say = [&](bool broken, const std::string& why) {
    return Verdict{rule, broken, broken ? std::vector<std::string>{why} : std::vector<std::string>{}};
  };
  if (rule.kind == Rule::kGraph) return say(!c.graph.same(), graph_summary(c.graph));
  const SegmentDiff& d = *c.segments;
  switch (rule.kind) {
    case Rule::kSegments:
      return say(!d.recuts.empty(), recut_summary(d));
    case Rule::kEdgeBytes:
      return judge_growth(rule, d, "edge_bytes", bytes_text);
    case Rule::kLaunches:
      return judge_growth(rule, d, "launches", integer_text);
    case Rule::kWideEdges:
      return judge_wide_edges(rule, d);
    case Rule::kTime:
      return judge_growth(rule, d, "estimated_us", microseconds_text);
    case Rule::kGraph:
      break;
  }
  return say(false, "");
}

void check_common(const Comparison& c) {
  const GraphDiff& g = c.graph;
  if (g.ops_a == 0 && g.ops_b == 0) return;
  const std::string both = c.a.path + " and " + c.b.path;
  if (g.ops_a == 0 || g.ops_b == 0)
    throw Failure(Exit::kBadInput, both + " have nothing in common: the " + (g.ops_a == 0 ? "first" : "second") + " has no ops");
  if (g.common > 0) return;
  throw Failure(Exit::kBadInput, both + " have nothing in common: none of " + count_text(g.ops_a, "op") + " is like one of " +
                                     std::to_string(g.ops_b) + (g.by_name ? ", by their names" : "") +
                                     ". `fusec diff` compares versions of one graph");
}

}  // namespace fusec
