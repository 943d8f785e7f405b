// The host memory that a run takes, known before it starts: a run that cannot fit says so instead of being killed.
#pragma once

#include "graph/graph.h"

namespace fusec {

// Bytes of all inputs of a bound graph.
int64_t input_bytes(const Graph& graph);
// The most bytes of values that are alive at one time when its ops are evaluated in order, inputs aside.
int64_t peak_value_bytes(const Graph& graph);
// Failure(kRefused) when the bytes exceed what the machine has. `what` is what needs them: "the inputs".
void require_host_memory(int64_t bytes, const char* what);

}  // namespace fusec
