// Upper bounds on |value| of the nodes of a part, where dtypes and ops give one.
#pragma once

#include <vector>

#include "kernel/kernel.h"

namespace fusec {

// Per node: no finite value exceeds this in magnitude (infinity where nothing is known). NaN and infinities may still occur.
std::vector<double> magnitude_bounds(const Graph& graph, const Part& part);

}  // namespace fusec
