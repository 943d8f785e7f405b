// y = scatter(x, index, src, mul) of floats  →  products in an order that the positions decide. Two forms:
//   multiply_all      x · Π over all updates of (index = place ? src : 1): a reduction. It compares each place along `dim` with each update
//   multiply_sorted   the updates sorted by their places, then neighbours at distances 1, 2, 4, … multiplied where their places agree; each
//                     update stores x times what its place's last one has
// In f64, so that factors of narrower types neither overflow nor vanish on the way.
#include "rewrite/deterministic.h"

namespace fusec {

namespace {

Size extent(const Shape& shape, size_t from, size_t to) {
  Size size = 1;
  for (size_t d = from; d < to; ++d) size *= shape[d];
  return size;
}

// What updates can reach, as [outer, along `dim`, inner].
struct Reach {
  explicit Reach(const ScatterSteps& s)
      : shape(s[s.kind == OpKind::kScatter ? s.index : s.x].shape),
        outer(extent(shape, 0, s.dim)),
        along(s[s.x].shape[s.dim]),
        inner(extent(shape, s.dim + 1, shape.size())) {
    shape[s.dim] = along;
  }
  Shape shape;
  Size outer, along, inner;
};

// v[i − distance] along `dim`, `before` where there is none.
ValueId shifted(ScatterSteps& s, const char* name, ValueId v, int64_t dim, int64_t distance, Literal before) {
  Attrs a;
  a.low.assign(s[v].shape.size(), 0);
  a.high = a.low;
  a.low[static_cast<size_t>(dim)] = distance;
  a.high[static_cast<size_t>(dim)] = -distance;
  a.value = before;
  return s.step(name, OpKind::kPad, {operand(v)}, &a);
}

}  // namespace

void multiply_all(ScatterSteps& s) {
  const Shape x_shape = s[s.x].shape;
  const bool slices = s.kind == OpKind::kIndexPut;
  const Reach r(s);
  Attrs a, places, over;
  a.shape = slices ? Shape{1, 1, s.updates, 1} : Shape{r.outer, 1, s.updates, r.inner};
  const ValueId to = s.step("to", OpKind::kReshape, {operand(s.index)}, &a);
  a.shape = {r.outer, 1, s.updates, r.inner};
  const ValueId factor = s.step("factor", OpKind::kReshape, {operand(s.cast("widened", s.source("src"), DType::kF64))}, &a);
  places.shape = {1, r.along, 1, 1};
  places.dim = 1;
  const ValueId place = s.step("place", OpKind::kIota, {}, &places, s[s.index].dtype);
  const ValueId hits = s.step("hits", OpKind::kEq, operand(to), operand(place));
  const ValueId factors = s.step("factors", OpKind::kWhere, {operand(hits), operand(factor), constant(1.0)});
  over.dims = {2};
  ValueId product = s.step("product", OpKind::kProd, {operand(factors)}, &over);
  a.shape = r.shape;
  product = s.step("product_at", OpKind::kReshape, {operand(product)}, &a);
  if (r.shape != x_shape) {
    Attrs pad;
    pad.low.assign(r.shape.size(), 0);
    for (size_t d = 0; d < r.shape.size(); ++d) pad.high.push_back(x_shape[d] - r.shape[d]);
    pad.value = Literal{1.0};
    product = s.step("product_or_1", OpKind::kPad, {operand(product)}, &pad);
  }
  const ValueId scaled = s.step("times_x", OpKind::kMul, operand(s.cast("x_widened", s.x, DType::kF64)), operand(product));
  // (which elements have updates: the scatter that tells also looks at the range of the indices)
  const ValueId touched = s.touched();
  s.last_where(touched, s.cast("rounded", scaled, s.dtype), s.x);
}

void multiply_sorted(ScatterSteps& s) {
  const bool slices = s.kind == OpKind::kIndexPut;
  const OpKind pick = slices ? OpKind::kIndexSelect : OpKind::kGather;
  Attrs along, across, order, none;
  along.dim = order.dim = none.dim = slices ? 0 : s.attrs.dim;  // of the index
  across.dim = s.attrs.dim;                                     // of src
  order.shape = none.shape = s[s.index].shape;
  none.value = Literal{int64_t{0}};
  const ValueId by_place = s.step("by_place", OpKind::kArgsort, {operand(s.index)}, &along);
  const ValueId places = s.step("places", pick, {operand(s.index), operand(by_place)}, &along);
  ValueId product = s.cast("widened", s.step("sorted", pick, {operand(s.source("src")), operand(by_place)}, &across), DType::kF64);
  for (int64_t distance = 1; distance < s.updates.value(); distance *= 2) {
    const ValueId before = shifted(s, "place_before", places, along.dim, distance, Literal{int64_t{-1}});
    ValueId same = s.step("same", OpKind::kEq, operand(places), operand(before));
    if (slices) {
      Attrs wide;
      wide.shape.assign(s[product].shape.size(), 1);
      wide.shape[s.dim] = s.updates;
      same = s.step("same_rows", OpKind::kReshape, {operand(same)}, &wide);
    }
    const ValueId earlier = shifted(s, "earlier", product, s.attrs.dim, distance, Literal{1.0});
    const ValueId factor = s.step("factor", OpKind::kWhere, {operand(same), operand(earlier), constant(1.0)});
    product = s.step("product", OpKind::kMul, operand(product), operand(factor));
  }
  const ValueId position = s.step("position", OpKind::kIota, {}, &order, DType::kI64);
  const ValueId start = s.step("start", OpKind::kFull, {}, &none, DType::kI64);
  const ValueId rank = s.step("rank", s.kind, {operand(start), operand(by_place), operand(position)}, &along);
  const ValueId whole = s.step("whole", pick, {operand(product), operand(s.last_of_element(rank))}, &across);
  const ValueId there = s.cast("x_widened", s.at_updates("x_there", s.x), DType::kF64);
  const ValueId scaled = s.step("times_x", OpKind::kMul, operand(there), operand(whole));
  s.last(s.kind, {operand(s.x), operand(s.index), operand(s.cast("rounded", scaled, s.dtype))}, &across);
}

}  // namespace fusec
