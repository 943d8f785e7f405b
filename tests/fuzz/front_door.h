// What fuzzing runs on an input: everything from a text to a segmentation, and to CUDA where there are kernels; and the laws that hold
// whatever the text is.
#pragma once

#include <string>

namespace fusec {

// Inputs above this are not looked at: time and memory stay bounded.
inline constexpr size_t kMaxFuzzBytes = size_t{1} << 15;

// Throws when a law is broken. Whether the text is a graph.
bool try_front_door(const std::string& text);

}  // namespace fusec
