// A plain copy, whose rate is the limit that a benchmark's figures stand beside.
#pragma once

#include <cstdint>

namespace fusec {

inline constexpr const char* kCopyKernelName = "fusec_copy";
inline constexpr int64_t kCopyBytes = int64_t{1} << 30;  // read, and as many written
inline constexpr int kCopyThreads = 256;
inline constexpr int64_t kCopyBytesPerBlock = kCopyThreads * 16;
inline constexpr const char* kCopyKernelSource = R"(// y = x + 1, 16 bytes a thread: more in flight are slower (4060 GB/s at 64 bytes on an H200).
extern "C" __global__ void __launch_bounds__(256) fusec_copy(const float4* __restrict__ x, float4* __restrict__ y) {
  const unsigned i = blockIdx.x * 256u + threadIdx.x;
  const float4 v = x[i];
  y[i] = make_float4(v.x + 1.f, v.y + 1.f, v.z + 1.f, v.w + 1.f);
}
)";

}  // namespace fusec
