#include <chrono>
#include <cstdio>

#include "cli/commands.h"
#include "cli/console.h"
#include "data/files.h"
#include "data/summary.h"
#include "driver/run_cpu.h"
#include "driver/run_data.h"
#include "parser/read_graph.h"

namespace fusec {

namespace {

// Outputs to a file, or what they are in short on stdout.
void write_results(const RunCommand& command, const Graph& graph, const char* device, double ms, const NamedTensors& outputs) {
  if (!command.outputs.empty()) write_tensors(command.outputs, outputs);
  if (command.json) {
    char head[64];
    std::snprintf(head, sizeof head, "\", \"device\": \"%s\", \"ms\": %.3f, \"outputs\": ", device, ms);
    print_result("{\"graph\": \"" + graph.name + head + summary_json(outputs) + "}\n");
  } else if (command.outputs.empty()) {
    print_result(summary_text(outputs));
  }
  finish_output();
}

int run_cpu(const RunCommand& command, const Graph& graph) {
  if (command.bench) throw Failure(Exit::kBadInput, "--bench times a GPU; it does not go with --device cpu");
  if (command.verify) throw Failure(Exit::kBadInput, "--verify compares a GPU with the CPU; it does not go with --device cpu");
  const RunData data = make_run_data(graph, command.inputs, command.seed);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Tensor> outputs = run_on_cpu(data.bound, data.inputs);
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  write_results(command, graph, "cpu", ms, named_outputs(graph, std::move(outputs)));
  return static_cast<int>(Exit::kDone);
}

}  // namespace

int run_run(const RunCommand& command) {
  const SourceText source = read_source(command.graph);
  Diagnostics diagnostics;
  const std::optional<Graph> graph = read_graph(source, {command.flags.dims}, diagnostics);
  report(diagnostics, source, command.console);
  if (!graph) return static_cast<int>(Exit::kBadInput);
  if (command.device == RunCommand::kCpu) return run_cpu(command, *graph);
  throw Failure(Exit::kNoDevice, "this build runs graphs on the CPU only; use --device cpu");
}

}  // namespace fusec
