// Stand-in for CUDA's fp8 conversions.
#pragma once

#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return {(unsigned short)emu_fp8_as_half(x, kind == __NV_E4M3)};
}
inline __nv_fp8_storage_t emu_to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  return (__nv_fp8_storage_t)emu_fp8_pattern(x, saturate == __NV_SATFINITE, kind == __NV_E4M3);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return emu_to_fp8(x, s, k); }
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return emu_to_fp8(x, s, k); }
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return emu_to_fp8(__half2float(x), s, k);
}
