// Copies of a scatter's target in global memory: blocks update different ones, so that fewer meet in one place, and a kernel after them
// makes one of all.
#pragma once

#include <optional>

#include "lower/kernel_input.h"

namespace fusec {

// Copies for the updates of `op`; none where the target's size is open or too large for several (`why` says which).
std::optional<Replicas> plan_replicas(const Graph& graph, OpId op, std::string& why);
inline Size replica_elems(const Replicas& replicas) { return Size(replicas.copies) * Size(replicas.elems); }

// Every copy leaves a target as it is.
void lower_replica_starts(const KernelInput& input, OpId op, const Replicas& replicas, BufferId copies, Kernel& kernel);
// The target with what the copies have collected.
void lower_replica_ends(const KernelInput& input, OpId op, const Replicas& replicas, BufferId copies, BufferId target, Kernel& kernel);

}  // namespace fusec
