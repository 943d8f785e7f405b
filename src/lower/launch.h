// What becomes of a kernel when it is complete: its parameters, and the launch that runs it.
#pragma once

#include "kernel/kernel.h"
#include "kernel/program.h"

namespace fusec {

// Parameters that no node, store or accumulator mentions go.
void drop_unused_buffers(Kernel& kernel);

// True if the kernel reads input `input` anywhere but where the same thread then writes buffer `out` over it.
bool reads_elsewhere(const Kernel& kernel, BufferId out, uint32_t input);

Launch launch_of(const Graph& graph, const Kernel& kernel);

}  // namespace fusec
