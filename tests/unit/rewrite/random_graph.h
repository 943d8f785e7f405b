// Random valid graphs of elementwise, cast, shape, creation and reduction ops, full of literals, constants and equal ops.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "graph/builder.h"

namespace fusec {

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {}

  Graph make(size_t ops) {
    Builder builder(graph_);
    for (const char* name : {"x", "y", "z"}) values_.push_back(builder.input(name, dtype(), {2, 3}));
    while (graph_.ops.size() < ops) try_op();
    for (size_t i = 0; i < 4; ++i) output(values_[pick(values_.size())], i);
    return graph_;
  }

 private:
  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  DType dtype() { return static_cast<DType>(pick(kDTypeCount)); }

  Literal literal() {
    static const Literal kLiterals[] = {{0.0},
                                        {-0.0},
                                        {1.0},
                                        {0.1},
                                        {-3.0},
                                        {1e30},
                                        {int64_t{0}},
                                        {int64_t{1}},
                                        {int64_t{-1}},
                                        {int64_t{3}},
                                        {true},
                                        {false},
                                        {std::numeric_limits<double>::infinity()}};
    return kLiterals[pick(std::size(kLiterals))];
  }

  Attrs attributes(OpKind kind, const Shape& shape) {
    Attrs a = default_attrs(kind);
    a.shape = pick(2) ? shape : Shape{3, 2};
    a.value = literal();
    if (pick(2)) a.perm = {1, 0};
    if (a.dims.empty()) a.dims = {static_cast<int64_t>(pick(2))};
    a.starts = Shape(shape.size(), 0);
    a.stops = shape;
    a.low = a.high = Shape(shape.size(), static_cast<int64_t>(pick(2)));
    a.seed = pick(2);
    if (info(kind).category == OpCategory::kReduction) a.dims = {1}, a.keepdim = true;
    return a;
  }

  // Appends an op of any kind on any values; takes it back when it breaks a rule.
  void try_op() {
    const auto kind = static_cast<OpKind>(pick(static_cast<size_t>(OpKind::kCount)));
    const OpInfo& row = info(kind);
    if (row.category > OpCategory::kReduction || row.results != 1) return;
    const size_t values = graph_.values.size(), attributes_before = graph_.attributes.size();
    Op op;
    op.kind = kind;
    Shape shape{2, 3};
    const int operands = row.max_operands < 0 ? 2 : row.max_operands;
    for (int i = 0; i < operands; ++i) {
      op.in.push_back(pick(4) ? operand(values_[pick(values_.size())]) : operand(literal()));
      if (op.in.back().is_value()) shape = graph_[op.in.back().value].shape;
    }
    if (!row.attributes.empty() && row.category != OpCategory::kConvert) op.attrs = graph_.attributes.push(attributes(kind, shape));
    const OpId id(graph_.ops.size());
    op.out = {graph_.values.push({"t" + std::to_string(id.index), dtype(), {}, id, 0, {}})};
    graph_.ops.push(op);
    Diagnostics diagnostics;
    if (infer_op(graph_, id, diagnostics)) {
      values_.push_back(op.out[0]);
    } else {
      graph_.ops.resize(id.index);
      graph_.values.resize(values);
      graph_.attributes.resize(attributes_before);
    }
  }

  void output(ValueId value, size_t i) {
    Output output;
    output.value = value;
    output.name = "out" + std::to_string(i);
    graph_.outputs.push_back(output);
  }

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<ValueId> values_;
};

}  // namespace fusec
