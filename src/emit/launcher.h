// The host side of a program in plain C: the launcher compiled with the .cu file by nvcc, and its header.
#pragma once

#include <string>

#include "graph/graph.h"
#include "kernel/program.h"

namespace fusec {

std::string emit_launcher(const Graph& graph, const Program& program);
std::string emit_header(const Graph& graph, const Program& program);

}  // namespace fusec
