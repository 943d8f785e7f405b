// Updates that meet in few elements: a table in shared memory for each block, so that they do not meet in one place of global memory.
#pragma once

#include <string>

#include "kernel/kernel.h"
#include "lower/lower.h"
#include "segment/target.h"

namespace fusec {

// Gives the kernel's one part, whose updates go to `elements` contiguous elements, a table where that pays, or wherever it fits where the
// schedule asks for one. Returns why it does not fit, where it does not.
std::string make_table(const Target& target, const Size& elements, ScatterSchedule schedule, Kernel& kernel);

}  // namespace fusec
