// What the compiler knows about a GPU. Costs, heuristics and limits read it, so that compiling for sm_90 anywhere gives the same kernels.
#pragma once

#include <cstdint>
#include <string>

namespace fusec {

constexpr int64_t kSectorBytes = 32;  // of the L2 cache, which moves and updates one at a time

struct Target {
  std::string arch = "sm_80";  // real architecture, e.g. "sm_90"
  int multiprocessors = 108;
  int threads_per_multiprocessor = 2048;
  double bandwidth_gbps = 1400;        // plain copy, bytes read plus written
  double instructions_per_us = 1.5e7;  // simple lane instructions a µs, all multiprocessors
  double atomics_per_us = 6e4;         // global, L2-resident, spread
  double launch_us = 3.0;              // an empty kernel in a CUDA graph
  double next_launch_us = 0.6;         // each further one
  double round_trip_us = 0.9;          // of a kernel's first loads and last stores, from and to memory
  int64_t l2_bytes = 40 << 20;
  int64_t shared_bytes_per_block = 160 << 10;
  int max_params_bytes = 4096;  // kernel parameters
};

// 90 for "sm_90".
int arch_number(const Target& target);

// True where two kernels, of which the second finds the rows in the cache, are faster than one that keeps the partial results of columns:
// a kernel of columns wants few rows.
bool reads_columns_again(const Target& target, int64_t rows, int64_t elems);

// The description for an architecture name "sm_NN" or "compute_NN"; the nearest known one for others.
Target target_for(const std::string& arch);

}  // namespace fusec
