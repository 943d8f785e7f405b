// CUDA text → PTX and machine code for one architecture, through NVRTC and the compile cache.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/compile_cache.h"

namespace fusec {

// What ptxas says about a kernel (0 where it said nothing).
struct KernelUsage {
  int registers = 0, spill_bytes = 0, shared_bytes = 0;
  bool operator==(const KernelUsage&) const = default;
};

struct CudaBinary {
  std::string arch;  // as asked for
  std::string ptx;
  std::string cubin;                         // empty for compute_NN
  std::map<std::string, KernelUsage> usage;  // by kernel name, with a cubin
  bool from_cache = false;
};

// "sm_90", "sm_90a", "compute_80", …: the number, and whether it is real (machine code). Failure(kBadInput) for anything else.
struct ArchName {
  int number = 0;      // 90
  std::string suffix;  // "", "a" or "f"
  bool real = true;
};
ArchName parse_arch(const std::string& arch);

// The options fusec gives NVRTC `major.minor` for an architecture, include folders aside.
std::vector<std::string> nvrtc_options(const std::string& arch, int major, int minor);

// `name` is the graph's, for messages. `cache` may be null. Failure: kNoDevice without NVRTC or its headers, kBadInput for an architecture
// that this NVRTC does not know, kRefused with NVRTC's log when it refuses the text.
CudaBinary compile_cuda(const std::string& name, const std::string& source, const std::string& arch, const CompileCache* cache);

// Registers, spills and static shared memory of every kernel in the output of `ptxas -v`.
std::map<std::string, KernelUsage> parse_ptxas_log(const std::string& log);

}  // namespace fusec
