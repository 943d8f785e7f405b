// Between logical row-major tensors and the strided layouts of device buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/tensor.h"

namespace fusec {

struct Layout {
  int elem_bytes = 4;
  std::vector<int64_t> shape, strides;  // elements

  bool empty() const;             // some extent is 0
  bool is_row_major() const;      // dense, so that device and host bytes are the same
  int64_t storage_bytes() const;  // from the first to the last element
};

// Puts each logical element at its place; `storage` has storage_bytes() and keeps its other bytes.
void scatter_to_layout(const Layout& layout, const std::byte* logical, std::byte* storage);
void gather_from_layout(const Layout& layout, const std::byte* storage, std::byte* logical);

}  // namespace fusec
