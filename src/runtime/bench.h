// GPU times of one execution of a whole graph: a CUDA graph replay between two events, the L2 cache overwritten before each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace fusec {

struct Quartiles {
  double median = 0, q1 = 0, q3 = 0, min = 0;
  size_t n = 0;
};
// By linear interpolation at ranks k·(n + 1)/4, the "exclusive" method.
Quartiles quartiles(std::vector<double> samples);

struct SegmentTime {
  uint32_t id = 0;
  std::string kernel;
  double us = 0;  // median, of the segment's launches alone in a CUDA graph: launching costs are in it each time
  double q1 = 0, q3 = 0;
};

struct BenchResult {
  std::string graph, device;
  uint32_t segments = 0;
  size_t launches = 0;
  Quartiles us;
  std::vector<double> samples;         // µs, as they came
  std::optional<int64_t> bytes;        // that the segments read and write; nothing when not known for these sizes
  std::vector<int64_t> segment_bytes;  // by segment; empty when not known
  double limit_gbps = 0;               // of a plain copy, before everything else
  double limit_gbps_after = 0;         // and after it
  double peak_gbps = 0;                // of the memory, by its clock; 0 when not known
  std::vector<SegmentTime> per_segment;
  double compile_ms = 0, segment_ms = 0;

  double gbps() const { return bytes && us.median > 0 ? static_cast<double>(*bytes) / us.median * 1e-3 : 0; }
};

// What makes the times doubtful, in words: a wide spread, a drift, a GPU that is slower than it was or than it should be.
std::vector<std::string> doubts_about(const BenchResult& result);

// Fills in what is measured: `us`, `samples`, `limit_gbps`, `limit_gbps_after`, `per_segment`, `device`, `launches`.
// `copy_image`: the copy kernel compiled for the device.
void measure(Device& device, LoadedGraph& loaded, const BoundProgram& program, const std::string& copy_image, BenchResult& result);

std::string bench_json(const BenchResult& result);  // one object
std::string bench_text(const BenchResult& result);  // for people

}  // namespace fusec
