#include "driver/run_gpu.h"

#include "data/accuracy.h"
#include "data/compare.h"
#include "driver/run_cpu.h"
#include "rewrite/rewrite.h"
#include "runtime/copy_kernel.h"

namespace fusec {

GpuRun load_on_gpu(Device& device, const Runnable& runnable, const RunData& data) {
  GpuRun run;
  run.program = bind(runnable.manifest.program, carry_values(runnable.graph.symbols, data.sizes, runnable.manifest.symbols));
  run.loaded = device.load(data.bound, run.program, runnable.image, data.inputs);
  return run;
}

std::vector<Tensor> run_on_gpu(GpuRun& run) {
  run.loaded->run();
  if (const ErrorRecord record = run.loaded->error_record(); record.raised())
    throw Failure(Exit::kRefused, "'" + run.program.name + "': op " + std::to_string(record.code - 1) + " met the index " + std::to_string(record.index) +
                                      " at position " + std::to_string(record.position) + ", outside [0, " + std::to_string(record.size) + ")");
  return run.loaded->outputs();
}

Verdict verify_run(const RunData& data, const std::vector<Tensor>& outputs, bool contract) {
  const std::vector<Tensor> expected = run_on_cpu(data.bound, data.inputs);
  RewriteLog log;
  const std::vector<Accuracy> accuracy = accuracy_of_outputs(expand_composites(data.bound, log), contract);
  Verdict verdict;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Comparison comparison = compare(outputs[i], expected[i], accuracy[i].depth, accuracy[i].roughest);
    verdict.agrees = verdict.agrees && comparison.ok();
    verdict.text += data.bound.outputs[i].name + ": " + describe(comparison, expected[i]) + "\n";
  }
  return verdict;
}

BenchResult bench_run(Device& device, const Runnable& runnable, GpuRun& run, const CompileCache* cache) {
  BenchResult result;
  result.graph = runnable.graph.name;
  result.segments = runnable.manifest.segments;
  result.compile_ms = runnable.compile_ms;
  result.segment_ms = runnable.segment_ms;
  // The manifest counts bytes for the typical sizes.
  if (run.program.symbols == typical_values(runnable.manifest.symbols)) result.bytes = runnable.manifest.bytes;
  const CudaBinary copy = compile_for_device(kCopyKernelName, kCopyKernelSource, device.info(), cache);
  measure(device, *run.loaded, run.program, copy.cubin.empty() ? copy.ptx : copy.cubin, result);
  return result;
}

}  // namespace fusec
