// Atomic additions of the 16-bit floats: each half of a pair by itself, as the hardware does.
#pragma once

__attribute__((always_inline)) inline __half atomicAdd(__half* p, __half v) {
  return emu::update(p, [=](__half old) { return __hadd(old, v); });
}
__attribute__((always_inline)) inline __half2 atomicAdd(__half2* p, __half2 v) {
  return emu::update(p, [=](__half2 old) { return __hadd2(old, v); });
}
__attribute__((always_inline)) inline __nv_bfloat16 atomicAdd(__nv_bfloat16* p, __nv_bfloat16 v) {
  return emu::update(p, [=](__nv_bfloat16 old) { return __hadd(old, v); });
}
__attribute__((always_inline)) inline __nv_bfloat162 atomicAdd(__nv_bfloat162* p, __nv_bfloat162 v) {
  return emu::update(p, [=](__nv_bfloat162 old) { return __hadd2(old, v); });
}
__attribute__((always_inline)) inline float2 atomicAdd(float2* p, float2 v) {
  return emu::update(p, [=](float2 old) { return float2{old.x + v.x, old.y + v.y}; });
}
__attribute__((always_inline)) inline float4 atomicAdd(float4* p, float4 v) {
  return emu::update(p, [=](float4 old) { return float4{old.x + v.x, old.y + v.y, old.z + v.z, old.w + v.w}; });
}
