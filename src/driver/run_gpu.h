// `run` on a GPU: load, execute, compare with the CPU, measure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/compare.h"
#include "driver/run_data.h"
#include "driver/runnable.h"
#include "runtime/bench.h"

namespace fusec {

// A program with its data on a device.
struct GpuRun {
  std::unique_ptr<LoadedGraph> loaded;
  BoundProgram program;
};
GpuRun load_on_gpu(Device& device, const Runnable& runnable, const RunData& data);

// Executes once; one tensor per output, in order. Failure(kRefused) when a kernel reports an index out of range.
std::vector<Tensor> run_on_gpu(GpuRun& run);

struct Verdict {
  struct Line {
    std::string output;
    Comparison comparison;
    std::string text;
  };
  std::vector<Line> lines;  // one an output
  bool agrees() const;
};
std::string verdict_text(const Verdict& verdict);
std::string verdict_json(const Verdict& verdict);  // an array
// Against the CPU reference. `contract`: products and sums may have been contracted.
Verdict verify_run(const RunData& data, const std::vector<Tensor>& outputs, bool contract);

BenchResult bench_run(Device& device, const Runnable& runnable, GpuRun& run, const CompileCache* cache);

}  // namespace fusec
