// Stores that a block gathers in shared memory, so that whole stretches go to memory at once.
#pragma once

#include "kernel/kernel.h"
#include "segment/target.h"

namespace fusec {

// Where each thread of a kernel stores to several places of a buffer (both halves of a rotary embedding), which together with those of its
// block are one stretch of memory: gathers them. May change the block's size, so that it holds whole rows. Before launches are made.
void gather_bulk_stores(const Target& target, Kernel& kernel);

}  // namespace fusec
