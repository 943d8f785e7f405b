#include "runtime/device_headers.h"

#include <cctype>

#include "catch.h"
#include "runtime/compile_cuda.h"
#include "runtime/nvrtc.h"

using namespace fusec;

namespace {

const char* const kConversions = R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void convert(const __nv_bfloat16* a, const __half* b, float* c, __nv_bfloat16* d, __half* e) {
  const unsigned i = threadIdx.x;
  c[i] = __bfloat162float(a[i]) + __half2float(b[i]);
  d[i] = __float2bfloat16_rn(c[i]);
  e[i] = __float2half_rn(c[i]);
}
)";

// Without comments and white space.
std::string instructions(const std::string& ptx) {
  std::string text;
  for (size_t begin = 0; begin < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', begin), ptx.size());
    if (ptx.compare(begin, 2, "//") != 0)
      for (size_t i = begin; i < end; ++i)
        if (!std::isspace(static_cast<unsigned char>(ptx[i]))) text += ptx[i];
    begin = end + 1;
  }
  return text;
}

}  // namespace

TEST_CASE("headers in memory serve what includes them and nothing of 8 bits") {
  CHECK(device_headers(kConversions).size() == 2);
  CHECK(device_headers("#include <cuda_bf16.h>\n").size() == 1);
  CHECK(device_headers("int x;").empty());
  CHECK(device_headers("#include <cuda_fp8.h>\n#include <cuda_bf16.h>\n").empty());
}

TEST_CASE("headers in memory give the instructions of the toolkit's") {
  std::vector<std::string> tried;
  const Nvrtc* nvrtc = Nvrtc::find(tried);
  if (!nvrtc || nvrtc->include_folders.empty()) {
    WARN("skipped: no NVRTC or no CUDA headers here");
    return;
  }
  for (const char* arch : {"sm_80", "sm_90"}) {
    const CudaBinary own = compile_cuda("own", kConversions, arch, nullptr);
    const CudaBinary toolkits = compile_cuda("own", std::string("#include <cuda_fp8.h>\n") + kConversions, arch, nullptr);
    CHECK(instructions(own.ptx) == instructions(toolkits.ptx));
    CHECK(own.ptx.find("cvt.rn.bf16.f32") != std::string::npos);
  }
}
