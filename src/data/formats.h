// The tensor file formats, each between bytes and tensors. On malformed bytes they throw Malformed; files.cpp adds the path.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "data/tensor.h"

namespace fusec {

struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Elements of a shape times the element size; Malformed when a size is negative or the product passes the 64-bit range.
int64_t checked_bytes(DType dtype, const std::vector<int64_t>& shape);

NamedTensors parse_safetensors(std::string_view bytes);
std::string format_safetensors(const NamedTensors& tensors);

// `name` is used in messages only.
Tensor parse_npy(std::string_view bytes, const std::string& name);
std::string format_npy(const Tensor& tensor, const std::string& name);

NamedTensors parse_npz(std::string bytes);
std::string format_npz(const NamedTensors& tensors);

}  // namespace fusec
