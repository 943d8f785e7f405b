#include "diff/bench_diff.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "support/check.h"

namespace fusec {

namespace {

constexpr double kFewestSamples = 5;  // fewer have no spread to speak of
constexpr double kLikely = 3;         // standard deviations of the rank sum

std::string line(const char* format, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Half the width of the notch of a box plot: where it overlaps another's, the medians may be the same (McGill, Tukey, Larsen 1978).
double notch(const BenchRecord& r) { return 1.57 * (r.q3 - r.q1) / std::sqrt(std::max(r.n, 1.0)); }

// How many standard deviations the samples of `after` rank above those of `before` (Mann–Whitney); ties count half.
double rank_shift(std::vector<double> before, std::vector<double> after) {
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  double above = 0;
  for (double x : after) {
    const auto low = std::lower_bound(before.begin(), before.end(), x), high = std::upper_bound(low, before.end(), x);
    above += static_cast<double>(low - before.begin()) + 0.5 * static_cast<double>(high - low);
  }
  const auto m = static_cast<double>(before.size()), n = static_cast<double>(after.size());
  return (above - m * n / 2) / std::sqrt(m * n * (m + n + 1) / 12);
}

bool equal(const BenchRecord& x, const BenchRecord& y) {
  return x.median == y.median && x.q1 == y.q1 && x.q3 == y.q3 && x.min == y.min && x.samples == y.samples;
}

struct Judgement {
  BenchVerdict::Word word;
  std::string why;
};

// The change beyond what the machine did to a plain copy in the same process. Positive: slower.
Judgement judge(const BenchRecord& a, const BenchRecord& b, double change, double error, double threshold) {
  using V = BenchVerdict;
  if (a.device != b.device) return {V::kUnsure, "measured on different GPUs: " + a.device + " and " + b.device};
  if (equal(a, b)) return {V::kSame, "the same numbers"};
  if (a.n < kFewestSamples || b.n < kFewestSamples) return {V::kUnsure, line("too few samples: %.0f and %.0f", a.n, b.n)};
  if (std::abs(change) + error <= threshold) return {V::kSame, ""};
  const bool slower = change > 0;
  const bool apart = slower ? b.q1 > a.q3 : b.q3 < a.q1;
  if (std::abs(change) <= threshold)
    return apart ? Judgement{V::kSame, "a small change"} : Judgement{V::kUnsure, "the spread hides changes of this size"};
  if (!apart) return {V::kUnsure, "the middle halves of the samples overlap"};
  if (slower ? b.min <= a.min : b.min >= a.min) return {V::kUnsure, "the fastest runs say the opposite"};
  if (!a.samples.empty() && !b.samples.empty()) {
    const double shift = rank_shift(a.samples, b.samples);
    if (slower ? shift < kLikely : shift > -kLikely) return {V::kUnsure, line("the samples' ranks differ by %.1f deviations only", shift)};
  }
  if (a.limit_gbps && b.limit_gbps && *b.limit_gbps > 0) {
    // A GPU that is throttled or shared copies slower, too.
    const double copy = *a.limit_gbps / *b.limit_gbps - 1;
    if (std::abs(copy) > threshold && (copy > 0) == slower && std::abs(change) <= std::abs(copy) + threshold)
      return {V::kUnsure, line("a plain copy changed by %+.1f %% as well: the machine, not the graph", 100 * copy)};
  }
  return {slower ? V::kSlow : V::kFast, ""};
}

BenchVerdict compare(const BenchRecord& a, const BenchRecord& b, double threshold) {
  BenchVerdict v{BenchVerdict::kSame, a.graph, a, b, b.median / a.median - 1, 0, ""};
  v.error = std::hypot(notch(a), notch(b)) / a.median;
  const Judgement judged = judge(a, b, v.change, v.error, threshold);
  v.word = judged.word;
  v.why = judged.why;
  for (const BenchRecord* r : {&a, &b})
    for (const std::string& warning : r->warnings)
      v.why += (v.why.empty() ? "" : "; ") + std::string(r == &a ? "old: " : "new: ") + warning;
  return v;
}

std::string times(const BenchRecord& r) { return line("%.2f [%.2f, %.2f]", r.median, r.q1, r.q3); }

nlohmann::ordered_json record_json(const std::optional<BenchRecord>& r) {
  if (!r) return {};
  return {{"device", r->device}, {"median", r->median}, {"q1", r->q1}, {"q3", r->q3}, {"min", r->min}, {"n", static_cast<int64_t>(r->n)}};
}

}  // namespace

const char* word_of(BenchVerdict::Word word) {
  static constexpr const char* kWords[] = {"SAME", "FAST", "SLOW", "UNSURE", "ONLY-OLD", "ONLY-NEW"};
  return kWords[word];
}

std::vector<BenchVerdict> diff_bench(const std::vector<BenchRecord>& before, const std::vector<BenchRecord>& after, double threshold) {
  auto find = [](const std::vector<BenchRecord>& list, const std::string& graph) {
    return std::find_if(list.begin(), list.end(), [&](const BenchRecord& r) { return r.graph == graph; });
  };
  std::vector<BenchVerdict> verdicts;
  for (const BenchRecord& a : before) {
    const auto b = find(after, a.graph);
    if (b != after.end()) verdicts.push_back(compare(a, *b, threshold));
    else verdicts.push_back({BenchVerdict::kOnlyOld, a.graph, a, std::nullopt, 0, 0, "the new file lacks it"});
  }
  for (const BenchRecord& b : after)
    if (find(before, b.graph) == before.end())
      verdicts.push_back({BenchVerdict::kOnlyNew, b.graph, std::nullopt, b, 0, 0, "the old file lacks it"});
  return verdicts;
}

std::string bench_diff_text(const std::vector<BenchVerdict>& verdicts) {
  size_t width = 5;
  for (const BenchVerdict& v : verdicts) width = std::max(width, v.graph.size());
  std::string text;
  for (const BenchVerdict& v : verdicts) {
    text += std::string(word_of(v.word)) + std::string(9 - std::string(word_of(v.word)).size(), ' ') + v.graph +
            std::string(width - v.graph.size(), ' ');
    if (v.before && v.after)
      text += "  " + times(*v.before) + " → " + times(*v.after) + line(" µs  %+.1f ± %.1f %%", 100 * v.change, 100 * v.error);
    else text += "  " + times(v.before ? *v.before : *v.after) + " µs";
    text += (v.why.empty() ? "" : "  (" + v.why + ")") + "\n";
  }
  return text;
}

std::string bench_diff_json(const std::vector<BenchVerdict>& verdicts, double threshold) {
  nlohmann::ordered_json json = {{"version", 1}, {"threshold_percent", 100 * threshold}, {"graphs", nlohmann::ordered_json::array()}};
  for (const BenchVerdict& v : verdicts) {
    nlohmann::ordered_json one = {
        {"graph", v.graph}, {"verdict", word_of(v.word)}, {"old", record_json(v.before)}, {"new", record_json(v.after)}};
    const bool both = v.before && v.after;
    one["change_percent"] = both ? nlohmann::ordered_json(100 * v.change) : nlohmann::ordered_json();
    one["error_percent"] = both ? nlohmann::ordered_json(100 * v.error) : nlohmann::ordered_json();
    one["why"] = v.why.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(v.why);
    json["graphs"].push_back(std::move(one));
  }
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fusec
