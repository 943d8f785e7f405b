// Our declarations of the driver API against cuda.h, where the toolkit is installed.
#include "runtime/driver.h"

#include "catch.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <type_traits>

namespace {

// The same number of parameters, each of the same size and kind: what the calling convention looks at.
template <class Ours, class Theirs>
constexpr bool same_parameter() {
  return sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
         std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
}
template <class Ours, class Theirs>
struct SameSignature : std::false_type {};
template <class... Ours, class... Theirs>
struct SameSignature<int (*)(Ours...), CUresult (*)(Theirs...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) return false;
    else return (same_parameter<Ours, Theirs>() && ...);
  }();
};

// The names that cuda.h maps to the versions we bind, spelt here without their suffix so that its macros choose.
#define FUSEC_MAPPED(name) FUSEC_TEXT(name)
#define FUSEC_TEXT(name) #name

}  // namespace

#define FUSEC_SAME(member, symbol, parameters) \
  static_assert(SameSignature<decltype(fusec::cuda::Driver::member), decltype(&symbol)>::value, #symbol " differs from cuda.h");
FUSEC_CUDA_FUNCTIONS(FUSEC_SAME)

TEST_CASE("driver functions are the versions that cuda.h maps to") {
  CHECK(std::string(FUSEC_MAPPED(cuDeviceTotalMem)) == "cuDeviceTotalMem_v2");
  CHECK(std::string(FUSEC_MAPPED(cuMemGetInfo)) == "cuMemGetInfo_v2");
  CHECK(std::string(FUSEC_MAPPED(cuMemAlloc)) == "cuMemAlloc_v2");
  CHECK(std::string(FUSEC_MAPPED(cuMemFree)) == "cuMemFree_v2");
  CHECK(std::string(FUSEC_MAPPED(cuMemcpyHtoD)) == "cuMemcpyHtoD_v2");
  CHECK(std::string(FUSEC_MAPPED(cuMemcpyDtoH)) == "cuMemcpyDtoH_v2");
  CHECK(std::string(FUSEC_MAPPED(cuMemcpyDtoDAsync)) == "cuMemcpyDtoDAsync_v2");
  CHECK(std::string(FUSEC_MAPPED(cuStreamDestroy)) == "cuStreamDestroy_v2");
  CHECK(std::string(FUSEC_MAPPED(cuEventDestroy)) == "cuEventDestroy_v2");
  CHECK(std::string(FUSEC_MAPPED(cuStreamBeginCapture)) == "cuStreamBeginCapture_v2");
  CHECK(std::string(FUSEC_MAPPED(cuMemsetD8Async)) == "cuMemsetD8Async");
  CHECK(std::string(FUSEC_MAPPED(cuGraphLaunch)) == "cuGraphLaunch");
}

TEST_CASE("driver constants are those of cuda.h") {
  using namespace fusec::cuda;
  CHECK(kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(kStubLibrary == CUDA_ERROR_STUB_LIBRARY);
  CHECK(kErrorNoDevice == CUDA_ERROR_NO_DEVICE);
  CHECK(kNoBinaryForGpu == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK(kInvalidPtx == CUDA_ERROR_INVALID_PTX);
  CHECK(kUnsupportedPtxVersion == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  CHECK(kDriverMismatch == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  CHECK(kCompatNotSupported == CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
  CHECK(kMaxThreadsPerBlock == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  CHECK(kMultiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  CHECK(kMemoryClockKhz == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  CHECK(kMemoryBusBits == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  CHECK(kL2CacheSize == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  CHECK(kComputeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  CHECK(kComputeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  CHECK(kCooperativeLaunch == CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  CHECK(kMaxSharedPerBlockOptin == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  CHECK(kFunctionMaxThreadsPerBlock == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  CHECK(kFunctionSharedBytes == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  CHECK(kFunctionRegisters == CU_FUNC_ATTRIBUTE_NUM_REGS);
  CHECK(kFunctionMaxDynamicSharedBytes == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  CHECK(kJitErrorLogBuffer == CU_JIT_ERROR_LOG_BUFFER);
  CHECK(kJitErrorLogBufferBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  CHECK(kCaptureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
}

#endif
