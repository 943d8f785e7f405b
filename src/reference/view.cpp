#include "reference/view.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/check.h"

namespace fusec::reference {

int64_t product(const Extents& extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

Extents dense_strides(const Extents& shape) {
  Extents strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) strides[d] = stride;
  return strides;
}

View view_of(const Tensor& tensor) { return {tensor.data.data(), tensor.shape, dense_strides(tensor.shape), bytes_of(tensor.dtype)}; }

View broadcast(View view, const Extents& shape) {
  FUSEC_CHECK(view.shape.size() <= shape.size(), "broadcast to fewer dimensions");
  const size_t added = shape.size() - view.shape.size();
  Extents strides(shape.size(), 0);
  for (size_t d = added; d < shape.size(); ++d) {
    if (view.shape[d - added] == shape[d]) strides[d] = view.strides[d - added];
    else FUSEC_CHECK(view.shape[d - added] == 1, "broadcast of unequal extents");
  }
  view.shape = shape;
  view.strides = std::move(strides);
  return view;
}

View merge_dimensions(const View& view) {
  View merged{view.base, {}, {}, view.elem_bytes};
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 1) continue;
    if (!merged.shape.empty() && merged.strides.back() == view.strides[d] * view.shape[d]) {
      merged.shape.back() *= view.shape[d];
      merged.strides.back() = view.strides[d];
    } else {
      merged.shape.push_back(view.shape[d]);
      merged.strides.push_back(view.strides[d]);
    }
  }
  return merged;
}

bool is_dense(const View& view) {
  const View merged = merge_dimensions(view);
  return merged.shape.empty() || (merged.shape.size() == 1 && merged.strides[0] == 1);
}

namespace {

template <class Word>
void read_run(const std::byte* src, int64_t stride, int64_t count, std::byte* out) {
  const Word* in = reinterpret_cast<const Word*>(src);
  Word* to = reinterpret_cast<Word*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = in[i * stride];
}

void read_run(const std::byte* src, int64_t stride, int64_t count, int elem_bytes, std::byte* out) {
  if (stride == 1) {
    std::memcpy(out, src, static_cast<size_t>(count * elem_bytes));
    return;
  }
  switch (elem_bytes) {
    case 1:
      return read_run<uint8_t>(src, stride, count, out);
    case 2:
      return read_run<uint16_t>(src, stride, count, out);
    case 4:
      return read_run<uint32_t>(src, stride, count, out);
    default:
      return read_run<uint64_t>(src, stride, count, out);
  }
}

}  // namespace

void read(const View& view, int64_t start, int64_t count, std::byte* out) {
  const size_t rank = view.shape.size();
  if (rank == 0) {
    if (count > 0) std::memcpy(out, view.base, static_cast<size_t>(view.elem_bytes));
    return;
  }
  Extents position(rank);
  int64_t offset = 0;
  for (size_t d = rank; d-- > 0; start /= view.shape[d]) {
    position[d] = start % view.shape[d];
    offset += position[d] * view.strides[d];
  }
  while (count > 0) {
    const int64_t run = std::min(count, view.shape[rank - 1] - position[rank - 1]);
    read_run(view.base + offset * view.elem_bytes, view.strides[rank - 1], run, view.elem_bytes, out);
    out += run * view.elem_bytes;
    count -= run;
    offset += run * view.strides[rank - 1];
    position[rank - 1] += run;
    for (size_t d = rank - 1; d > 0 && position[d] == view.shape[d]; --d) {
      offset += view.strides[d - 1] - position[d] * view.strides[d];
      position[d] = 0;
      ++position[d - 1];
    }
  }
}

Tensor materialize(const View& view, DType dtype) {
  Tensor out(dtype, view.shape);
  if (out.elems() > 0) read(merge_dimensions(view), 0, out.elems(), out.data.data());
  return out;
}

Walk::Walk(Extents extents, std::vector<Extents> strides)
    : extents_(std::move(extents)), position_(extents_.size(), 0), offsets_(strides.size(), 0), strides_(std::move(strides)) {
  done_ = product(extents_) == 0;
}

void Walk::next() {
  for (size_t d = extents_.size(); d-- > 0;) {
    ++position_[d];
    for (size_t s = 0; s < strides_.size(); ++s) offsets_[s] += strides_[s][d];
    if (position_[d] < extents_[d]) return;
    for (size_t s = 0; s < strides_.size(); ++s) offsets_[s] -= strides_[s][d] * extents_[d];
    position_[d] = 0;
  }
  done_ = true;
}

Lines::Lines(const Extents& shape, int64_t dim) {
  const size_t at_dim = static_cast<size_t>(dim);
  if (shape.empty()) return;  // a 0-d tensor: one line of one element
  for (size_t d = 0; d < shape.size(); ++d) (d < at_dim ? outer : d == at_dim ? extent : inner) *= shape[d];
}

}  // namespace fusec::reference
