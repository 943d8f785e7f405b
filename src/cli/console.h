// What the commands share: reading a graph's text and talking to stdout and stderr.
#pragma once

#include <string>

#include "cli/commands.h"
#include "support/diag.h"

namespace fusec {

// The text of a graph file; "-" is stdin. Failure(kBadInput) when it cannot be read or is too large.
SourceText read_source(const std::string& path);

// Diagnostics on stderr; when quiet, only if there is an error among them.
void report(const Diagnostics& diagnostics, const SourceText& source, const Console& console);

// "error: text" on stderr.
void report_failure(const std::string& text, bool colour);

// Ends a command whose graph has errors, which were reported: with `json` they are its result, too. Returns the exit code.
int refuse_graph(const Diagnostics& diagnostics, const SourceText& source, bool json);

// The result of a command, on stdout. A reader that went away is no error.
void print_result(const std::string& text);
bool anything_printed();
// Flushes stdout; Failure(kBadInput) when what was printed could not be written (a full disk).
void finish_output();

// Writes a folder with the graphs, the command line and the message of a bug in fusec; returns its path, or "" when it cannot or
// FUSEC_NO_REPRODUCER is set.
std::string write_reproducer(int argc, char** argv, const std::string& message);

}  // namespace fusec
