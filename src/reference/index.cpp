// gather, take_along_axis, index_select, embedding; scatter and index_put.
#include <cstring>

#include "reference/convert.h"
#include "reference/math.h"
#include "reference/op_call.h"
#include "reference/wide.h"
#include "support/check.h"
#include "support/diag.h"

namespace fusec::reference {

namespace {

// An index operand, checked against the extent that it selects from.
class Indices {
 public:
  Indices(const OpCall& call, const Tensor& index, int64_t extent)
      : call_(call), values_(widen<int64_t>(index)), strides_(dense_strides(index.shape)), extent_(extent) {}

  // The index at element `at`; Failure(kRefused) when it is out of range.
  int64_t operator[](int64_t at) const {
    const int64_t value = values_[static_cast<size_t>(at)];
    if (value < 0 || value >= extent_) refuse(at, value);
    return value;
  }

 private:
  [[noreturn]] void refuse(int64_t at, int64_t value) const {
    std::string position;
    for (const int64_t stride : strides_) {
      position += (position.empty() ? "" : ",") + std::to_string(at / stride);
      at %= stride;
    }
    throw Failure(Exit::kRefused, call_.name() + ": the index at position [" + position + "] is " + std::to_string(value) +
                                      ", outside the range [0, " + std::to_string(extent_) + ")");
  }

  const OpCall& call_;
  std::vector<int64_t> values_;
  Extents strides_;
  int64_t extent_;
};

Extents without(Extents strides, int64_t dim) {
  if (!strides.empty()) strides[static_cast<size_t>(dim)] = 0;
  return strides;
}

int64_t extent_at(const Tensor& x, int64_t dim) { return x.shape.empty() ? 1 : x.shape[static_cast<size_t>(dim)]; }
int64_t stride_at(const Tensor& x, int64_t dim) { return x.shape.empty() ? 1 : dense_strides(x.shape)[static_cast<size_t>(dim)]; }

// out[p] = x[p with p[dim] = index[p]], x and index broadcast in the other dimensions for take_along_axis.
Tensor gathered(const OpCall& call) {
  const Tensor &x = *call.in[0], &index = *call.in[1];
  const int64_t dim = call.attrs.dim, bytes = bytes_of(x.dtype), along = stride_at(x, dim);
  Tensor out(call.dtype(), call.shape());
  const Indices indices(call, index, extent_at(x, dim));
  Extents x_strides = without(dense_strides(x.shape), dim);
  if (call.op.kind == OpKind::kTakeAlongAxis)
    for (size_t d = 0; d < x.shape.size(); ++d)
      if (x.shape[d] == 1) x_strides[d] = 0;
  const Extents index_strides = broadcast(view_of(index), out.shape).strides;
  std::byte* to = out.data.data();
  for (Walk walk(out.shape, {index_strides, x_strides}); !walk.done(); walk.next(), to += bytes)
    std::memcpy(to, x.data.data() + (walk.offset(1) + indices[walk.offset(0)] * along) * bytes, static_cast<size_t>(bytes));
  return out;
}

// Whole slices of x along `dim`, one per index: index_select, and embedding with dim 0.
Tensor selected(const OpCall& call, const Tensor& x, const Tensor& index, int64_t dim) {
  Tensor out(call.dtype(), call.shape());
  const Lines lines(x.shape, dim);
  const Indices indices(call, index, lines.extent);
  const int64_t count = index.elems(), run = lines.inner * bytes_of(x.dtype);
  if (out.data.empty()) {
    // Nothing is copied, but a bad index is still an error.
    for (int64_t k = 0; lines.outer > 0 && k < count; ++k) (void)indices[k];
    return out;
  }
  for (int64_t o = 0; o < lines.outer; ++o)
    for (int64_t k = 0; k < count; ++k)
      std::memcpy(out.data.data() + (o * count + k) * run, x.data.data() + lines.at(o, indices[k], 0) * bytes_of(x.dtype),
                  static_cast<size_t>(run));
  return out;
}

// Where the updates of a scatter or index_put go: for each position in row-major order the element of x and of src.
struct Updates {
  std::vector<int64_t> to, from;
};

Updates updates_of(const OpCall& call, const Tensor& src) {
  const Tensor &x = *call.in[0], &index = *call.in[1];
  const int64_t dim = call.attrs.dim, along = stride_at(x, dim);
  const Indices indices(call, index, extent_at(x, dim));
  const bool slices = call.op.kind == OpKind::kIndexPut;
  Extents space = index.shape, index_strides = dense_strides(index.shape);
  if (slices) {
    space = x.shape;
    space[static_cast<size_t>(dim)] = index.elems();
    index_strides.assign(space.size(), 0);
    index_strides[static_cast<size_t>(dim)] = 1;
  }
  Extents src_strides(space.size(), 0);  // a literal: one element for all
  if (src.elems() != 1 || src.shape.size() == space.size()) src_strides = dense_strides(src.shape);
  Updates updates;
  for (Walk walk(space, {index_strides, without(dense_strides(x.shape), dim), src_strides}); !walk.done(); walk.next()) {
    updates.to.push_back(walk.offset(1) + indices[walk.offset(0)] * along);
    updates.from.push_back(walk.offset(2));
  }
  return updates;
}

template <class Wide>
Wide combine(Accumulate how, Wide a, Wide b) {
  using U = std::conditional_t<std::is_floating_point_v<Wide>, Wide, uint64_t>;
  switch (how) {
    case Accumulate::kAdd:
      return static_cast<Wide>(static_cast<U>(a) + static_cast<U>(b));
    case Accumulate::kMul:
      return static_cast<Wide>(static_cast<U>(a) * static_cast<U>(b));
    case Accumulate::kMax:
      return maximum(a, b);
    case Accumulate::kMin:
      return minimum(a, b);
    case Accumulate::kNone:
      break;
  }
  return b;
}

// Elements that no update changes keep their bits: an infinity of f8e5m2 too, which would saturate if it were rounded again.
template <class Wide>
void accumulate(Tensor& out, const Tensor& src, const Updates& updates, Accumulate how) {
  const std::vector<Wide> before = widen<Wide>(out);
  std::vector<Wide> totals = before;
  const std::vector<Wide> values = widen<Wide>(src);
  for (size_t i = 0; i < updates.to.size(); ++i) {
    Wide& total = totals[static_cast<size_t>(updates.to[i])];
    total = combine(how, total, values[static_cast<size_t>(updates.from[i])]);
  }
  for (const int64_t at : updates.to) {
    const size_t i = static_cast<size_t>(at);
    if (std::memcmp(&totals[i], &before[i], sizeof(Wide)) != 0) store(totals[i], out.dtype, out.data.data() + at * bytes_of(out.dtype));
  }
}

// src as a tensor; a literal is one element of the type in which the op computes.
Tensor source_of(const OpCall& call) {
  if (call.in[2]) return *call.in[2];
  const DType t = call.in[0]->dtype;
  Tensor src(call.attrs.accumulate == Accumulate::kNone ? t : computing_type(t), {});
  store(*call.op.in[2].literal, src.dtype, src.data.data());
  return src;
}

}  // namespace

std::vector<Tensor> evaluate_gather(const OpCall& call) {
  switch (call.op.kind) {
    case OpKind::kIndexSelect:
      return {selected(call, *call.in[0], *call.in[1], call.attrs.dim)};
    case OpKind::kEmbedding:
      return {selected(call, *call.in[1], *call.in[0], 0)};
    default:
      return {gathered(call)};
  }
}

std::vector<Tensor> evaluate_scatter(const OpCall& call) {
  Tensor out = *call.in[0];
  const Tensor src = source_of(call);
  const Updates updates = updates_of(call, src);
  if (call.attrs.accumulate == Accumulate::kNone) {
    const size_t bytes = static_cast<size_t>(bytes_of(out.dtype));
    for (size_t i = 0; i < updates.to.size(); ++i)
      std::memcpy(out.data.data() + updates.to[i] * bytes_of(out.dtype), src.data.data() + updates.from[i] * bytes_of(out.dtype), bytes);
  } else if (is_float(out.dtype)) {
    accumulate<double>(out, src, updates, call.attrs.accumulate);
  } else {
    accumulate<int64_t>(out, src, updates, call.attrs.accumulate);
  }
  return {std::move(out)};
}

}  // namespace fusec::reference
