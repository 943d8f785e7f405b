#include "driver/run_gpu.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/accuracy.h"
#include "driver/run_cpu.h"
#include "rewrite/rewrite.h"
#include "runtime/copy_kernel.h"
#include "support/check.h"

namespace fusec {

GpuRun load_on_gpu(Device& device, const Runnable& runnable, const RunData& data) {
  GpuRun run;
  run.program = bind(runnable.manifest.program, carry_values(runnable.graph.symbols, data.sizes, runnable.manifest.symbols));
  run.loaded = device.load(data.bound, run.program, runnable.image, data.inputs);
  return run;
}

namespace {

// In the words of the CPU reference.
std::string describe(const ErrorRecord& record, const BoundProgram& program) {
  FUSEC_CHECK(record.code <= static_cast<int64_t>(program.checks.size()), "the error record names a check that there is not");
  const BoundCheck& check = program.checks[static_cast<size_t>(record.code - 1)];
  std::string position;
  int64_t rest = record.position;
  for (size_t d = check.shape.size(); d-- > 0; rest /= std::max<int64_t>(check.shape[d], 1))
    position = std::to_string(rest % std::max<int64_t>(check.shape[d], 1)) + (position.empty() ? "" : ",") + position;
  return check.op + ": the index at position [" + position + "] is " + std::to_string(record.index) + ", outside the range [0, " +
         std::to_string(record.size) + ")";
}

}  // namespace

std::vector<Tensor> run_on_gpu(GpuRun& run) {
  run.loaded->run();
  if (const ErrorRecord record = run.loaded->error_record(); record.raised()) throw Failure(Exit::kRefused, describe(record, run.program));
  return run.loaded->outputs();
}

Verdict verify_run(const RunData& data, const std::vector<Tensor>& outputs, bool contract) {
  const std::vector<Tensor> expected = run_on_cpu(data.bound, data.inputs);
  RewriteLog log;
  const std::vector<Accuracy> accuracy = accuracy_of_outputs(expand_composites(data.bound, log), contract);
  Verdict verdict;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Comparison comparison = compare(outputs[i], expected[i], accuracy[i].depth, accuracy[i].roughest);
    verdict.lines.push_back({data.bound.outputs[i].name, comparison, describe(comparison, expected[i])});
  }
  return verdict;
}

bool Verdict::agrees() const {
  return std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.comparison.ok(); });
}

std::string verdict_text(const Verdict& verdict) {
  std::string text;
  for (const Verdict::Line& line : verdict.lines) text += line.output + ": " + line.text + "\n";
  return text;
}

std::string verdict_json(const Verdict& verdict) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [output, c, text] : verdict.lines) {
    json.push_back({{"output", output}, {"elems", c.elems}, {"mismatches", c.mismatches}});
    // Infinities and NaN become null.
    if (c.worst_index >= 0) json.back().update({{"worst_index", c.worst_index}, {"got", c.worst_got}, {"expected", c.worst_expected}});
  }
  return json.dump();
}

BenchResult bench_run(Device& device, const Runnable& runnable, GpuRun& run, const CompileCache* cache) {
  BenchResult result;
  result.graph = runnable.graph.name;
  result.segments = runnable.manifest.segments;
  result.compile_ms = runnable.compile_ms;
  result.segment_ms = runnable.segment_ms;
  // The manifest counts bytes for the typical sizes.
  if (run.program.symbols == typical_values(runnable.manifest.symbols)) result.bytes = runnable.manifest.bytes;
  const bool each = result.bytes && runnable.manifest.segment_bytes.size() == runnable.manifest.segments;
  if (each) result.segment_bytes = runnable.manifest.segment_bytes;
  result.peak_gbps = device.info().peak_gbps;
  const CudaBinary copy = compile_for_device(kCopyKernelName, kCopyKernelSource, device.info(), cache);
  measure(device, *run.loaded, run.program, copy.cubin.empty() ? copy.ptx : copy.cubin, result);
  return result;
}

}  // namespace fusec
