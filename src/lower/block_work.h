// What one block makes of a kernel that was meant for many: whether it can, with how many threads, and how much slower.
#pragma once

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "segment/target.h"

namespace fusec {

constexpr int kLargestBlock = 1024;
// Beside its launch, a kernel that follows another reads from memory what that wrote there.
constexpr double kRoundTripUs = 0.4;

// The µs that a kernel takes longer in one block than spread over the machine; infinity where it cannot be one block's phase.
double loss_of_one_block(const Graph& graph, const Target& target, const Kernel& kernel);

struct BlockWish {
  int64_t threads = 1;  // that find work
  int least = 32;       // a power of two
  int only = 0;         // the block that keeps every sum's order, where only one does
};
BlockWish block_wish(const Graph& graph, const Kernel& kernel);

// The kernel as a phase of a block of so many threads: parts take turns where they took blocks.
void fit_to_block(int block, Kernel& kernel);

constexpr int64_t kStaticSharedBytes = 48 << 10;  // that a kernel may declare

// Shared memory that the parts of a kernel, or of a phase, declare for themselves.
int64_t own_shared_bytes(const Graph& graph, const Kernel& phase);

// Elements that a part computes: those of its threads and lanes.
int64_t items_of(const Part& part);

}  // namespace fusec
