#include "lower/widen.h"

#include <bit>
#include <functional>

namespace fusec {

namespace {

constexpr int64_t kSectorElems = 8;                 // of 4 bytes
constexpr int64_t kLargeTarget = int64_t{1} << 20;  // bytes: no table in shared memory holds it

bool is_widened(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  return info(op.kind).category == OpCategory::kScatter && graph.attrs(op).accumulate != Accumulate::kNone &&
         bytes_of(graph[op.out[0]].dtype) <= 2;
}

// On bool, add and max are or; mul and min are and.
bool is_or(Accumulate how) { return how == Accumulate::kAdd || how == Accumulate::kMax; }

// The ops that take the place of one scatter.
class Widening {
 public:
  Widening(Graph& graph, OpId id, ScatterSchedule schedule)
      : graph_(graph), id_(id), op_(graph[id]), attrs_(graph.attrs(op_)), result_(graph[op_.out[0]]) {
    const bool floats = is_float(result_.dtype);
    wide_ = floats ? DType::kF32 : DType::kI32;
    suffix_ = floats ? ".f32" : ".i32";
    if (schedule == ScatterSchedule::kAuto && pays_to_pad()) row_ = elems_of_row();
  }

  // The last of them goes under the scatter's own id.
  std::vector<OpId> ops() {
    std::vector<Operand> in = op_.in;
    in[0] = row_ ? padded_start() : wide(in[0]);
    const Operand start = in[0];
    if (in[2].is_value()) in[2] = row_ ? padded(rows(wide(in[2])), Literal{int64_t{0}}) : wide(in[2]);
    Operand total = add(op_.kind, in, wide_, shape_of(in[0]), result_.name + suffix_, [&](Attrs& attrs) {
      attrs = attrs_;
      if (result_.dtype == DType::kBool) attrs.accumulate = is_or(attrs.accumulate) ? Accumulate::kMax : Accumulate::kMin;
    });
    graph_.ops[ops_.back()].origin = op_.origin.empty() ? graph_.name_of(id_) : op_.origin;
    if (row_) total = reshaped(sliced(total), result_.shape);
    if (result_.dtype == DType::kF8E5M2) finish(OpKind::kBitcast, unless_same(row_ ? wide(op_.in[0]) : start, total));
    else finish(OpKind::kCast, total);
    return std::move(ops_);
  }

 private:
  int64_t elems_of_row() const { return element_count(result_.shape).value() / result_.shape[0].value(); }
  static int64_t padded_elems(int64_t row) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(row))); }

  bool pays_to_pad() const {
    if (op_.kind != OpKind::kIndexPut || attrs_.dim != 0 || attrs_.accumulate != Accumulate::kAdd || !op_.in[2].is_value()) return false;
    const Size elems = element_count(result_.shape), updates = element_count(shape_of(op_.in[2]));
    if (!elems.is_constant() || elems.value() * bytes_of(wide_) < kLargeTarget) return false;
    if (!updates.is_constant() || updates.value() < elems.value()) return false;
    const int64_t row = elems_of_row();
    return padded_elems(row) != row && padded_elems(row) <= kSectorElems;
  }

  const Shape& shape_of(const Operand& o) const { return graph_[o.value].shape; }

  Operand add(OpKind kind, std::vector<Operand> in, DType dtype, Shape shape, std::string name,
              const std::function<void(Attrs&)>& set = {}) {
    Op op;
    op.kind = kind;
    op.in = std::move(in);
    Value value = result_;
    value.name = std::move(name);
    value.dtype = dtype;
    value.shape = std::move(shape);
    value.def = OpId(graph_.ops.size());
    value.result = 0;
    op.at = result_.at;
    const ValueId out = graph_.values.push(std::move(value));
    op.out = {out};
    if (set) set(graph_.make_attrs(op));
    ops_.push_back(graph_.ops.push(std::move(op)));
    return {out, std::nullopt};
  }

  // The name of what is made of a value.
  std::string name_of(const Operand& o, const std::string& suffix) const { return graph_[o.value].name + suffix; }

  Operand wide(const Operand& o) { return add(OpKind::kCast, {o}, wide_, shape_of(o), name_of(o, suffix_)); }

  Operand reshaped(const Operand& o, const Shape& shape) {
    if (shape_of(o) == shape) return o;
    return add(OpKind::kReshape, {o}, graph_[o.value].dtype, shape, name_of(o, ".reshaped"), [&](Attrs& attrs) { attrs.shape = shape; });
  }

  Operand rows(const Operand& o) { return reshaped(o, {shape_of(o)[0], Size(row_)}); }

  Operand padded(const Operand& o, const Literal& value) {
    const Size more(padded_elems(row_) - row_);
    Shape shape = shape_of(o);
    shape[1] = shape[1] + more;
    return add(OpKind::kPad, {o}, graph_[o.value].dtype, shape, name_of(o, ".padded"), [&](Attrs& attrs) {
      attrs.low = {Size(0), Size(0)};
      attrs.high = {Size(0), more};
      attrs.value = value;
    });
  }

  // (What is full before is full beyond the rows, too.)
  Operand padded_start() {
    const Operand& start = op_.in[0];
    const OpId def = graph_[start.value].def;
    if (!def.valid() || graph_[def].kind != OpKind::kFull) return padded(rows(wide(start)), Literal{int64_t{0}});
    const Shape shape{result_.shape[0], Size(padded_elems(row_))};
    const Literal value = graph_.attrs(graph_[def]).value;
    return wide(add(OpKind::kFull, {}, result_.dtype, shape, name_of(start, ".padded"),
                    [&](Attrs& attrs) { attrs.shape = shape, attrs.value = value; }));
  }

  Operand sliced(const Operand& o) {
    const Shape shape{shape_of(o)[0], Size(row_)};
    return add(OpKind::kSlice, {o}, wide_, shape, name_of(o, ".sliced"), [&](Attrs& attrs) {
      attrs.starts = {Size(0), Size(0)};
      attrs.stops = shape;
      attrs.steps = {1, 1};
    });
  }

  // The bits of the result in a dtype in which a cast saturates infinities: what no update has changed keeps its own.
  Operand unless_same(const Operand& before, const Operand& total) {
    const Shape& shape = result_.shape;
    const Operand rounded = add(OpKind::kCast, {total}, result_.dtype, shape, result_.name + ".rounded");
    const Operand bits_before = add(OpKind::kBitcast, {before}, DType::kI32, shape, result_.name + ".bits_before");
    const Operand bits_after = add(OpKind::kBitcast, {total}, DType::kI32, shape, result_.name + ".bits_after");
    const Operand same = add(OpKind::kEq, {bits_after, bits_before}, DType::kBool, shape, result_.name + ".same");  // (-0 and +0 are not)
    const Operand old_bits = add(OpKind::kBitcast, {op_.in[0]}, DType::kU8, shape, result_.name + ".old_bits");
    const Operand new_bits = add(OpKind::kBitcast, {rounded}, DType::kU8, shape, result_.name + ".new_bits");
    return add(OpKind::kWhere, {same, old_bits, new_bits}, DType::kU8, shape, result_.name + ".bits");
  }

  void finish(OpKind kind, const Operand& of) {
    graph_.ops[id_].kind = kind;
    graph_.ops[id_].in = {of};
    graph_.ops[id_].attrs = {};
    ops_.push_back(id_);
  }

  Graph& graph_;
  const OpId id_;
  const Op op_;
  const Attrs attrs_;
  const Value result_;
  DType wide_;
  std::string suffix_;
  int64_t row_ = 0;  // elements of a row that is padded
  std::vector<OpId> ops_;
};

}  // namespace

void widen_scatters(Graph& graph, Segmentation& segmentation, ScatterSchedule schedule) {
  for (Segment& segment : segmentation.segments)
    for (auto* list : {&segment.ops, &segment.recomputed}) {
      std::vector<OpId> ops;
      for (OpId id : *list) {
        if (!is_widened(graph, id)) ops.push_back(id);
        else
          for (OpId made : Widening(graph, id, schedule).ops()) ops.push_back(made);
      }
      *list = std::move(ops);
    }
}

}  // namespace fusec
