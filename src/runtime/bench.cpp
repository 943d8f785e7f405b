#include "runtime/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/copy_kernel.h"
#include "support/quantity.h"

namespace fusec {

namespace {

constexpr int kWarmups = 10, kReplays = 100;
constexpr int kSegmentWarmups = 3, kSegmentReplays = 20;
constexpr int kCopyWarmups = 3, kCopyReplays = 20;
constexpr double kNoisy = 0.05, kDrift = 0.05, kSlowCopy = 0.65;  // relative
constexpr double kClockUs = 0.5;                                  // of the events that time replays

// Where gigabytes have just been given back, as by the copy, all that moves much memory is slower for some ms (measured: 10 %, for 5 ms).
constexpr std::chrono::milliseconds kSettle{30};

void settle(LoadedGraph& loaded) {
  const auto end = std::chrono::steady_clock::now() + kSettle;
  while (std::chrono::steady_clock::now() < end) loaded.time(kWarmups, 0);
}

double rounded(double value) { return std::round(value * 1e3) / 1e3; }

std::vector<SegmentTime> measure_segments(LoadedGraph& loaded, const BoundProgram& program) {
  std::vector<SegmentTime> times;
  for (const BoundLaunch& launch : program.launches) {
    auto seen = std::find_if(times.begin(), times.end(), [&](const SegmentTime& time) { return time.id == launch.segment; });
    const std::string kernel = launch.kind == Launch::kCopy ? "copy" : launch.kernel;
    if (seen == times.end()) times.push_back({launch.segment, kernel, 0});
    else seen->kernel += "+" + kernel;
  }
  for (SegmentTime& time : times) {
    const Quartiles us = quartiles(loaded.time_segment(time.id, kSegmentWarmups, kSegmentReplays));
    time.us = us.median;
    time.q1 = us.q1;
    time.q3 = us.q3;
  }
  return times;
}

std::string line(const char* format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

double rate(int64_t bytes, double us) { return us > 0 ? static_cast<double>(bytes) / us * 1e-3 : 0; }

std::optional<int64_t> bytes_of(const BenchResult& r, uint32_t segment) {
  if (segment >= r.segment_bytes.size()) return std::nullopt;
  return r.segment_bytes[segment];
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
  auto copy_gbps = [&] {
    return 2e-3 * static_cast<double>(kCopyBytes) / quartiles(device.time_copy(copy_image, kCopyWarmups, kCopyReplays)).median;
  };
  result.limit_gbps = copy_gbps();
  settle(loaded);
  result.samples = loaded.time(kWarmups, kReplays);
  result.us = quartiles(result.samples);
  result.per_segment = measure_segments(loaded, program);
  result.limit_gbps_after = copy_gbps();
}

std::vector<std::string> doubts_about(const BenchResult& r) {
  std::vector<std::string> doubts;
  const double spread = r.us.median > 0 ? (r.us.q3 - r.us.q1) / r.us.median : 0;
  // A tick of the clock is half a microsecond: that is no noise.
  if (spread > kNoisy && r.us.q3 - r.us.q1 > kClockUs)
    doubts.push_back(line("noisy: half of the replays lie %.0f %% apart; does something else use the GPU?", 100 * spread));
  if (r.samples.size() >= 12) {
    const auto third = static_cast<std::ptrdiff_t>(r.samples.size() / 3);
    const double first = quartiles({r.samples.begin(), r.samples.begin() + third}).median;
    const double last = quartiles({r.samples.end() - third, r.samples.end()}).median;
    if (std::abs(last - first) > kDrift * first && std::abs(last - first) > kClockUs)
      doubts.push_back(line("drifting: the last replays take %.0f %% %s than the first; the clocks change",
                            100 * std::abs(last / first - 1), last > first ? "longer" : "less time"));
  }
  if (r.limit_gbps > 0 && r.limit_gbps_after > 0 && std::abs(r.limit_gbps_after / r.limit_gbps - 1) > kDrift)
    doubts.push_back(
        line("throttled or shared: a plain copy went from %.0f to %.0f GB/s during the measurement", r.limit_gbps, r.limit_gbps_after));
  if (r.peak_gbps > 0 && r.limit_gbps > 0 && r.limit_gbps < kSlowCopy * r.peak_gbps)
    doubts.push_back(line("throttled or shared: a plain copy reaches %.0f GB/s of the memory's %.0f", r.limit_gbps, r.peak_gbps));
  return doubts;
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
  for (const SegmentTime& time : r.per_segment) {
    json["per_segment"].push_back(
        {{"id", time.id}, {"kernel", time.kernel}, {"us", rounded(time.us)}, {"q1", rounded(time.q1)}, {"q3", rounded(time.q3)}});
    if (const auto bytes = bytes_of(r, time.id))
      json["per_segment"].back().update({{"bytes", *bytes}, {"gbps", rounded(rate(*bytes, time.us))}});
  }
  json["compile_ms"] = rounded(r.compile_ms);
  json["segment_ms"] = rounded(r.segment_ms);
  json["samples"] = nlohmann::ordered_json::array();
  for (double us : r.samples) json["samples"].push_back(rounded(us));
  json["warnings"] = doubts_about(r);
  return json.dump() + "\n";
}

std::string bench_text(const BenchResult& r) {
  std::string text =
      r.graph + " on " + r.device + ": " + count_text(r.segments, "segment") + ", " + count_text(r.launches, "launch") + "\n";
  text += "  segment        time       bytes         rate  of a copy  kernels\n";
  auto row = [&](const std::string& name, double us, std::optional<int64_t> bytes, const std::string& kernels) {
    text += line("  %7s %8.2f us", name.c_str(), us);
    if (bytes) {
      const double gbps = rate(*bytes, us);
      text += line(" %11s %7.0f GB/s", size_text(*bytes).c_str(), gbps) +
              (r.limit_gbps > 0 ? line(" %8.0f %%", 100 * gbps / r.limit_gbps) : line(" %10s", "-"));
    } else {
      text += line(" %11s %12s %10s", "-", "-", "-");
    }
    text += (kernels.empty() ? "" : "  " + kernels) + "\n";
  };
  for (const SegmentTime& time : r.per_segment) row(std::to_string(time.id), time.us, bytes_of(r, time.id), time.kernel);
  row("all", r.us.median, r.bytes, "");
  text += line("  all: median of %zu replays, L2 cache overwritten before each; quartiles %.2f and %.2f, least %.2f us\n", r.us.n, r.us.q1,
               r.us.q3, r.us.min);
  if (r.per_segment.size() > 1) text += "  segments are timed alone, so that launching is in each of them\n";
  text +=
      line("  a plain copy reaches %.0f GB/s; compiled in %.1f ms, segmentation %.1f ms of it\n", r.limit_gbps, r.compile_ms, r.segment_ms);
  for (const std::string& doubt : doubts_about(r)) text += "  warning: " + doubt + "\n";
  return text;
}

}  // namespace fusec
