#include "diff/words.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "support/quantity.h"

namespace fusec {

namespace {

constexpr size_t kListed = 12;  // segments of a recut

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string none_or(const std::string& text) { return text.empty() ? "(none)" : text; }

std::string ids(const std::vector<uint32_t>& list) {
  std::string out;
  for (size_t i = 0; i < std::min(list.size(), kListed); ++i) out += (out.empty() ? "" : ", ") + std::to_string(list[i]);
  return list.size() > kListed ? out + ", … (" + std::to_string(list.size()) + ")" : out;
}

std::string join(const std::string& list, const std::string& one) { return list.empty() ? one : one.empty() ? list : list + ", " + one; }

std::string counted(size_t n, const char* what) { return n == 0 ? "" : std::to_string(n) + " " + what; }

struct MetricWords {
  const char *name, *label;
  enum { kCount, kBytes, kUs } unit;
};
constexpr MetricWords kMetrics[] = {
    {"segments", "segments", MetricWords::kCount},
    {"launches", "launches", MetricWords::kCount},
    {"edge_bytes", "bytes between segments", MetricWords::kBytes},
    {"wide_edges", "wide edges", MetricWords::kCount},
    {"bytes", "bytes moved", MetricWords::kBytes},
    {"lower_bound_bytes", "least bytes", MetricWords::kBytes},
    {"recomputed_ops", "recomputed ops", MetricWords::kCount},
    {"registers", "most registers", MetricWords::kCount},
    {"spill_bytes", "spilled bytes", MetricWords::kBytes},
    {"estimated_us", "estimated time", MetricWords::kUs},
};
const MetricWords& words_of(const Metric& metric) {
  for (const MetricWords& row : kMetrics)
    if (std::strcmp(row.name, metric.name) == 0) return row;
  return kMetrics[0];
}

// "cast, line 21" of the op that writes an edge.
std::string origin_text(const Spot& spot) {
  std::string out = spot.op;
  if (spot.line) out += (out.empty() ? "line " : ", line ") + std::to_string(spot.line);
  return out.empty() ? "" : " (" + out + ")";
}

// "; `rotated` (cast, line 16) changed: dtype …"
std::string cause_text(const EdgeChange& e) {
  if (!e.cause || e.cause->changes.empty()) return "";
  return "; `" + e.cause->b.name + "`" + origin_text(e.cause->b) + " changed: " + phrase(e.cause->changes[0]);
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return format(unit == 0 ? "%.0f " : "%.1f ", bytes) + kUnits[unit];
}

std::string microseconds_text(double us) { return format("%.2f µs", us); }
std::string number_text(double n) { return format("%.0f", n); }
std::string percent_text(double a, double b) { return format("%+.1f %%", 100 * (b / a - 1)); }

std::string phrase(const Change& c) {
  const std::string arrow = none_or(c.a) + " → " + none_or(c.b);
  if (c.what == "attribute") return c.name + " " + arrow;
  if (c.what == "operand") return "operand " + c.name + ": " + arrow;
  if (c.what == "operands") return "operands from " + c.name + " on: " + arrow;
  if (c.what == "result") return "result " + c.name + ": " + arrow;
  return c.what + " " + arrow;
}

std::string graph_summary(const GraphDiff& d) {
  std::string text =
      join(join(counted(d.changed.size(), "changed"), counted(d.added.size(), "added")), counted(d.removed.size(), "removed"));
  if (!text.empty()) text = text + (d.changed.size() + d.added.size() + d.removed.size() == 1 ? " op" : " ops");
  const size_t inputs = d.inputs_added.size() + d.inputs_removed.size() + d.inputs_changed.size();
  const size_t outputs = d.outputs_added.size() + d.outputs_removed.size() + d.outputs_changed.size();
  if (inputs) text = join(text, count_text(inputs, "input") + " differ" + (inputs == 1 ? "s" : ""));
  if (outputs) text = join(text, count_text(outputs, "output") + " differ" + (outputs == 1 ? "s" : ""));
  if (!d.sizes_changed.empty()) text = join(text, count_text(d.sizes_changed.size(), "run-time size") + " changed");
  if (text.empty()) return d.by_name ? "the same names" : "the same";
  if (!d.follow.empty()) text += "; dtypes or shapes of " + count_text(d.follow.size(), "other op") + " follow";
  return text;
}

std::string recut_summary(const SegmentDiff& d) {
  size_t counts[5] = {};
  for (const Recut& recut : d.recuts) ++counts[recut.kind];
  std::string text;
  for (Recut::Kind kind : {Recut::kMerged, Recut::kSplit, Recut::kRecut, Recut::kAdded, Recut::kRemoved})
    text = join(text, counted(counts[kind], word_of(kind)));
  return std::to_string(d.segments_a) + " → " + std::to_string(d.segments_b) + (text.empty() ? ", cut alike" : ": " + text);
}

std::string recut_text(const Recut& recut) {
  const std::string of_a = (recut.a.size() == 1 ? "segment " : "segments ") + ids(recut.a);
  const std::string of_b = (recut.b.size() == 1 ? "segment " : "segments ") + ids(recut.b);
  if (recut.kind == Recut::kAdded) return "added: " + of_b;
  if (recut.kind == Recut::kRemoved) return "removed: " + of_a;
  return std::string(word_of(recut.kind)) + ": " + of_a + " → " + of_b;
}

std::string wide_text(const EdgeChange& e) {
  const EdgeView& b = *e.b;
  return "`" + b.value + "`" + origin_text(e.spot) + " crosses segments as " + b.dtype + " with " +
         bytes_text(static_cast<double>(b.bytes)) + ", where narrower values would do with " +
         bytes_text(static_cast<double>(*b.narrow_bytes)) + cause_text(e) + (b.why.empty() ? "" : "; the segments are apart: " + b.why);
}

std::string edge_text(const EdgeChange& e) {
  const EdgeView& now = e.b ? *e.b : *e.a;
  auto width = [](const EdgeView& v) { return v.dtype + " " + bytes_text(static_cast<double>(v.bytes)); };
  std::string text = std::string(word_of(e.kind)) + ": `" + now.value + "`" + origin_text(e.spot) + " ";
  if (e.a && e.b) text += width(*e.a) + " → " + width(*e.b);
  else text += width(now);
  text += ", segment " + std::to_string(now.from) + " → " + ids(now.to);
  return text + (e.b && e.b->narrow_bytes ? ", wide" : "");
}

std::string metric_label(const Metric& metric) { return words_of(metric).label; }

std::string metric_text(const Metric& metric, double n) {
  switch (words_of(metric).unit) {
    case MetricWords::kBytes:
      return bytes_text(n);
    case MetricWords::kUs:
      return microseconds_text(n);
    case MetricWords::kCount:
      break;
  }
  return number_text(n);
}

}  // namespace fusec
