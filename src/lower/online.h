// max(x) and Σ exp(x − max(x)) in one sweep: the sum is kept relative to the greatest element so far.
#pragma once

#include "kernel/kernel.h"

namespace fusec {

// True where the part had such a pair. For rows that a thread block cannot hold: it saves reading them once more.
bool make_online(const Graph& graph, Part& part);

}  // namespace fusec
