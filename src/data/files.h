// Tensor files: safetensors, .npy, .npz. The format is chosen by the file name's ending.
#pragma once

#include <string>

#include "data/tensor.h"

namespace fusec {

// Failure(kBadInput) with the path and the reason on anything malformed.
NamedTensors read_tensors(const std::string& path);
// Atomic: the file appears whole or not at all. Failure(kBadInput) when a dtype has no place in the format (bf16, f8 in npy).
void write_tensors(const std::string& path, const NamedTensors& tensors);

}  // namespace fusec
