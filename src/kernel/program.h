// A compiled graph before NVRTC: CUDA text and what a loader needs to launch it. Sizes are formulas of run-time symbols.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "graph/size.h"

namespace fusec {

// What a kernel parameter is bound to at launch.
struct KernelArg {
  enum Kind : uint8_t {
    kInput,      // device pointer of graph input `index`
    kOutput,     // device pointer of graph output `index` (the aliased input's when it has an alias)
    kWorkspace,  // workspace base + offset of workspace buffer `index`
    kScalar,     // value of scalar graph input `index`, in its dtype's memory format
    kSymbol,     // value of symbol `index`, as a 64-bit integer
    kErrorFlag,  // device pointer to the error record (4 × i64, zeroed before the run)
  } kind = kInput;
  uint32_t index = 0;
  bool operator==(const KernelArg&) const = default;
};

// A launch has Σ ⌈elems / per_block⌉ blocks.
struct GridTerm {
  Size elems;
  int64_t per_block = 1;
  // Where `elems` is a constant.
  int64_t blocks() const { return (elems.value() + per_block - 1) / per_block; }
};

// How updates that may meet are spread, and why not as was asked.
struct ScatterChoice {
  std::string schedule, why;
};

struct Launch {
  enum Kind : uint8_t { kKernel, kCopy } kind = kKernel;
  uint32_t segment = 0;
  std::string kernel;  // entry point, extern "C"
  std::vector<GridTerm> grid;
  uint32_t block = 256;
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  std::vector<KernelArg> args;
  std::vector<DType> arg_dtypes;  // of what each pointer points to; of each scalar
  // kCopy: `bytes` from args[0] to args[1], device to device.
  Size copy_bytes;
  // What the schedule chose, for the report: name → value.
  std::vector<std::pair<std::string, int64_t>> schedule;
  ScatterChoice scatter;
  // Of a kernel of phases: what each of them stores, those between two barriers together; and why they share a launch.
  std::vector<std::vector<std::string>> phases;
  std::string why;
};

struct WorkspaceBuffer {
  Size bytes;
  uint32_t first_segment = 0, last_segment = 0;  // live from the first through the last
  int64_t offset = 0;                            // when every size is constant (Program::workspace_is_static)
};

// An index operand that kernels compare with what it selects from.
struct IndexCheck {
  std::string op;  // for messages: "'T5' (scatter)"
  Shape shape;     // of the index operand
};

struct Program {
  std::string name;
  std::vector<Launch> launches;  // in order, on one stream
  std::vector<WorkspaceBuffer> workspace;
  // Static: buffers lie at their offsets in an arena of `workspace_bytes`. Else: one after the other, each rounded up to 256 bytes.
  bool workspace_is_static = true;
  int64_t workspace_bytes = 0;
  std::vector<IndexCheck> checks;
  std::string cuda_source;    // the whole .cu file, host launcher included (guarded by !__CUDACC_RTC__)
  std::string header_source;  // the .h file
};

}  // namespace fusec
