#include "runtime/layout.h"

#include <algorithm>
#include <cstring>

namespace fusec {

bool Layout::empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

bool Layout::is_row_major() const {
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

int64_t Layout::storage_bytes() const {
  if (empty()) return 0;
  int64_t last = 0;
  for (size_t d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * strides[d];
  return (last + 1) * elem_bytes;
}

namespace {

// Calls visit(logical element, stored element, count) for every run along the last dimension, in row-major order.
template <class Visit>
void for_each_row(const Layout& layout, Visit visit) {
  if (layout.empty()) return;
  const size_t rank = layout.shape.size();
  const int64_t row = rank == 0 ? 1 : layout.shape[rank - 1];
  std::vector<int64_t> index(rank, 0);
  int64_t logical = 0, stored = 0;
  while (true) {
    visit(logical, stored, row);
    logical += row;
    size_t d = rank < 2 ? 0 : rank - 1;
    while (d > 0) {
      --d;
      stored += layout.strides[d];
      if (++index[d] < layout.shape[d]) break;
      stored -= layout.strides[d] * layout.shape[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (rank < 2) return;
  }
}

template <class Copy>
void copy_rows(const Layout& layout, Copy copy) {
  const auto bytes = static_cast<size_t>(layout.elem_bytes);
  const int64_t step = layout.shape.empty() ? 1 : layout.strides.back();
  for_each_row(layout, [&](int64_t logical, int64_t stored, int64_t row) {
    auto at = [&](int64_t elem) { return static_cast<size_t>(elem) * bytes; };
    if (step == 1 || row == 1) return copy(at(logical), at(stored), at(row));
    for (int64_t i = 0; i < row; ++i) copy(at(logical + i), at(stored + i * step), bytes);
  });
}

}  // namespace

void scatter_to_layout(const Layout& layout, const std::byte* logical, std::byte* storage) {
  copy_rows(layout, [&](size_t from, size_t to, size_t bytes) { std::memcpy(storage + to, logical + from, bytes); });
}

void gather_from_layout(const Layout& layout, const std::byte* storage, std::byte* logical) {
  copy_rows(layout, [&](size_t to, size_t from, size_t bytes) { std::memcpy(logical + to, storage + from, bytes); });
}

}  // namespace fusec
