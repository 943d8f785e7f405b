#include "runtime/bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/copy_kernel.h"

namespace fusec {

namespace {

constexpr int kWarmups = 10, kReplays = 100;
constexpr int kSegmentWarmups = 3, kSegmentReplays = 20;
constexpr int kCopyWarmups = 3, kCopyReplays = 20;

double rounded(double value) { return std::round(value * 1e3) / 1e3; }

std::vector<SegmentTime> measure_segments(LoadedGraph& loaded, const BoundProgram& program) {
  std::vector<SegmentTime> times;
  for (const BoundLaunch& launch : program.launches) {
    auto seen = std::find_if(times.begin(), times.end(), [&](const SegmentTime& time) { return time.id == launch.segment; });
    const std::string kernel = launch.kind == Launch::kCopy ? "copy" : launch.kernel;
    if (seen == times.end()) times.push_back({launch.segment, kernel, 0});
    else seen->kernel += "+" + kernel;
  }
  for (SegmentTime& time : times) time.us = quartiles(loaded.time_segment(time.id, kSegmentWarmups, kSegmentReplays)).median;
  return times;
}

std::string line(const char* format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

Quartiles quartiles(std::vector<double> samples) {
  Quartiles result;
  result.n = samples.size();
  if (samples.empty()) return result;
  std::sort(samples.begin(), samples.end());
  auto at = [&](double rank) {  // from 1
    const double clamped = std::clamp(rank, 1.0, static_cast<double>(samples.size()));
    const auto below = static_cast<size_t>(clamped);
    const double rest = clamped - static_cast<double>(below);
    return rest > 0 ? samples[below - 1] + rest * (samples[below] - samples[below - 1]) : samples[below - 1];
  };
  const double step = static_cast<double>(samples.size() + 1) / 4;
  result.q1 = at(step);
  result.median = at(2 * step);
  result.q3 = at(3 * step);
  result.min = samples.front();
  return result;
}

void measure(Device& device, LoadedGraph& loaded, const BoundProgram& program, const std::string& copy_image, BenchResult& result) {
  result.device = device.info().name;
  result.launches = program.launches.size();
  const Quartiles copy = quartiles(device.time_copy(copy_image, kCopyWarmups, kCopyReplays));
  result.limit_gbps = 2e-3 * static_cast<double>(kCopyBytes) / copy.median;
  result.us = quartiles(loaded.time(kWarmups, kReplays));
  result.per_segment = measure_segments(loaded, program);
}

std::string bench_json(const BenchResult& r) {
  nlohmann::ordered_json json;
  json["graph"] = r.graph;
  json["device"] = r.device;
  json["segments"] = r.segments;
  json["launches"] = r.launches;
  json["us"] = {
      {"median", rounded(r.us.median)}, {"q1", rounded(r.us.q1)}, {"q3", rounded(r.us.q3)}, {"min", rounded(r.us.min)}, {"n", r.us.n}};
  json["bytes"] = r.bytes ? nlohmann::ordered_json(*r.bytes) : nlohmann::ordered_json();
  json["gbps"] = rounded(r.gbps());
  json["limit_gbps"] = rounded(r.limit_gbps);
  json["per_segment"] = nlohmann::ordered_json::array();
  for (const SegmentTime& time : r.per_segment)
    json["per_segment"].push_back({{"id", time.id}, {"kernel", time.kernel}, {"us", rounded(time.us)}});
  json["compile_ms"] = rounded(r.compile_ms);
  json["segment_ms"] = rounded(r.segment_ms);
  return json.dump() + "\n";
}

std::string bench_text(const BenchResult& r) {
  auto count = [](size_t n, const char* one, const char* several) { return std::to_string(n) + " " + (n == 1 ? one : several); };
  std::string text =
      r.graph + " on " + r.device + ": " + count(r.segments, "segment", "segments") + ", " + count(r.launches, "launch", "launches") + "\n";
  text += line("  %.2f us median (quartiles %.2f and %.2f, least %.2f, %zu replays, L2 cache overwritten before each)\n", r.us.median,
               r.us.q1, r.us.q3, r.us.min, r.us.n);
  if (r.bytes)
    text += line("  %.2f MB moved: %.0f GB/s, %.0f %% of the %.0f GB/s of a plain copy\n", static_cast<double>(*r.bytes) * 1e-6, r.gbps(),
                 r.limit_gbps > 0 ? 100 * r.gbps() / r.limit_gbps : 0.0, r.limit_gbps);
  else text += line("  a plain copy reaches %.0f GB/s\n", r.limit_gbps);
  if (r.per_segment.size() > 1) text += "  segments alone, launching included in each:\n";
  for (const SegmentTime& time : r.per_segment)
    if (r.per_segment.size() > 1) text += line("    %3u %9.2f us  ", time.id, time.us) + time.kernel + "\n";
  text += line("  compiled in %.1f ms, segmentation %.1f ms of it\n", r.compile_ms, r.segment_ms);
  return text;
}

}  // namespace fusec
