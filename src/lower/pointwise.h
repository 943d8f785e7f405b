// The pointwise schedule: any set of elementwise ops, views and creations, as one kernel.
// Each distinct shape that is stored becomes a part (a range of blocks) whose iteration space is that shape, its dimensions split
// where views ask for it and merged where no access tells them apart.
#pragma once

#include "lower/kernel_input.h"

namespace fusec {

// Adds the parts to the kernel and sets its block size. `kernel.buffers` is complete.
void lower_pointwise(const KernelInput& input, Kernel& kernel);

}  // namespace fusec
