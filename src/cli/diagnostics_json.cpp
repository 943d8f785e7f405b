#include "cli/diagnostics_json.h"

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

}  // namespace

size_t warning_count(const Diagnostics& diagnostics) {
  size_t n = 0;
  for (const Diagnostic& d : diagnostics.all()) n += d.severity == Severity::kWarning;
  return n;
}

std::string diagnostics_json(const SourceText& source, const Diagnostics& diagnostics) {
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

std::string failure_json(const std::string& graph, const std::string& text) {
  return "{\"graph\": " + json_quote(graph) +
         ", \"errors\": 1, \"warnings\": 0, \"diagnostics\": [\n    {\"severity\": \"error\", \"word\": \"failure\", \"text\": " +
         json_quote(text) + ", \"notes\": []}]}";
}

}  // namespace fusec
