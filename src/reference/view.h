// Strided views of tensors in memory, and walks over index spaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/tensor.h"

namespace fusec::reference {

using Extents = std::vector<int64_t>;

int64_t product(const Extents& extents);
Extents dense_strides(const Extents& shape);

// Elements `base + Σ index·stride`, strides in elements (0 and negative ones allowed).
struct View {
  const std::byte* base = nullptr;
  Extents shape, strides;
  int elem_bytes = 1;
};

View view_of(const Tensor& tensor);
// NumPy's broadcast_to.
View broadcast(View view, const Extents& shape);
// The same elements in the same order with as few dimensions as possible.
View merge_dimensions(const View& view);
bool is_dense(const View& view);
// Elements [start, start + count) in row-major order to `out`.
void read(const View& view, int64_t start, int64_t count, std::byte* out);
Tensor materialize(const View& view, DType dtype);

// Walks over an index space in row-major order, with the offsets of the current position under several lists of strides.
class Walk {
 public:
  Walk(Extents extents, std::vector<Extents> strides);
  bool done() const { return done_; }
  void next();
  const Extents& position() const { return position_; }
  int64_t offset(size_t which) const { return offsets_[which]; }

 private:
  Extents extents_, position_, offsets_;
  std::vector<Extents> strides_;
  bool done_ = false;
};

// The lines of a tensor along one dimension: line (o, i) holds the elements (o·extent + k)·inner + i for k < extent.
struct Lines {
  int64_t outer = 1, extent = 1, inner = 1;
  Lines(const Extents& shape, int64_t dim);
  int64_t at(int64_t o, int64_t k, int64_t i) const { return (o * extent + k) * inner + i; }
};

}  // namespace fusec::reference
