// sort, argsort, topk: stable sorting of each line's positions.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "reference/op_call.h"
#include "reference/wide.h"
#include "support/check.h"

namespace fusec::reference {

namespace {

// For each line the positions of its elements in sorted order: the first `keep` of them, in a tensor of `shape`.
template <class Wide>
Tensor order_of(const Tensor& x, const Lines& lines, bool descending, int64_t keep, const Extents& shape) {
  const std::vector<Wide> values = widen<Wide>(x);
  Tensor order(DType::kI64, shape);
  std::vector<Wide> line(static_cast<size_t>(lines.extent));
  std::vector<int64_t> positions(line.size());
  auto before = [&](int64_t a, int64_t b) {
    const Wide va = line[static_cast<size_t>(a)], vb = line[static_cast<size_t>(b)];
    return descending ? ordered_before(vb, va) : ordered_before(va, vb);
  };
  for (int64_t o = 0; o < lines.outer; ++o)
    for (int64_t i = 0; i < lines.inner; ++i) {
      for (int64_t k = 0; k < lines.extent; ++k) line[static_cast<size_t>(k)] = values[static_cast<size_t>(lines.at(o, k, i))];
      std::iota(positions.begin(), positions.end(), int64_t{0});
      std::stable_sort(positions.begin(), positions.end(), before);
      for (int64_t k = 0; k < keep; ++k) order.as<int64_t>()[(o * keep + k) * lines.inner + i] = positions[static_cast<size_t>(k)];
    }
  return order;
}

// The elements of x at the positions of `order`, bit for bit.
Tensor picked(const Tensor& x, const Lines& lines, const Tensor& order, int64_t keep) {
  Tensor out(x.dtype, order.shape);
  const size_t bytes = static_cast<size_t>(bytes_of(x.dtype));
  for (int64_t o = 0; o < lines.outer; ++o)
    for (int64_t k = 0; k < keep; ++k)
      for (int64_t i = 0; i < lines.inner; ++i) {
        const int64_t to = (o * keep + k) * lines.inner + i;
        std::memcpy(out.data.data() + to * bytes_of(x.dtype), x.data.data() + lines.at(o, order.as<int64_t>()[to], i) * bytes_of(x.dtype),
                    bytes);
      }
  return out;
}

}  // namespace

std::vector<Tensor> evaluate_sort(const OpCall& call) {
  const Tensor& x = *call.in[0];
  const Lines lines(x.shape, call.attrs.dim);
  const bool topk = call.op.kind == OpKind::kTopk, descending = topk ? call.attrs.largest : call.attrs.descending;
  const int64_t keep = topk ? call.attrs.k.value() : lines.extent;
  FUSEC_CHECK(keep <= lines.extent, "topk of more than there are");
  Extents shape = x.shape;
  if (!shape.empty()) shape[static_cast<size_t>(call.attrs.dim)] = keep;
  Tensor order =
      is_float(x.dtype) ? order_of<double>(x, lines, descending, keep, shape) : order_of<int64_t>(x, lines, descending, keep, shape);
  if (call.op.kind == OpKind::kArgsort) return {std::move(order)};
  Tensor values = picked(x, lines, order, keep);
  return {std::move(values), std::move(order)};
}

}  // namespace fusec::reference
