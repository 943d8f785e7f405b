// PTX instructions that the emitted text writes as inline assembly. asm("NAME …" : outputs : inputs) is rewritten to
// emu::ptx::NAME(outputs…, inputs…), '.' and ':' as '_'; several instructions are joined by '_and_'.
#pragma once

#include "vectors.h"

inline __attribute__((always_inline)) unsigned long long __cvta_generic_to_shared(const void* p) { return emu_shared_address(p); }

namespace emu::ptx {

inline __attribute__((always_inline)) void mov_b32(unsigned&) {}  // (to itself)

template <class P>
inline __attribute__((always_inline)) void st_global_v4_b32(P* p, unsigned a, unsigned b, unsigned c, unsigned d) {
  *emu::reinterpret<uint4*>(p) = {a, b, c, d};
}
template <class P>
inline __attribute__((always_inline)) void st_global_v2_b32(P* p, unsigned a, unsigned b) {
  *emu::reinterpret<uint2*>(p) = {a, b};
}
template <class P>
inline __attribute__((always_inline)) void st_global_b32(P* p, unsigned a) {
  *emu::reinterpret<unsigned*>(p) = a;
}

inline void barrier_cluster_arrive_release_aligned_and_barrier_cluster_wait_acquire_aligned() { emu_group_barrier(); }
// The variable at the same address in another block of the cluster: its rank goes into the bits between number and offset.
inline void mapa_shared__cluster_u32(unsigned& there, unsigned address, int rank) { there = address | (unsigned)rank << 12; }
inline __attribute__((always_inline)) void ld_shared__cluster_u32(unsigned& value, unsigned address) {
  const unsigned rank = address >> 12 & 15, offset = address & 0xfff;
  value = *(const unsigned*)((const char*)emu_cluster_pointer(address, rank) + offset);
}

// Words that blocks poll: atomic, as far as races go. What is relaxed orders nothing else.
inline __attribute__((always_inline)) void ld_relaxed_gpu_s32(int& value, const int* p) {
  emu_atomic_begin(p);
  value = *p;
  emu_relaxed_end();
}
inline __attribute__((always_inline)) void st_relaxed_gpu_s32(int* p, int value) {
  emu_atomic_begin(p);
  *p = value;
  emu_relaxed_end();
}
inline __attribute__((always_inline)) void ld_relaxed_gpu_u64(unsigned long long& value, const unsigned long long* p) {
  emu_atomic_begin(p);
  value = *p;
  emu_relaxed_end();
}
inline __attribute__((always_inline)) void st_relaxed_gpu_u64(unsigned long long* p, unsigned long long value) {
  emu_atomic_begin(p);
  *p = value;
  emu_relaxed_end();
}
inline __attribute__((always_inline)) void atom_relaxed_gpu_add_s32(int& before, int* p, int n) {
  emu_atomic_begin(p);
  before = *p;
  *p = before + n;
  emu_relaxed_end();
}
inline __attribute__((always_inline)) void red_relaxed_gpu_add_s32(int* p, int n) {
  int before;
  atom_relaxed_gpu_add_s32(before, p, n);
}
inline __attribute__((always_inline)) void ld_acquire_gpu_s32(int& value, const int* p) {
  emu_atomic_begin(p);
  value = *p;
  emu_acquire_end(p);
}

}  // namespace emu::ptx
