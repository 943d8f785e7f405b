// What --json prints about a graph with errors: one object, of the same form for every command.
#pragma once

#include <string>

#include "support/diag.h"

namespace fusec {

size_t warning_count(const Diagnostics& diagnostics);

// {"graph", "errors", "warnings", "diagnostics": [{"severity", "word", "line", "column", "end_line", "end_column", "text", "notes"}]};
// a diagnostic without a place has no lines and columns.
std::string diagnostics_json(const SourceText& source, const Diagnostics& diagnostics);
// The same about a graph that a command gave up with one message: it cannot be read, the GPU is missing, ….
std::string failure_json(const std::string& graph, const std::string& text);

}  // namespace fusec
