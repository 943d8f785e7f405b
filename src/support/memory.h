// How much host memory there is.
#pragma once

#include <cstdint>

namespace fusec {

// Physical memory, or the control group's limit where that is less.
int64_t host_memory_bytes();

}  // namespace fusec
