// NVRTC, CUDA's run-time compiler, opened when first needed. The types stand for those of nvrtc.h, so that no CUDA header is needed to
// build.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fusec {

struct NvrtcProgram;  // opaque: nvrtcProgram is a pointer to it

struct Nvrtc {
  std::string path;                          // of the library
  int major = 0, minor = 0;                  // of NVRTC
  std::vector<std::string> include_folders;  // with cuda_fp16.h and, where separate, the CCCL headers; empty when not found

  const char* (*get_error_string)(int) = nullptr;
  int (*version)(int*, int*) = nullptr;
  int (*get_num_supported_archs)(int*) = nullptr;
  int (*get_supported_archs)(int*) = nullptr;
  int (*create_program)(NvrtcProgram**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy_program)(NvrtcProgram**) = nullptr;
  int (*compile_program)(NvrtcProgram*, int, const char* const*) = nullptr;
  int (*get_ptx_size)(NvrtcProgram*, size_t*) = nullptr;
  int (*get_ptx)(NvrtcProgram*, char*) = nullptr;
  int (*get_cubin_size)(NvrtcProgram*, size_t*) = nullptr;
  int (*get_cubin)(NvrtcProgram*, char*) = nullptr;
  int (*get_program_log_size)(NvrtcProgram*, size_t*) = nullptr;
  int (*get_program_log)(NvrtcProgram*, char*) = nullptr;

  // Null when no usable NVRTC is here; then `tried` says where it was looked for. Opened once per process.
  static const Nvrtc* find(std::vector<std::string>& tried);
  // Failure(kNoDevice) with every place tried and the remedy.
  static const Nvrtc& get();

  bool at_least(int wanted_major, int wanted_minor) const {
    return major > wanted_major || (major == wanted_major && minor >= wanted_minor);
  }
  // Architecture numbers it compiles for, ascending: 75, 80, …
  std::vector<int> architectures() const;
};

}  // namespace fusec
