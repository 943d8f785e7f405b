#include "lower/widen.h"

#include <bit>

#include "graph/builder.h"
#include "segment/target.h"

namespace fusec {

namespace {

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
      : graph_(graph),
        builder_(graph),
        id_(id),
        op_(graph[id]),
        attrs_(graph.attrs(op_)),
        result_(graph[op_.out[0]]),
        first_(graph.ops.size()) {
    const bool floats = is_float(result_.dtype);
    wide_ = floats ? DType::kF32 : DType::kI32;
    suffix_ = floats ? ".f32" : ".i32";
    builder_.at = result_.at;
    if (schedule == ScatterSchedule::kAuto && pays_to_pad()) row_ = elems_of_row();
  }

  // The last of them goes under the scatter's own id.
  std::vector<OpId> ops() {
    const Operand &base = op_.in[0], &src = op_.in[2];
    const Operand start = row_ ? padded_start() : wide(base);
    Operand total = sum(start, !src.is_value() ? literal(src) : row_ ? padded(reshaped(wide(src), rows_of(src))) : wide(src));
    if (row_) total = reshaped(sliced(total), result_.shape);
    if (result_.dtype == DType::kF8E5M2) finish(OpKind::kBitcast, unless_same(row_ ? wide(base) : start, total));
    else finish(OpKind::kCast, total);
    std::vector<OpId> made;
    for (size_t i = first_; i < graph_.ops.size(); ++i) made.push_back(OpId(i));
    made.push_back(id_);
    return made;
  }

 private:
  int64_t elems_of_row() const { return element_count(result_.shape).value() / result_.shape[0].value(); }
  static int64_t padded_elems(int64_t row) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(row))); }

  bool pays_to_pad() const {
    if (op_.kind != OpKind::kIndexPut || attrs_.dim != 0 || attrs_.accumulate != Accumulate::kAdd || !op_.in[2].is_value()) return false;
    const Size elems = element_count(result_.shape), updates = element_count(graph_[op_.in[2].value].shape);
    if (!elems.is_constant() || elems.value() * bytes_of(wide_) < kLargeTarget) return false;
    if (!updates.is_constant() || updates.value() < elems.value()) return false;
    const int64_t row = elems_of_row();
    return padded_elems(row) != row && padded_elems(row) * bytes_of(wide_) <= kSectorBytes;
  }

  Operand add(OpKind kind, std::vector<Operand> in, const std::string& name, DType dtype, const Attrs* attrs = nullptr) {
    return operand(builder_.value(kind, std::move(in), name, attrs, dtype));
  }
  // The same of a value, called after it.
  Operand add_after(OpKind kind, const Operand& of, const std::string& suffix, DType dtype, const Attrs* attrs = nullptr) {
    return add(kind, {of}, graph_[of.value].name + suffix, dtype, attrs);
  }

  Operand wide(const Operand& o) { return add_after(OpKind::kCast, o, suffix_, wide_); }

  // As the wide op takes it.
  Operand literal(const Operand& o) const {
    const bool* truth = std::get_if<bool>(&o.literal->value);
    return truth ? operand(Literal{int64_t{*truth}}) : o;
  }

  Operand sum(const Operand& start, const Operand& src) {
    Attrs attrs = attrs_;
    if (result_.dtype == DType::kBool) attrs.accumulate = is_or(attrs.accumulate) ? Accumulate::kMax : Accumulate::kMin;
    builder_.origin = op_.origin.empty() ? graph_.name_of(id_) : op_.origin;
    const Operand made = add(op_.kind, {start, op_.in[1], src}, result_.name + suffix_, wide_, &attrs);
    builder_.origin.clear();
    return made;
  }

  Shape rows_of(const Operand& o) const { return {graph_[o.value].shape[0], Size(row_)}; }

  Operand reshaped(const Operand& o, const Shape& shape) {
    if (graph_[o.value].shape == shape) return o;
    Attrs attrs;
    attrs.shape = shape;
    return add_after(OpKind::kReshape, o, ".reshaped", wide_, &attrs);
  }

  Operand padded(const Operand& o) {
    Attrs attrs;
    attrs.low = {Size(0), Size(0)};
    attrs.high = {Size(0), Size(padded_elems(row_) - row_)};
    attrs.value = Literal{int64_t{0}};
    return add_after(OpKind::kPad, o, ".padded", wide_, &attrs);
  }

  // (What is full before is full beyond the rows, too.)
  Operand padded_start() {
    const Operand& base = op_.in[0];
    const OpId def = graph_[base.value].def;
    if (!def.valid() || graph_[def].kind != OpKind::kFull) return padded(reshaped(wide(base), rows_of(base)));
    Attrs attrs;
    attrs.shape = {result_.shape[0], Size(padded_elems(row_))};
    attrs.value = graph_.attrs(graph_[def]).value;
    return wide(add(OpKind::kFull, {}, graph_[base.value].name + ".padded", result_.dtype, &attrs));
  }

  Operand sliced(const Operand& o) {
    Attrs attrs;
    attrs.starts = {Size(0), Size(0)};
    attrs.stops = rows_of(o);
    attrs.steps = {1, 1};
    return add_after(OpKind::kSlice, o, ".sliced", wide_, &attrs);
  }

  // The bits of the result in a dtype in which a cast saturates infinities: what no update has changed keeps its own.
  Operand unless_same(const Operand& before, const Operand& total) {
    auto step = [&](OpKind kind, std::vector<Operand> in, const char* name, DType dtype) {
      return add(kind, std::move(in), result_.name + name, dtype);
    };
    const Operand rounded = step(OpKind::kCast, {total}, ".rounded", result_.dtype);
    const Operand bits_before = step(OpKind::kBitcast, {before}, ".bits_before", DType::kI32);
    const Operand bits_after = step(OpKind::kBitcast, {total}, ".bits_after", DType::kI32);
    const Operand same = step(OpKind::kEq, {bits_after, bits_before}, ".same", DType::kBool);  // (-0 and +0 are not)
    const Operand old_bits = step(OpKind::kBitcast, {op_.in[0]}, ".old_bits", DType::kU8);
    const Operand new_bits = step(OpKind::kBitcast, {rounded}, ".new_bits", DType::kU8);
    return step(OpKind::kWhere, {same, old_bits, new_bits}, ".bits", DType::kU8);
  }

  void finish(OpKind kind, const Operand& of) {
    graph_.ops[id_].kind = kind;
    graph_.ops[id_].in = {of};
    graph_.ops[id_].attrs = {};
  }

  Graph& graph_;
  Builder builder_;
  const OpId id_;
  const Op op_;
  const Attrs attrs_;
  const Value result_;
  const size_t first_;  // of the ops that are added
  DType wide_;
  std::string suffix_;
  int64_t row_ = 0;  // elements of a row that is padded
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
