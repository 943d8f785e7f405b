// Headers that NVRTC finds in memory, in place of the toolkit's: what emitted text uses of them, with the same instructions. To read the
// toolkit's cuda_bf16.h takes longer than to compile most kernels. nvcc reads the toolkit's.
#pragma once

#include <string>
#include <vector>

namespace fusec {

struct DeviceHeader {
  const char* name;
  const char* text;
};

// Those that serve this text: none where it includes one that needs more of them.
std::vector<DeviceHeader> device_headers(const std::string& source);

}  // namespace fusec
