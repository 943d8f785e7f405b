// A tensor in host memory: row-major, dense, the dtype's memory format (bool one byte, f8/f16/bf16 their bit patterns).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/dtype.h"

namespace fusec {

struct Tensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  Tensor() = default;
  Tensor(DType t, std::vector<int64_t> s);  // zero-filled
  int64_t elems() const;
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
  bool operator==(const Tensor&) const = default;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace fusec
