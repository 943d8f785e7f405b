#include "graphs.h"

namespace fusec::testing {

namespace {

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed), build_(graph_) {
    graph_.name = "random";
    const int64_t sets[3][3] = {{3, 8, 16}, {16, 2048, 512}, {64, 128, 4096}};
    std::copy_n(sets[seed % 3], 3, axes_);
  }

  Graph make(size_t ops) {
    for (int i = 0; i < 3; ++i) {
      Shape shape;
      for (size_t d = pick(3); d < 3; ++d) shape.push_back(pick(4) ? axes_[d] : 1);
      values_.push_back(build_.input("x" + std::to_string(i), dtype(), shape));
    }
    while (graph_.ops.size() < ops) add();
    std::set<uint32_t> outputs{values_.back().index};
    for (int i = 0; i < 3; ++i) outputs.insert(values_[3 + pick(values_.size() - 3)].index);
    for (uint32_t v : outputs) build_.output(ValueId(v));
    verify(graph_);
    return graph_;
  }

 private:
  size_t pick(size_t n) { return random_() % n; }
  DType dtype() {
    constexpr DType types[] = {DType::kBF16, DType::kBF16, DType::kF16, DType::kF32, DType::kF64, DType::kF8E4M3};
    return types[pick(6)];
  }
  ValueId any() {
    return pick(3) ? values_[values_.size() - 1 - pick(std::min<size_t>(values_.size(), 8))] : values_[pick(values_.size())];
  }
  void push(OpKind kind, std::vector<Operand> in, const Attrs* attrs = nullptr, DType type = DType::kF32) {
    values_.push_back(build_.value(kind, std::move(in), "t" + std::to_string(graph_.ops.size()), attrs, type));
  }

  void add() {
    const ValueId v = any();
    const Shape shape = graph_[v].shape;
    const DType type = graph_[v].dtype;
    if (!is_float(type)) return push(OpKind::kCast, {operand(v)}, nullptr, DType::kF32);
    Attrs a;
    switch (pick(12)) {
      case 0:
      case 1:
        return push(OpKind::kCast, {operand(v)}, nullptr, dtype());
      case 2:
        return push(pick(2) ? OpKind::kTanh : OpKind::kNeg, {operand(v)});
      case 3:
        return push(OpKind::kGt, {operand(v), operand(Literal{0.5})});
      case 4:
      case 5:
        for (ValueId w : values_) {
          if (graph_[w].dtype != type || w == v || pick(2)) continue;
          const Shape& other = graph_[w].shape;
          bool fits = true;
          for (size_t d = 1; d <= std::min(shape.size(), other.size()); ++d) {
            const Size &p = shape[shape.size() - d], &q = other[other.size() - d];
            fits &= p == q || p.is(1) || q.is(1);
          }
          if (fits) return push(OpKind::kMul, {operand(v), operand(w)});
        }
        return push(OpKind::kMul, {operand(v), operand(v)});
      case 6:
      case 7: {
        for (size_t d = 0; d < shape.size(); ++d)
          if (pick(2)) a.dims.push_back(static_cast<int64_t>(d));
        a.keepdim = pick(2);
        return push(pick(2) ? OpKind::kSum : OpKind::kMax, {operand(v)}, &a);
      }
      case 8:
        if (shape.empty()) return;
        a.dim = static_cast<int64_t>(pick(shape.size()));
        return push(OpKind::kCumsum, {operand(v)}, &a);
      case 9:
        for (size_t d = 0; d < shape.size(); ++d) a.perm.push_back(static_cast<int64_t>(d));
        std::shuffle(a.perm.begin(), a.perm.end(), random_);
        return push(OpKind::kPermute, {operand(v)}, &a);
      case 10:
        a.shape = {element_count(shape)};
        return push(OpKind::kReshape, {operand(v)}, &a);
      default:
        if (shape.empty()) return;
        a.low.assign(shape.size(), 0);
        a.high.assign(shape.size(), 0);
        a.high.back() = 3;
        a.value = Literal{0.0};
        return push(OpKind::kPad, {operand(v)}, &a);
    }
  }

  std::mt19937 random_;
  Graph graph_;
  Builder build_;
  int64_t axes_[3];
  std::vector<ValueId> values_;
};

}  // namespace

Graph random_graph(unsigned seed, size_t ops) { return RandomGraph(seed).make(ops); }

}  // namespace fusec::testing
