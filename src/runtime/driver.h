// The CUDA driver (libcuda), opened when first needed. Types and constants are those of cuda.h, so that no CUDA header is needed to build;
// tests/unit/runtime/driver_abi_test.cpp holds them against the real header where there is one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fusec::cuda {

using Result = int;
using DeviceHandle = int;
using Pointer = unsigned long long;
using Context = struct CUctx_st*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using Graph = struct CUgraph_st*;
using GraphExec = struct CUgraphExec_st*;

inline constexpr Result kOutOfMemory = 2, kStubLibrary = 34, kErrorNoDevice = 100, kNoBinaryForGpu = 209, kInvalidPtx = 218,
                        kUnsupportedPtxVersion = 222, kDriverMismatch = 803, kCompatNotSupported = 804;
// Device attributes.
inline constexpr int kMaxThreadsPerBlock = 1, kMultiprocessorCount = 16, kMemoryClockKhz = 36, kMemoryBusBits = 37, kL2CacheSize = 38,
                     kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76, kCooperativeLaunch = 95, kMaxSharedPerBlockOptin = 97;
// Function attributes.
inline constexpr int kFunctionMaxThreadsPerBlock = 0, kFunctionSharedBytes = 1, kFunctionRegisters = 4, kFunctionMaxDynamicSharedBytes = 8;
inline constexpr int kJitErrorLogBuffer = 5, kJitErrorLogBufferBytes = 6;
inline constexpr int kCaptureRelaxed = 2;

// F(member, exported symbol, parameters): the symbol is the version that cuda.h maps the plain name to.
#define FUSEC_CUDA_FUNCTIONS(F)                                                                                                           \
  F(get_error_name, cuGetErrorName, (Result, const char**))                                                                               \
  F(get_error_string, cuGetErrorString, (Result, const char**))                                                                           \
  F(init, cuInit, (unsigned int))                                                                                                         \
  F(driver_get_version, cuDriverGetVersion, (int*))                                                                                       \
  F(device_get_count, cuDeviceGetCount, (int*))                                                                                           \
  F(device_get, cuDeviceGet, (DeviceHandle*, int))                                                                                        \
  F(device_get_name, cuDeviceGetName, (char*, int, DeviceHandle))                                                                         \
  F(device_total_mem, cuDeviceTotalMem_v2, (size_t*, DeviceHandle))                                                                       \
  F(device_get_attribute, cuDeviceGetAttribute, (int*, int, DeviceHandle))                                                                \
  F(device_primary_ctx_retain, cuDevicePrimaryCtxRetain, (Context*, DeviceHandle))                                                        \
  F(ctx_set_current, cuCtxSetCurrent, (Context))                                                                                          \
  F(mem_get_info, cuMemGetInfo_v2, (size_t*, size_t*))                                                                                    \
  F(mem_alloc, cuMemAlloc_v2, (Pointer*, size_t))                                                                                         \
  F(mem_free, cuMemFree_v2, (Pointer))                                                                                                    \
  F(memcpy_htod, cuMemcpyHtoD_v2, (Pointer, const void*, size_t))                                                                         \
  F(memcpy_dtoh, cuMemcpyDtoH_v2, (void*, Pointer, size_t))                                                                               \
  F(memcpy_dtod_async, cuMemcpyDtoDAsync_v2, (Pointer, Pointer, size_t, Stream))                                                          \
  F(memset_d8_async, cuMemsetD8Async, (Pointer, unsigned char, size_t, Stream))                                                           \
  F(module_load_data_ex, cuModuleLoadDataEx, (Module*, const void*, unsigned int, int*, void**))                                          \
  F(module_unload, cuModuleUnload, (Module))                                                                                              \
  F(module_get_function, cuModuleGetFunction, (Function*, Module, const char*))                                                           \
  F(func_get_attribute, cuFuncGetAttribute, (int*, int, Function))                                                                        \
  F(func_set_attribute, cuFuncSetAttribute, (Function, int, int))                                                                         \
  F(occupancy_max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor, (int*, Function, int, size_t))                              \
  F(stream_create, cuStreamCreate, (Stream*, unsigned int))                                                                               \
  F(stream_destroy, cuStreamDestroy_v2, (Stream))                                                                                         \
  F(stream_synchronize, cuStreamSynchronize, (Stream))                                                                                    \
  F(stream_begin_capture, cuStreamBeginCapture_v2, (Stream, int))                                                                         \
  F(stream_end_capture, cuStreamEndCapture, (Stream, Graph*))                                                                             \
  F(event_create, cuEventCreate, (Event*, unsigned int))                                                                                  \
  F(event_destroy, cuEventDestroy_v2, (Event))                                                                                            \
  F(event_record, cuEventRecord, (Event, Stream))                                                                                         \
  F(event_elapsed_time, cuEventElapsedTime, (float*, Event, Event))                                                                       \
  F(graph_instantiate, cuGraphInstantiateWithFlags, (GraphExec*, Graph, unsigned long long))                                              \
  F(graph_destroy, cuGraphDestroy, (Graph))                                                                                               \
  F(graph_exec_destroy, cuGraphExecDestroy, (GraphExec))                                                                                  \
  F(graph_launch, cuGraphLaunch, (GraphExec, Stream))                                                                                     \
  F(launch_kernel, cuLaunchKernel,                                                                                                        \
    (Function, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, Stream, void**, void**)) \
  F(launch_cooperative_kernel, cuLaunchCooperativeKernel,                                                                                 \
    (Function, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, Stream, void**))

struct Driver {
  std::string path;  // of the library
#define FUSEC_DECLARE(member, symbol, parameters) Result(*member) parameters = nullptr;
  FUSEC_CUDA_FUNCTIONS(FUSEC_DECLARE)
#undef FUSEC_DECLARE

  // Null when the driver's library is not here or too old; then `tried` says where it was looked for. Opened once per process, not
  // initialized.
  static const Driver* find(std::vector<std::string>& tried);
  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
  std::string describe(Result error) const;
};

}  // namespace fusec::cuda
