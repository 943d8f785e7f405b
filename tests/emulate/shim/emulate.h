// CUDA on the CPU, for tests only: what the emitted .cu text needs from nvcc and the toolkit, in standard C++. The runner (../runtime)
// executes grids, blocks and threads. Included before the emitted text, so that the text's own #includes find nothing left to do.
#pragma once

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __managed__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(n) alignas(n)
#define __grid_constant__

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Set by the runner whenever another thread goes on.
extern "C" {
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
}
constexpr int warpSize = 32;

// --- what the runner offers

extern "C" {
void emu_run_grid(const char* name, dim3 grid, dim3 block, size_t shared_bytes, unsigned cluster, void (*thread)(void*), void* closure);
void* emu_device_pointer(int argument, void* pointer);                        // where the runner put the buffer behind a kernel argument
void* emu_shared(const void* key, size_t bytes, size_t align, size_t grain);  // a __shared__ variable of the running block
void* emu_dynamic_shared(void);                                               // extern __shared__
unsigned long long emu_block_barrier(int kind, unsigned long long value);     // 0 sync, 1 count, 2 and, 3 or
void emu_group_barrier(void);                                                 // of a cluster, or of the grid of a cooperative launch
unsigned emu_shared_address(const void* pointer);
const void* emu_cluster_pointer(unsigned address, unsigned rank);
void emu_fence(int scope);  // 0 block, 1 device and wider
void emu_atomic_begin(const void* address);
void emu_atomic_end(const void* address);   // an update: acquires, and releases where there was a fence before
void emu_acquire_end(const void* address);  // a load
void emu_relaxed_end(void);
// Meets the lanes of `mask` and exchanges one word. The result is the word of lane `source`.
unsigned long long emu_warp_exchange(int kind, unsigned mask, unsigned long long value, int source);
unsigned emu_warp_match(unsigned mask, unsigned long long value);
unsigned emu_warp_ballot(int kind, unsigned mask, bool predicate);
void emu_warp_sync(unsigned mask);
unsigned emu_active_mask(void);
void emu_check_alignment(const void* pointer, size_t align);
// Conversions of narrow floats, compiled with optimization.
float emu_half_value(unsigned pattern);
unsigned emu_half_pattern(float value);
unsigned emu_fp8_as_half(unsigned pattern, bool e4m3);
unsigned emu_fp8_pattern(double value, bool saturate, bool e4m3);
[[noreturn]] void emu_trap(const char* what);
int emu_copy(void* to, const void* from, size_t bytes);
int emu_fill(void* to, int byte, size_t bytes);
}

namespace emu {

// NAME<<<grid, block, shared, stream>>>(…) is rewritten to configure(grid, block, shared, stream).kernel("NAME", NAME)(…).
template <class... P>
struct Kernel {
  const char* name;
  void (*entry)(P...);
  dim3 grid, block;
  size_t shared;
  unsigned cluster;  // blocks; 0: the launch is cooperative

  template <class T, class A>
  static T bind(int& index, const A& given) {
    const int i = index++;
    if constexpr (std::is_pointer_v<T>) return (T)emu_device_pointer(i, (void*)(T)given);
    else return static_cast<T>(given);
  }

  template <class... A>
  void operator()(const A&... given) const {
    static_assert(sizeof...(A) == sizeof...(P), "arguments of a launch");
    int index = 0;
    auto run = [this, ... p = bind<P>(index, given)] { entry(p...); };
    emu_run_grid(name, grid, block, shared, cluster, [](void* closure) { (*static_cast<decltype(run)*>(closure))(); }, &run);
  }
};

struct Configuration {
  dim3 grid, block;
  size_t shared;
  unsigned cluster_blocks = 1;
  Configuration cluster(unsigned blocks) const { return {grid, block, shared, blocks}; }
  template <class... P>
  Kernel<P...> kernel(const char* name, void (*entry)(P...)) const {
    return {name, entry, grid, block, shared, cluster_blocks};
  }
};

inline Configuration configure(dim3 grid, dim3 block, size_t shared = 0, const void* = nullptr) { return {grid, block, shared, 1}; }

// reinterpret_cast is rewritten to this: a copy of a structure through the pointer is not checked by the sanitizers.
template <class To, class From>
inline __attribute__((always_inline)) To reinterpret(From* pointer) {
  static_assert(std::is_pointer_v<To>);
  emu_check_alignment(pointer, alignof(std::remove_pointer_t<To>));
  return reinterpret_cast<To>(pointer);
}

// A __shared__ declaration is rewritten to a reference to this. Races are told apart by elements.
template <class T, class Element = std::remove_all_extents_t<T>>
inline T& shared(const void* key) {
  return *static_cast<T*>(emu_shared(key, sizeof(T), alignof(T), sizeof(Element)));
}

}  // namespace emu

// --- synchronization

inline __attribute__((always_inline)) void __syncthreads() { emu_block_barrier(0, 0); }
inline __attribute__((always_inline)) int __syncthreads_count(int p) { return (int)emu_block_barrier(1, p != 0); }
inline __attribute__((always_inline)) int __syncthreads_and(int p) { return (int)emu_block_barrier(2, p != 0); }
inline __attribute__((always_inline)) int __syncthreads_or(int p) { return (int)emu_block_barrier(3, p != 0); }
inline void __threadfence_block() { emu_fence(0); }
inline void __threadfence() { emu_fence(1); }
inline void __threadfence_system() { emu_fence(1); }
inline void __trap() { emu_trap("__trap()"); }
inline void __nanosleep(unsigned) {}
inline long long clock64() { return 0; }

#include "atomics.h"
#include "device_math.h"
#include "ptx.h"
#include "vectors.h"
#include "warp.h"
// After the functions above, which they use.
#include "cooperative_groups.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_fp8.h"
#include "cuda_runtime_api.h"
#include "narrow_atomics.h"
