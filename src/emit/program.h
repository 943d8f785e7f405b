// Kernels and launches → the text of a program: the .cu file and its header.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "kernel/program.h"

namespace fusec {

struct EmitOptions {
  bool contract = false;  // --contract: products may be contracted into fused multiply-adds
};

// Sets the program's name (the graph's as a C identifier) and its two texts.
void emit_program(const Graph& graph, const std::vector<Kernel>& kernels, const EmitOptions& options, Program& program);

}  // namespace fusec
