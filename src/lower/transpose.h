// The tiled transpose: loads whose innermost axis is not the stores' go through shared memory.
#pragma once

#include "kernel/kernel.h"

namespace fusec {

// Gives the part a tile, its vector width, repetition and grid, when one of its loads is transposed. Needs merged dimensions and
// no other schedule yet; the block has its size. All tiles of a kernel share 48 KiB. Returns false, with the part unchanged, when no tile
// applies.
bool make_tile(Kernel& kernel, Part& part);

}  // namespace fusec
