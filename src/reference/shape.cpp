// Shape ops: strided views of the operand, copied out.
#include <algorithm>
#include <cstring>

#include "reference/convert.h"
#include "reference/op_call.h"
#include "support/check.h"

namespace fusec::reference {

namespace {

View permuted(const View& x, const std::vector<int64_t>& perm) {
  View view = x;
  for (size_t d = 0; d < perm.size(); ++d) {
    view.shape[d] = x.shape[static_cast<size_t>(perm[d])];
    view.strides[d] = x.strides[static_cast<size_t>(perm[d])];
  }
  return view;
}

// Elements start, start + step, … of each dimension, as many as `shape` says.
View sliced(const View& x, const Extents& starts, const Extents& steps, const Extents& shape) {
  View view = x;
  view.shape = shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    view.base += product(shape) == 0 ? 0 : starts[d] * x.strides[d] * x.elem_bytes;
    view.strides[d] *= steps[d];
  }
  return view;
}

View flipped(const View& x, const std::vector<int64_t>& dims) {
  View view = x;
  for (int64_t dim : dims) {
    const size_t d = static_cast<size_t>(dim);
    if (x.shape[d] > 0) view.base += (x.shape[d] - 1) * x.strides[d] * x.elem_bytes;
    view.strides[d] = -x.strides[d];
  }
  return view;
}

Tensor padded(const OpCall& call) {
  const Tensor& x = *call.in[0];
  Tensor out(call.dtype(), call.shape());
  const int bytes = bytes_of(out.dtype);
  std::byte value[8];
  store(call.attrs.value, out.dtype, value);
  for (int64_t i = 0; i < out.elems(); ++i) std::memcpy(out.data.data() + i * bytes, value, static_cast<size_t>(bytes));
  // The part of x that stays: from `first` on in x, from `at` on in the result.
  const size_t rank = x.shape.size();
  const Extents low = extents_of(call.attrs.low);
  Extents first(rank), kept(rank);
  int64_t at = 0;
  const Extents out_strides = dense_strides(out.shape);
  for (size_t d = 0; d < rank; ++d) {
    first[d] = std::max<int64_t>(0, -low[d]);
    const int64_t begin = std::max<int64_t>(0, low[d]), end = std::min(out.shape[d], low[d] + x.shape[d]);
    kept[d] = std::max<int64_t>(0, end - begin);
    at += begin * out_strides[d];
  }
  if (product(kept) == 0) return out;
  const View source = sliced(view_of(x), first, Extents(rank, 1), kept);
  // Row by row along the last dimension.
  const int64_t row = rank == 0 ? 1 : kept.back();
  if (rank > 0) kept.back() = 1;
  for (Walk walk(kept, {source.strides, out_strides}); !walk.done(); walk.next())
    std::memcpy(out.data.data() + (at + walk.offset(1)) * bytes, source.base + walk.offset(0) * bytes, static_cast<size_t>(row * bytes));
  return out;
}

// cat, and stack as the cat of operands with an extent of 1.
Tensor joined(const OpCall& call) {
  Tensor out(call.dtype(), call.shape());
  const Lines lines(out.shape, call.attrs.dim);
  const int64_t bytes = bytes_of(out.dtype);
  int64_t at = 0;
  for (const Tensor* x : call.in) {
    const int64_t extent = call.op.kind == OpKind::kStack ? 1 : x->shape[static_cast<size_t>(call.attrs.dim)];
    const int64_t run = extent * lines.inner * bytes;
    for (int64_t o = 0; run > 0 && o < lines.outer; ++o)
      std::memcpy(out.data.data() + lines.at(o, at, 0) * bytes, x->data.data() + o * run, static_cast<size_t>(run));
    at += extent;
  }
  FUSEC_CHECK(at == lines.extent, "a cat whose extents do not add up");
  return out;
}

Tensor reshaped(const OpCall& call) {
  Tensor out = *call.in[0];
  out.shape = call.shape();
  FUSEC_CHECK(product(out.shape) == out.elems(), "a reshape that changes the number of elements");
  return out;
}

Tensor strided(const OpCall& call) {
  const Tensor& x = *call.in[0];
  const Attrs& a = call.attrs;
  const Extents shape = call.shape();
  View view = view_of(x);
  switch (call.op.kind) {
    case OpKind::kPermute:
      view = permuted(view, a.perm);
      break;
    case OpKind::kExpand:
      view = broadcast(view, shape);
      break;
    case OpKind::kSlice:
      view = sliced(view, extents_of(a.starts), a.steps.empty() ? Extents(shape.size(), 1) : a.steps, shape);
      break;
    case OpKind::kFlip:
      view = flipped(view, a.dims);
      break;
    default:
      FUSEC_CHECK(false, "not a strided view: " + call.name());
  }
  FUSEC_CHECK(view.shape == shape, call.name() + " has another shape than inferred");
  return materialize(view, x.dtype);
}

}  // namespace

std::vector<Tensor> evaluate_shape(const OpCall& call) {
  switch (call.op.kind) {
    case OpKind::kReshape:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
      return {reshaped(call)};
    case OpKind::kPad:
      return {padded(call)};
    case OpKind::kCat:
    case OpKind::kStack:
      return {joined(call)};
    default:
      return {strided(call)};
  }
}

}  // namespace fusec::reference
