#include "runtime/compile_cuda.h"

#include "catch.h"
#include "runtime/copy_kernel.h"
#include "runtime/nvrtc.h"
#include "scratch.h"
#include "support/diag.h"

using namespace fusec;

namespace {

const char* const kAdd = R"(extern "C" __global__ void add_one(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = x[i] + 1.f;
}
)";

// These tests need NVRTC, not a GPU.
bool nvrtc_is_here() {
  std::vector<std::string> tried;
  if (Nvrtc::find(tried)) return true;
  WARN("skipped: no NVRTC here");
  return false;
}

}  // namespace

TEST_CASE("ptxas' report gives the resources of each kernel") {
  const auto usage = parse_ptxas_log(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
      "ptxas info    : Function properties for first\n"
      "ptxas         .     48 bytes stack frame, 40 bytes spill stores, 64 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 1024 bytes smem, 384 bytes cmem[0]\n"
      "ptxas info    : Compile time = 6.427 ms\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
      "ptxas info    : Function properties for second\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 0 barriers\n");
  REQUIRE(usage.size() == 2);
  CHECK(usage.at("first") == KernelUsage{255, 64, 1024});
  CHECK(usage.at("second") == KernelUsage{10, 0, 0});
  CHECK(parse_ptxas_log("").empty());
}

TEST_CASE("architecture names") {
  CHECK(parse_arch("sm_90").number == 90);
  CHECK(parse_arch("sm_90").real);
  CHECK_FALSE(parse_arch("compute_80").real);
  CHECK(parse_arch("sm_100a").number == 100);
  CHECK(parse_arch("sm_100a").suffix == "a");
  for (const char* wrong : {"", "90", "sm_", "sm_9", "sm_90b", "sm_90aa", "sm_-90", "compute", "native"})
    CHECK_THROWS_AS(parse_arch(wrong), Failure);
}

TEST_CASE("NVRTC compiles to PTX and machine code") {
  if (!nvrtc_is_here()) return;
  const CudaBinary real = compile_cuda("add", kAdd, "sm_90", nullptr);
  CHECK(real.ptx.find(".entry add_one") != std::string::npos);
  CHECK(real.cubin.substr(1, 3) == "ELF");
  REQUIRE(real.usage.count("add_one") == 1);
  CHECK(real.usage.at("add_one").registers > 0);
  const CudaBinary virtual_only = compile_cuda("add", kAdd, "compute_80", nullptr);
  CHECK(virtual_only.ptx.find(".target sm_80") != std::string::npos);
  CHECK(virtual_only.cubin.empty());
  CHECK(compile_cuda("copy", kCopyKernelSource, "sm_90", nullptr).usage.at(kCopyKernelName).spill_bytes == 0);
}

TEST_CASE("the CUDA headers are found beside NVRTC") {
  if (!nvrtc_is_here()) return;
  if (Nvrtc::get().include_folders.empty()) {
    WARN("skipped: NVRTC without headers");
    return;
  }
  const std::string source =
      "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\nextern \"C\" __global__ void k(__nv_bfloat16* x) { x[0] = "
      "__float2bfloat16(1.f); }\n";
  CHECK_FALSE(compile_cuda("headers", source, "compute_80", nullptr).ptx.empty());
}

TEST_CASE("what was compiled once comes from the cache, resources included") {
  if (!nvrtc_is_here()) return;
  const ScratchFolder scratch;
  const CompileCache cache(scratch.path.string());
  const CudaBinary first = compile_cuda("add", kAdd, "sm_80", &cache), second = compile_cuda("add", kAdd, "sm_80", &cache);
  CHECK_FALSE(first.from_cache);
  CHECK(second.from_cache);
  CHECK(first.cubin == second.cubin);
  CHECK(first.ptx == second.ptx);
  CHECK(first.usage == second.usage);
  CHECK_FALSE(compile_cuda("add", kAdd, "sm_90", &cache).from_cache);
}

TEST_CASE("text that NVRTC refuses is a failure with its log") {
  if (!nvrtc_is_here()) return;
  try {
    compile_cuda("broken", "extern \"C\" __global__ void k() { y = 1; }", "compute_80", nullptr);
    FAIL("compiled");
  } catch (const Failure& failure) {
    CHECK(failure.exit == Exit::kRefused);
    CHECK(std::string(failure.what()).find("identifier \"y\" is undefined") != std::string::npos);
  }
  try {
    compile_cuda("old", kAdd, "sm_50", nullptr);
    FAIL("compiled");
  } catch (const Failure& failure) {
    CHECK(failure.exit == Exit::kBadInput);
    CHECK(std::string(failure.what()).find("compiles for") != std::string::npos);
  }
}
