// A part with a sort of long rows → the statements of its blocks.
#pragma once

#include <string>
#include <vector>

#include "emit/names.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

namespace fusec {

// Arguments as of emit_part; the part is the only one of its kernel.
std::string emit_radix(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                       const NameScope& scope, bool contract, const std::string& indent);

}  // namespace fusec
