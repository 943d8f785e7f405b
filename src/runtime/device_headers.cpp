#include "runtime/device_headers.h"

namespace fusec {

namespace {

constexpr DeviceHeader kBf16 = {"cuda_bf16.h", R"(#pragma once
struct __nv_bfloat16 {
  unsigned short bits;
};
__device__ __forceinline__ float __bfloat162float(__nv_bfloat16 x) {
  float y;
#if __CUDA_ARCH__ >= 900
  asm("{ cvt.f32.bf16 %0, %1;}" : "=f"(y) : "h"(x.bits));
#else
  asm("{ mov.b32 %0, {0, %1};}" : "=f"(y) : "h"(x.bits));
#endif
  return y;
}
// To the nearest, ties to even; every NaN becomes one.
__device__ __forceinline__ __nv_bfloat16 __float2bfloat16_rn(float x) {
  __nv_bfloat16 y;
#if __CUDA_ARCH__ >= 800
  asm("{ cvt.rn.bf16.f32 %0, %1;}" : "=h"(y.bits) : "f"(x));
#else
  const unsigned word = __float_as_uint(x), even = word >> 16 & 1;
  y.bits = x != x ? 0x7fff : (unsigned short)((word + 0x7fff + even) >> 16);
#endif
  return y;
}
)"};

constexpr DeviceHeader kFp16 = {"cuda_fp16.h", R"(#pragma once
struct __half {
  unsigned short bits;
};
__device__ __forceinline__ float __half2float(__half x) {
  float y;
  asm("{ cvt.f32.f16 %0, %1;}" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ __forceinline__ __half __float2half_rn(float x) {
  __half y;
  asm("{ cvt.rn.f16.f32 %0, %1;}" : "=h"(y.bits) : "f"(x));
  return y;
}
)"};

}  // namespace

std::vector<DeviceHeader> device_headers(const std::string& source) {
  auto includes = [&](const std::string& name) { return source.find("#include <" + name + ">") != std::string::npos; };
  if (includes("cuda_fp8.h")) return {};
  std::vector<DeviceHeader> headers;
  for (const DeviceHeader& header : {kBf16, kFp16})
    if (includes(header.name)) headers.push_back(header);
  return headers;
}

}  // namespace fusec
