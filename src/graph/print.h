// Graph → text for people, and Graphviz.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fusec {

std::string print(const Graph& graph);
std::string print_dot(const Graph& graph);

// The attributes of an op that have a value, by name, spelled as in graph files (every default written out).
std::vector<std::pair<std::string_view, std::string>> attribute_texts(const Graph& graph, const Op& op);
// A number, true, false, "inf", "-inf" or "nan", as in graph files.
std::string literal_text(const Literal& literal);
// A shape as in graph files: [4096, "B*S"].
std::string json_sizes(const Graph& graph, const std::vector<Size>& sizes);

}  // namespace fusec
