// One part of a kernel → the statements of its blocks.
#pragma once

#include <string>
#include <vector>

#include "emit/names.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

namespace fusec {

// `buffers`: the names of the kernel's parameters; `scope`: the names that are taken; `first_block`: where the part's blocks begin
// ("" for 0); `contract` as in EmitOptions.
std::string emit_part(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                      const NameScope& scope, bool contract, const std::string& indent, const std::string& first_block);

}  // namespace fusec
