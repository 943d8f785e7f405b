// A part with a sweep → the statements of its blocks.
#pragma once

#include <string>
#include <vector>

#include "emit/names.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

namespace fusec {

// Arguments as of emit_part. A part whose blocks share rows, or take them in turns, is the only one of its kernel.
std::string emit_rows(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                      const NameScope& scope, bool contract, const std::string& indent, const std::string& first_block);

// The counter of a kernel whose blocks share rows, or nothing: declared before the kernel.
std::string emit_tickets(const Kernel& kernel);

}  // namespace fusec
