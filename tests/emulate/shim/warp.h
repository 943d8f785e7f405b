// Warp shuffles, votes and matches. Each meets exactly the lanes of its mask; a lane that is missing is reported.
#pragma once

namespace emu {

template <class T>
inline unsigned long long to_word(T v) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "shuffles move up to 8 bytes");
  unsigned long long w = 0;
  memcpy(&w, &v, sizeof v);
  return w;
}
template <class T>
inline T from_word(unsigned long long w) {
  T v;
  memcpy(&v, &w, sizeof v);
  return v;
}
inline int lane() { return (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32); }

enum WarpOp { kShuffle, kShuffleUp, kShuffleDown, kShuffleXor, kAll, kAny, kBallot, kUniform };

}  // namespace emu

#define EMU_INLINE inline __attribute__((always_inline))
template <class T>
EMU_INLINE T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  const int lane = emu::lane();
  return emu::from_word<T>(emu_warp_exchange(emu::kShuffle, mask, emu::to_word(v), lane / width * width + (source & (width - 1))));
}
template <class T>
EMU_INLINE T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const int lane = emu::lane(), from = lane - (int)delta;
  return emu::from_word<T>(emu_warp_exchange(emu::kShuffleUp, mask, emu::to_word(v), from >= lane / width * width ? from : lane));
}
template <class T>
EMU_INLINE T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const int lane = emu::lane(), from = lane + (int)delta;
  return emu::from_word<T>(emu_warp_exchange(emu::kShuffleDown, mask, emu::to_word(v), from < lane / width * width + width ? from : lane));
}
template <class T>
EMU_INLINE T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32) {
  const int lane = emu::lane(), from = lane ^ lanes;
  // A lower segment may be read, a higher one not.
  return emu::from_word<T>(emu_warp_exchange(emu::kShuffleXor, mask, emu::to_word(v), from < lane / width * width + width ? from : lane));
}
EMU_INLINE int __all_sync(unsigned mask, int p) { return emu_warp_ballot(emu::kAll, mask, p != 0) == mask; }
EMU_INLINE int __any_sync(unsigned mask, int p) { return emu_warp_ballot(emu::kAny, mask, p != 0) != 0; }
EMU_INLINE unsigned __ballot_sync(unsigned mask, int p) { return emu_warp_ballot(emu::kBallot, mask, p != 0); }
EMU_INLINE int __uni_sync(unsigned mask, int p) {
  const unsigned yes = emu_warp_ballot(emu::kUniform, mask, p != 0);
  return yes == mask || yes == 0;
}
EMU_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { emu_warp_sync(mask); }
EMU_INLINE unsigned __activemask() { return emu_active_mask(); }
template <class T>
EMU_INLINE unsigned __match_any_sync(unsigned mask, T v) {
  return emu_warp_match(mask, emu::to_word(v));
}
template <class T>
EMU_INLINE unsigned __match_all_sync(unsigned mask, T v, int* all) {
  const bool same = emu_warp_match(mask, emu::to_word(v)) == mask;
  *all = same;
  return same ? mask : 0;
}
#define EMU_REDUCE(name, T, combine)                                                             \
  EMU_INLINE T name(unsigned mask, T v) {                                                        \
    T r = 0;                                                                                     \
    bool first = true;                                                                           \
    for (int i = 0; i < 32; ++i) {                                                               \
      if (!(mask >> i & 1)) continue;                                                            \
      const T w = emu::from_word<T>(emu_warp_exchange(emu::kShuffle, mask, emu::to_word(v), i)); \
      r = first ? w : (combine);                                                                 \
      first = false;                                                                             \
    }                                                                                            \
    return r;                                                                                    \
  }
EMU_REDUCE(__reduce_add_sync, unsigned, r + w)
EMU_REDUCE(__reduce_min_sync, unsigned, r < w ? r : w)
EMU_REDUCE(__reduce_max_sync, unsigned, r > w ? r : w)
EMU_REDUCE(__reduce_and_sync, unsigned, r& w)
EMU_REDUCE(__reduce_or_sync, unsigned, r | w)
EMU_REDUCE(__reduce_xor_sync, unsigned, r ^ w)
EMU_REDUCE(__reduce_add_sync, int, (int)((unsigned)r + (unsigned)w))
EMU_REDUCE(__reduce_min_sync, int, r < w ? r : w)
EMU_REDUCE(__reduce_max_sync, int, r > w ? r : w)
#undef EMU_REDUCE
#undef EMU_INLINE
