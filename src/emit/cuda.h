// Kernel → CUDA text. Spelling only: every decision stands in the kernel.
#pragma once

#include <string>

#include "graph/graph.h"
#include "kernel/kernel.h"

namespace fusec {

// The definition of one kernel, without the prelude. `contract`: products may become part of fused multiply-adds.
std::string emit_kernel(const Graph& graph, const Kernel& kernel, bool contract);

// The C type in which a dtype lies in memory ("unsigned char" for bool), and the one that values of it have in registers.
const char* storage_type(DType dtype);
const char* register_type(DType dtype);

}  // namespace fusec
