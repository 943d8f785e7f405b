// Graph → text for people, and Graphviz.
#pragma once

#include <string>

#include "graph/graph.h"

namespace fusec {

std::string print(const Graph& graph);
std::string print_dot(const Graph& graph);

}  // namespace fusec
