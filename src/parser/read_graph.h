// Fusion-graph JSON → Graph. Every rule of the format is checked here and in graph/verify; all independent errors are reported.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "support/diag.h"

namespace fusec {

struct ReadOptions {
  std::map<std::string, int64_t> dims;  // --dim NAME=SIZE; a dynamic dim's override replaces its typical size
};

// Reads and verifies; ops come out in a topological order that does not depend on anything but the file's op order.
// On errors returns nothing and leaves them in `diagnostics`. Warnings may be left as well.
std::optional<Graph> read_graph(const SourceText& source, const ReadOptions& options, Diagnostics& diagnostics);

}  // namespace fusec
