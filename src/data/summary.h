// Tensors in a few words: what `run` prints of its outputs.
#pragma once

#include <string>

#include "data/tensor.h"

namespace fusec {

// One line a tensor: name, type, least and greatest value, NaNs, first values.
std::string summary_text(const NamedTensors& tensors);
// The same as a JSON array.
std::string summary_json(const NamedTensors& tensors);

}  // namespace fusec
