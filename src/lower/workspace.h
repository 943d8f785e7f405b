// Offsets of workspace buffers: those whose lifetimes do not meet share memory.
#pragma once

#include "kernel/program.h"

namespace fusec {

// Sets offset, workspace_bytes and workspace_is_static. Offsets are multiples of 256.
void place_workspace(Program& program);

}  // namespace fusec
