#include <chrono>
#include <cstdio>

#include "cli/commands.h"
#include "cli/compile_flags.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "data/files.h"
#include "data/summary.h"
#include "driver/run_cpu.h"
#include "driver/run_data.h"
#include "driver/run_gpu.h"
#include "parser/read_graph.h"

namespace fusec {

namespace {

// Outputs to a file, or what they are in short on stdout.
void write_results(const RunCommand& command, const Graph& graph, const std::string& device, double ms, const NamedTensors& outputs,
                   const std::optional<Verdict>& verdict = std::nullopt) {
  if (!command.outputs.empty()) write_tensors(command.outputs, outputs);
  if (command.json) {
    char ms_text[32];
    std::snprintf(ms_text, sizeof ms_text, "%.3f", ms);
    const std::string verify = verdict ? ", \"verify\": " + verdict_json(*verdict) : "";
    print_result("{\"graph\": \"" + graph.name + "\", \"device\": \"" + device + "\", \"ms\": " + ms_text +
                 ", \"outputs\": " + summary_json(outputs) + verify + "}\n");
  } else if (command.outputs.empty()) {
    print_result(summary_text(outputs));
  }
  finish_output();
}

int run_cpu(const RunCommand& command, const Graph& graph) {
  if (command.bench) throw Failure(Exit::kBadInput, "--bench times a GPU; it does not go with --device cpu");
  if (command.verify) throw Failure(Exit::kBadInput, "--verify compares a GPU with the CPU; it does not go with --device cpu");
  std::optional<Progress> progress(std::in_place, command.console, "computing " + graph.name + " on the CPU");
  const RunData data = make_run_data(graph, command.inputs, command.seed);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Tensor> outputs = run_on_cpu(data.bound, data.inputs);
  progress.reset();
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  write_results(command, graph, "cpu", ms, named_outputs(graph, std::move(outputs)));
  return static_cast<int>(Exit::kDone);
}

// Compiles for the GPU here. Nothing when the graph has errors, which are reported, or --stop-after ended it.
std::optional<Runnable> compile_here(const RunCommand& command, const SourceText& source, const DeviceInfo& device,
                                     const CompileCache* cache) {
  const CompileOptions options = options_from(command.flags, command.arch.empty() ? device.arch() : command.arch);
  Diagnostics diagnostics;
  auto compilation = compile(source, options, diagnostics);
  // Warnings have been reported when the graph was read.
  if (!compilation) report(diagnostics, source, command.console), refuse_graph(diagnostics, source, command.json);
  if (!compilation || !options.stop_after.empty()) return print_result(compilation ? compilation->stopped_text : ""), std::nullopt;
  // A benchmark tells what compiling takes, so it compiles.
  return make_runnable(std::move(*compilation), options.target, command.arch, device, command.bench ? nullptr : cache);
}

int run_gpu(const RunCommand& command, const Graph& graph, Device& device, const Runnable& runnable, const CompileCache* cache) {
  std::optional<Progress> progress(std::in_place, command.console, "running " + graph.name);
  const RunData data = make_run_data(graph, command.inputs, command.seed);
  GpuRun run = load_on_gpu(device, runnable, data);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Tensor> outputs = run_on_gpu(run);
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::optional<Verdict> verdict;
  if (command.verify) {
    progress->say("comparing " + graph.name + " with the CPU reference");
    verdict = verify_run(data, outputs, command.flags.contract);
  }
  const NamedTensors named = named_outputs(graph, std::move(outputs));
  progress.reset();
  if (verdict && !verdict->agrees()) {
    write_results(command, graph, device.info().name, ms, named, verdict);
    throw Failure(Exit::kNo, "the GPU's results differ from the CPU reference:\n" + verdict_text(*verdict));
  }
  if (!command.bench) {
    if (verdict && !command.json) print_result(verdict_text(*verdict));
    write_results(command, graph, device.info().name, ms, named, verdict);
    return static_cast<int>(Exit::kDone);
  }
  if (!command.outputs.empty()) write_tensors(command.outputs, named);
  progress.emplace(command.console, "measuring " + graph.name);
  const BenchResult result = bench_run(device, runnable, run, cache);
  progress.reset();
  print_result(command.json ? bench_json(result) : bench_text(result));
  return static_cast<int>(Exit::kDone);
}

// A folder that `compile` wrote.
int run_compiled(const RunCommand& command) {
  CompiledFolder compiled = read_compiled(command.graph, {command.flags.dims});
  const Graph graph = compiled.graph;
  if (command.device == RunCommand::kCpu) return run_cpu(command, graph);
  const std::optional<CompileCache> cache = cache_from(command.flags);
  const auto device = open_cuda_device();
  const Runnable runnable = make_runnable(std::move(compiled), device->info(), cache ? &*cache : nullptr);
  return run_gpu(command, graph, *device, runnable, cache ? &*cache : nullptr);
}

}  // namespace

int run_run(const RunCommand& command) {
  if (is_compiled(command.graph)) return run_compiled(command);
  const SourceText source = read_source(command.graph);
  Diagnostics diagnostics;
  const std::optional<Graph> graph = read_graph(source, {command.flags.dims}, diagnostics);
  report(diagnostics, source, command.console);
  if (!graph) return refuse_graph(diagnostics, source, command.json);
  if (command.device == RunCommand::kCpu) return run_cpu(command, *graph);
  const std::optional<CompileCache> cache = cache_from(command.flags);
  const auto device = open_cuda_device();
  const auto runnable = compile_here(command, source, device->info(), cache ? &*cache : nullptr);
  if (!runnable) return static_cast<int>(command.flags.stop_after.empty() ? Exit::kBadInput : Exit::kDone);
  return run_gpu(command, *graph, *device, *runnable, cache ? &*cache : nullptr);
}

}  // namespace fusec
