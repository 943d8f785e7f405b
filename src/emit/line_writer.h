// A part with a scan or a sort → the statements of its blocks.
#pragma once

#include <string>
#include <vector>

#include "emit/names.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

namespace fusec {

// Arguments as of emit_part; the part is the only one of its kernel.
std::string emit_line(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                      const NameScope& scope, bool contract, const std::string& indent);

// What a scan that looks back keeps between launches, declared before its kernel.
std::string emit_published(const Kernel& kernel);

// True for a scan that the block of a phase does in one turn.
bool is_one_turn(const Graph& graph, const Kernel& phase, const Part& part);

// Such scans of one part each, which wait for each other's warps at one barrier. `buffers`: of each scan.
std::string emit_scans(const Graph& graph, const std::vector<const Kernel*>& phases, const std::vector<std::vector<std::string>>& buffers,
                       NameScope scope, bool contract, const std::string& indent);

}  // namespace fusec
