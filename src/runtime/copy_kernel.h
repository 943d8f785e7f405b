// A plain copy, whose rate is the limit that a benchmark's figures stand beside.
#pragma once

#include <cstdint>

namespace fusec {

inline constexpr const char* kCopyKernelName = "fusec_copy";
inline constexpr int64_t kCopyBytes = int64_t{1} << 30;  // read, and as many written
inline constexpr int kCopyThreads = 256;
inline constexpr int64_t kCopyBytesPerBlock = kCopyThreads * 4 * 16;
inline constexpr const char* kCopyKernelSource = R"(// y = x + 1, four 16-byte loads in flight a thread.
extern "C" __global__ void __launch_bounds__(256) fusec_copy(const float4* __restrict__ x, float4* __restrict__ y) {
  const unsigned first = blockIdx.x * 1024u + threadIdx.x;
  float4 v[4];
  #pragma unroll
  for (int i = 0; i < 4; ++i) v[i] = x[first + 256u * i];
  #pragma unroll
  for (int i = 0; i < 4; ++i) y[first + 256u * i] = make_float4(v[i].x + 1.f, v[i].y + 1.f, v[i].z + 1.f, v[i].w + 1.f);
}
)";

}  // namespace fusec
