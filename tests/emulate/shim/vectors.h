// The built-in vector types.
#pragma once

#define EMU_VECTORS(T, name, two, four)                              \
  struct name##1 { T x; };                                           \
  struct alignas(two) name##2 { T x, y; };                           \
  struct name##3 { T x, y, z; };                                     \
  struct alignas(four) name##4 { T x, y, z, w; };                    \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

typedef unsigned char emu_uchar;
typedef unsigned short emu_ushort;
typedef unsigned long long emu_ulonglong;
EMU_VECTORS(signed char, char, 2, 4)
EMU_VECTORS(emu_uchar, uchar, 2, 4)
EMU_VECTORS(short, short, 4, 8)
EMU_VECTORS(emu_ushort, ushort, 4, 8)
EMU_VECTORS(int, int, 8, 16)
EMU_VECTORS(long long, longlong, 16, 16)
EMU_VECTORS(emu_ulonglong, ulonglong, 16, 16)
EMU_VECTORS(float, float, 8, 16)
EMU_VECTORS(double, double, 16, 16)
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
#undef EMU_VECTORS

// Loads and stores with a cache hint are loads and stores.
template <class T>
inline T __ldg(const T* p) {
  return *p;
}
template <class T>
inline T __ldcs(const T* p) {
  return *p;
}
template <class T>
inline T __ldca(const T* p) {
  return *p;
}
template <class T>
inline void __stcs(T* p, T v) {
  *p = v;
}
template <class T>
inline void __stcg(T* p, T v) {
  *p = v;
}
template <class T>
inline void __stwb(T* p, T v) {
  *p = v;
}
// These go to the level where other blocks' writes are seen.
template <class T>
inline T __ldcg(const T* p) {
  return *p;
}
template <class T>
inline T __ldcv(const T* p) {
  return *p;
}
