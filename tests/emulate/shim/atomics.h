// Atomics of the integer and float types that the hardware has. Fibers change only inside runner calls, so a plain read and write between
// begin and end is atomic; begin and end tell the race detector.
#pragma once

namespace emu {

template <class T, class F>
__attribute__((always_inline)) inline T update(T* p, F f) {
  emu_atomic_begin(p);
  const T old = *p;
  *p = f(old);
  emu_atomic_end(p);
  return old;
}
template <class T>
inline T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return (T)((std::make_unsigned_t<T>)a + (std::make_unsigned_t<T>)b);
  else return a + b;
}

}  // namespace emu

#define EMU_ATOMIC(name, T, expression)                                                  \
  __attribute__((always_inline)) inline T name(T* p, T v) {                              \
    return emu::update(p, [=](T old) -> T { return expression; });                       \
  }                                                                                      \
  __attribute__((always_inline)) inline T name##_block(T* p, T v) { return name(p, v); } \
  __attribute__((always_inline)) inline T name##_system(T* p, T v) { return name(p, v); }
#define EMU_INTEGERS(T)                       \
  EMU_ATOMIC(atomicMin, T, v < old ? v : old) \
  EMU_ATOMIC(atomicMax, T, v > old ? v : old) \
  EMU_ATOMIC(atomicAnd, T, old& v)            \
  EMU_ATOMIC(atomicOr, T, old | v)            \
  EMU_ATOMIC(atomicXor, T, old ^ v)
EMU_INTEGERS(int)
EMU_INTEGERS(unsigned)
EMU_INTEGERS(long long)
EMU_INTEGERS(unsigned long long)
EMU_ATOMIC(atomicAdd, int, emu::wrapping_add(old, v))
EMU_ATOMIC(atomicAdd, unsigned, old + v)
EMU_ATOMIC(atomicAdd, unsigned long long, old + v)
EMU_ATOMIC(atomicAdd, float, old + v)
EMU_ATOMIC(atomicAdd, double, old + v)
EMU_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)v))
EMU_ATOMIC(atomicSub, unsigned, old - v)
EMU_ATOMIC(atomicExch, int, v)
EMU_ATOMIC(atomicExch, unsigned, v)
EMU_ATOMIC(atomicExch, unsigned long long, v)
EMU_ATOMIC(atomicExch, float, v)
EMU_ATOMIC(atomicInc, unsigned, old >= v ? 0 : old + 1)
EMU_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
#undef EMU_INTEGERS
#undef EMU_ATOMIC

#define EMU_CAS(T)                                                               \
  __attribute__((always_inline)) inline T atomicCAS(T* p, T compare, T v) {      \
    return emu::update(p, [=](T old) -> T { return old == compare ? v : old; }); \
  }
EMU_CAS(int)
EMU_CAS(unsigned)
EMU_CAS(unsigned long long)
EMU_CAS(unsigned short)
#undef EMU_CAS
