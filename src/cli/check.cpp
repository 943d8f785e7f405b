#include "cli/commands.h"
#include "cli/console.h"
#include "cli/diagnostics_json.h"
#include "parser/read_graph.h"

namespace fusec {

namespace {

struct CheckedGraph {
  std::string json, summary;
  bool errors = false, warnings = false;
};

std::string summary(const SourceText& source, const Graph& graph) {
  return source.name() + ": graph '" + graph.name + "' is good: " + std::to_string(graph.inputs.size()) + " inputs, " +
         std::to_string(graph.ops.size()) + " ops, " + std::to_string(graph.outputs.size()) + " outputs\n";
}

// Reads and verifies one graph; an unreadable file is an error like any other.
CheckedGraph check_graph(const std::string& path, const CheckCommand& command) {
  try {
    const SourceText source = read_source(path);
    Diagnostics diagnostics;
    const auto graph = read_graph(source, {command.dims}, diagnostics);
    report(diagnostics, source, command.console);
    return {diagnostics_json(source, diagnostics), graph ? summary(source, *graph) : "", diagnostics.has_errors(),
            warning_count(diagnostics) > 0};
  } catch (const Failure& failure) {
    report_failure(failure.what(), command.console.colour);
    return {failure_json(path, failure.what()), "", true, false};
  }
}

}  // namespace

int run_check(const CheckCommand& command) {
  bool errors = false, warnings = false;
  std::string json;
  for (const std::string& path : command.graphs) {
    const CheckedGraph checked = check_graph(path, command);
    errors |= checked.errors;
    warnings |= checked.warnings;
    if (command.json) json += (json.empty() ? "" : ",\n  ") + checked.json;
    else if (!command.console.quiet) print_result(checked.summary);
  }
  if (command.json) print_result("{\"graphs\": [" + json + "]}\n");
  if (errors) return static_cast<int>(Exit::kBadInput);
  return static_cast<int>(warnings && command.strict ? Exit::kNo : Exit::kDone);
}

}  // namespace fusec
