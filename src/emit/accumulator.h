// The states of reductions in CUDA: the fs_… types of the prelude.
#pragma once

#include <string>

#include "graph/graph.h"
#include "kernel/kernel.h"

namespace fusec {

std::string state_type(const Accumulator& a);
// The state of a row without elements.
std::string initial_text(const Accumulator& a);
// The value of a kReduce node whose state is complete.
std::string result_text(const Graph& graph, const Node& node, const Accumulator& a, const std::string& state, bool wide);

}  // namespace fusec
