// y = softmax(x)  →  y.max = max(x), y.sub = sub(x, y.max), y.exp = exp(y.sub), y.sum = sum(y.exp), y = div(y.exp, y.sum)
// Stands first: nothing after it knows a composite. Operands of f8, f16 and bf16 are cast up, computed in f32 and cast down.
#include <algorithm>

#include "graph/builder.h"
#include "graph/derived.h"
#include "rewrite/fresh_names.h"
#include "rewrite/rebuild.h"
#include "rewrite/rewrite.h"

namespace fusec {

namespace {

// The expansion of one op. Steps are named RESULT.step; `last` makes the op that keeps the result's name.
class Expansion {
 public:
  Expansion(Rebuild& rebuild, const Op& op, FreshNames& names)
      : op_(op),
        attrs_(rebuild.from.attrs(op)),
        rebuild_(rebuild),
        builder_(rebuild.to),
        names_(names),
        name_(rebuild.from[op.out[0]].name),
        dtype_(rebuild.from[op.out[0]].dtype),
        type_(computing_type(dtype_)) {
    builder_.at = op.at;
  }

  void run();

 private:
  bool has(size_t i) const { return i < op_.in.size() && op_.in[i].is_value(); }
  ValueId raw(size_t i) const { return rebuild_.mapped(op_.in[i].value); }
  Shape shape(size_t i) const { return rebuild_.to[raw(i)].shape; }  // a copy: steps push values

  std::string fresh(const std::string& step) { return names_.take(name_ + "." + step); }
  ValueId step(const char* name, OpKind kind, std::vector<Operand> in, const Attrs* attrs = nullptr, DType dtype = DType::kF32) {
    builder_.origin = name_;
    return builder_.value(kind, std::move(in), fresh(name), attrs, dtype);
  }
  ValueId step(const char* name, OpKind kind, ValueId a, ValueId b) { return step(name, kind, {operand(a), operand(b)}); }
  ValueId step(const char* name, OpKind kind, ValueId a, double b) { return step(name, kind, {operand(a), operand(Literal{b})}); }
  ValueId step(const char* name, OpKind kind, ValueId a) { return step(name, kind, std::vector<Operand>{operand(a)}); }

  // Operand i in the computing type.
  ValueId wide(size_t i, const char* name) {
    const ValueId v = raw(i);
    return rebuild_.to[v].dtype == type_ ? v : step(name, OpKind::kCast, {operand(v)}, nullptr, type_);
  }
  void last(const char* name, OpKind kind, std::vector<Operand> in, const Attrs* attrs = nullptr) {
    if (dtype_ != type_) {
      in = {operand(step(name, kind, std::move(in), attrs))};
      kind = OpKind::kCast;
      attrs = nullptr;
    }
    builder_.origin.clear();  // it is the op as written
    rebuild_.map(op_.out[0], builder_.value(kind, std::move(in), name_, attrs, dtype_));
  }
  void last(const char* name, OpKind kind, ValueId a, ValueId b) { last(name, kind, {operand(a), operand(b)}); }

  Attrs over(std::vector<int64_t> dims) const {
    Attrs a;
    a.dims = std::move(dims);
    a.keepdim = true;
    return a;
  }
  // A value of the norm's dims, made to broadcast against x.
  ValueId along(ValueId v, const Shape& x, const std::vector<int64_t>& dims, const char* name);
  void scale_and_shift(ValueId normalized, const Shape& x, const std::vector<int64_t>& dims);

  void softmax();
  void log_softmax();
  void layer_norm();
  void rms_norm();
  void group_norm();
  void rope();
  void dropout();
  void cross_entropy();

  const Op& op_;
  const Attrs& attrs_;
  Rebuild& rebuild_;
  Builder builder_;
  FreshNames& names_;
  const std::string& name_;
  DType dtype_, type_;  // of the result, and the type it is computed in
};

// e / Σ e with e = exp(x − max x)
void Expansion::softmax() {
  const ValueId x = wide(0, "x");
  const Attrs dims = over({attrs_.dim});
  const ValueId greatest = step("max", OpKind::kMax, {operand(x)}, &dims);
  const ValueId e = step("exp", OpKind::kExp, step("sub", OpKind::kSub, x, greatest));
  last("div", OpKind::kDiv, e, step("sum", OpKind::kSum, {operand(e)}, &dims));
}

// d − log Σ exp d with d = x − max x
void Expansion::log_softmax() {
  const ValueId x = wide(0, "x");
  const Attrs dims = over({attrs_.dim});
  const ValueId d = step("sub", OpKind::kSub, x, step("max", OpKind::kMax, {operand(x)}, &dims));
  const ValueId sum = step("sum", OpKind::kSum, {operand(step("exp", OpKind::kExp, d))}, &dims);
  last("logp", OpKind::kSub, d, step("log", OpKind::kLog, sum));
}

ValueId Expansion::along(ValueId v, const Shape& x, const std::vector<int64_t>& dims, const char* name) {
  const auto rank = static_cast<int64_t>(x.size()), count = static_cast<int64_t>(dims.size());
  if (dims.empty() || (dims.front() == rank - count && dims.back() == rank - 1)) return v;
  Attrs a;
  a.shape.assign(x.size(), 1);
  for (int64_t d : dims) a.shape[static_cast<size_t>(d)] = x[static_cast<size_t>(d)];
  return step(name, OpKind::kReshape, {operand(v)}, &a);
}

// normalized · weight + bias, either of which may be missing.
void Expansion::scale_and_shift(ValueId y, const Shape& x, const std::vector<int64_t>& dims) {
  const bool bias = op_.kind != OpKind::kRmsNorm && has(2);
  if (has(1)) {
    const ValueId weight = along(wide(1, "weight"), x, dims, "weight_along");
    if (!bias) return last("scale", OpKind::kMul, y, weight);
    y = step("scale", OpKind::kMul, y, weight);
  }
  last("shift", OpKind::kAdd, y, along(wide(2, "bias"), x, dims, "bias_along"));
}

// (x − mean) · rsqrt(var + eps) · weight + bias; var without correction
void Expansion::layer_norm() {
  const ValueId x = wide(0, "x");
  Attrs dims = over(attrs_.dims);
  dims.correction = 0;
  builder_.origin = name_;
  const OpId moments = builder_.op(OpKind::kVarMean, {operand(x)}, {fresh("var"), fresh("mean")}, &dims);
  const ValueId var = rebuild_.to[moments].out[0], mean = rebuild_.to[moments].out[1];
  const ValueId centred = step("sub", OpKind::kSub, x, mean);
  const ValueId rstd = step("rsqrt", OpKind::kRsqrt, step("eps", OpKind::kAdd, var, attrs_.eps));
  if (!has(1) && !has(2)) return last("norm", OpKind::kMul, centred, rstd);
  scale_and_shift(step("norm", OpKind::kMul, centred, rstd), shape(0), attrs_.dims);
}

// x · rsqrt(mean x² + eps) · weight
void Expansion::rms_norm() {
  const ValueId x = wide(0, "x");
  const Attrs dims = over(attrs_.dims);
  const ValueId square = step("mean", OpKind::kMean, {operand(step("square", OpKind::kMul, x, x))}, &dims);
  const ValueId rstd = step("rsqrt", OpKind::kRsqrt, step("eps", OpKind::kAdd, square, attrs_.eps));
  if (!has(1)) return last("norm", OpKind::kMul, x, rstd);
  scale_and_shift(step("norm", OpKind::kMul, x, rstd), shape(0), attrs_.dims);
}

// As layer_norm over each group of channels: [N, C, …] is seen as [N, groups, the rest].
void Expansion::group_norm() {
  const Shape x_shape = shape(0);
  const Size inner = element_count(Shape(x_shape.begin() + 1, x_shape.end()));
  Attrs grouped, back, dims = over({2});
  grouped.shape = {x_shape[0], attrs_.groups, quotient(rebuild_.to.symbols, inner, attrs_.groups, name_)};
  back.shape = x_shape;
  dims.correction = 0;
  const ValueId x = step("groups", OpKind::kReshape, {operand(wide(0, "x"))}, &grouped);
  builder_.origin = name_;
  const OpId moments = builder_.op(OpKind::kVarMean, {operand(x)}, {fresh("var"), fresh("mean")}, &dims);
  const ValueId var = rebuild_.to[moments].out[0], mean = rebuild_.to[moments].out[1];
  const ValueId centred = step("sub", OpKind::kSub, x, mean);
  const ValueId rstd = step("rsqrt", OpKind::kRsqrt, step("eps", OpKind::kAdd, var, attrs_.eps));
  const ValueId norm = step("norm", OpKind::kMul, centred, rstd);
  if (!has(1) && !has(2)) return last("ungroup", OpKind::kReshape, {operand(norm)}, &back);
  scale_and_shift(step("ungroup", OpKind::kReshape, {operand(norm)}, &back), x_shape, {1});
}

// x · cos + [−x₂, x₁] · sin, x₁ and x₂ the halves of the last dimension
void Expansion::rope() {
  const ValueId x = wide(0, "x");
  const Shape full = shape(0);
  Attrs low, high, cat;
  low.starts.assign(full.size(), 0);
  low.stops = full;
  high.starts = low.starts;
  high.stops = full;
  low.stops.back() = high.starts.back() = quotient(rebuild_.to.symbols, full.back(), 2, name_);
  cat.dim = static_cast<int64_t>(full.size()) - 1;
  const ValueId x1 = step("low", OpKind::kSlice, {operand(x)}, &low);
  const ValueId x2 = step("high", OpKind::kSlice, {operand(x)}, &high);
  const ValueId rotated = step("rotated", OpKind::kCat, {operand(step("neg", OpKind::kNeg, x2)), operand(x1)}, &cat);
  const ValueId by_cos = step("by_cos", OpKind::kMul, x, wide(1, "cos"));
  last("add", OpKind::kAdd, by_cos, step("by_sin", OpKind::kMul, rotated, wide(2, "sin")));
}

// where(uniform ≥ p, x / (1 − p), 0)
void Expansion::dropout() {
  Attrs random;
  random.shape = shape(0);
  random.seed = attrs_.seed;
  random.stream = attrs_.stream;
  const ValueId keep = step("keep", OpKind::kGe, step("uniform", OpKind::kUniform, {}, &random, DType::kF32), attrs_.p);
  const ValueId scaled = step("scaled", OpKind::kMul, wide(0, "x"), attrs_.p < 1 ? 1 / (1 - attrs_.p) : 0.0);
  last("where", OpKind::kWhere, {operand(keep), operand(scaled), operand(Literal{0.0})});
}

// logsumexp(logits) − logits[target]
void Expansion::cross_entropy() {
  const auto classes = static_cast<int64_t>(shape(0).size()) - 1;
  Attrs dim, dims;
  dim.dim = classes;
  dims.dims = {classes};
  const ValueId index = step("index", OpKind::kUnsqueeze, {operand(raw(1))}, &dims);
  const ValueId column = step("picked", OpKind::kGather, {operand(raw(0)), operand(index)}, &dim);
  ValueId picked = step("logit", OpKind::kSqueeze, {operand(column)}, &dims);
  if (rebuild_.to[picked].dtype != type_) picked = step("logit_wide", OpKind::kCast, {operand(picked)}, nullptr, type_);
  last("loss", OpKind::kSub, step("logsumexp", OpKind::kLogsumexp, {operand(wide(0, "x"))}, &dims), picked);
}

void Expansion::run() {
  // A softmax over nothing has no maximum, and nothing to compute.
  const bool softmax_like = op_.kind == OpKind::kSoftmax || op_.kind == OpKind::kLogSoftmax;
  if (softmax_like && shape(0)[static_cast<size_t>(attrs_.dim)].is(0)) {
    type_ = dtype_;
    return last("copy", OpKind::kCopy, {operand(raw(0))});
  }
  switch (op_.kind) {
    case OpKind::kSoftmax:
      return softmax();
    case OpKind::kLogSoftmax:
      return log_softmax();
    case OpKind::kLayerNorm:
      return layer_norm();
    case OpKind::kRmsNorm:
      return rms_norm();
    case OpKind::kGroupNorm:
      return group_norm();
    case OpKind::kRope:
      return rope();
    case OpKind::kDropout:
      return dropout();
    default:
      return cross_entropy();
  }
}

}  // namespace

Graph expand_composites(Graph graph, RewriteLog&) {
  const auto is_composite = [](const Op& op) { return info(op.kind).category == OpCategory::kComposite; };
  if (std::none_of(graph.ops.begin(), graph.ops.end(), is_composite)) return graph;
  FreshNames names(graph);
  Rebuild rebuild(std::move(graph));
  for (size_t i = 0; i < rebuild.from.ops.size(); ++i) {
    const Op& op = rebuild.from[OpId(i)];
    if (is_composite(op)) Expansion(rebuild, op, names).run();
    else rebuild.move(OpId(i));
  }
  return rebuild.finish();
}

}  // namespace fusec
