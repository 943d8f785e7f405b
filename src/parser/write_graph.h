// Graph → canonical JSON: every attribute written out, one line per input and op. read_graph of it gives an equal graph (spans aside).
#pragma once

#include <string>

#include "graph/graph.h"

namespace fusec {

std::string write_graph(const Graph& graph);

}  // namespace fusec
