// One kernel out of a .cu file.
#pragma once

#include <string>

namespace fusec {

// From "extern "C" __global__" to the closing brace; "" when the file has no such kernel.
std::string kernel_text(const std::string& source, const std::string& kernel);

}  // namespace fusec
