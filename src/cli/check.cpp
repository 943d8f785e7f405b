#include <cstdio>

#include "cli/commands.h"
#include "cli/console.h"
#include "parser/read_graph.h"
#include "support/text.h"

namespace fusec {

namespace {

std::string place_json(const SourceText& source, Span at) {
  if (!at.known()) return "";
  const SourceText::Place from = source.place(at.begin), to = source.place(at.end);
  return ", \"line\": " + std::to_string(from.line) + ", \"column\": " + std::to_string(from.column) +
         ", \"end_line\": " + std::to_string(to.line) + ", \"end_column\": " + std::to_string(to.column);
}

std::string diagnostic_json(const SourceText& source, const Diagnostic& d) {
  std::string out = std::string("{\"severity\": \"") + (d.severity == Severity::kError ? "error" : "warning") +
                    "\", \"word\": " + json_quote(d.word) + place_json(source, d.at) + ", \"text\": " + json_quote(d.text) +
                    ", \"notes\": [";
  for (size_t i = 0; i < d.notes.size(); ++i)
    out += (i ? ", " : "") + std::string("{\"text\": ") + json_quote(d.notes[i].text) + place_json(source, d.notes[i].at) + "}";
  return out + "]}";
}

size_t warning_count(const Diagnostics& diagnostics) {
  size_t n = 0;
  for (const Diagnostic& d : diagnostics.all()) n += d.severity == Severity::kWarning;
  return n;
}

// One object per graph.
std::string result_json(const SourceText& source, const Diagnostics& diagnostics) {
  std::string out = "{\"graph\": " + json_quote(source.name()) + ", \"errors\": " + std::to_string(diagnostics.error_count()) +
                    ", \"warnings\": " + std::to_string(warning_count(diagnostics)) + ", \"diagnostics\": [";
  bool first = true;
  for (const Diagnostic& d : diagnostics.all()) {
    out += first ? "\n    " : ",\n    ";
    out += diagnostic_json(source, d);
    first = false;
  }
  return out + "]}";
}

std::string summary(const SourceText& source, const Graph& graph) {
  return source.name() + ": graph '" + graph.name + "' is good: " + std::to_string(graph.inputs.size()) + " inputs, " +
         std::to_string(graph.ops.size()) + " ops, " + std::to_string(graph.outputs.size()) + " outputs\n";
}

}  // namespace

int run_check(const CheckCommand& command) {
  bool errors = false, warnings = false;
  std::string json;
  for (const std::string& path : command.graphs) {
    const SourceText source = read_source(path);
    Diagnostics diagnostics;
    const auto graph = read_graph(source, {command.dims}, diagnostics);
    errors |= diagnostics.has_errors();
    warnings |= warning_count(diagnostics) > 0;
    report(diagnostics, source, command.console);
    if (command.json) json += (json.empty() ? "" : ",\n  ") + result_json(source, diagnostics);
    else if (graph && !command.console.quiet) print_result(summary(source, *graph));
  }
  if (command.json) print_result("[" + json + "]\n");
  if (errors) return static_cast<int>(Exit::kBadInput);
  return static_cast<int>(warnings && command.strict ? Exit::kNo : Exit::kDone);
}

}  // namespace fusec
