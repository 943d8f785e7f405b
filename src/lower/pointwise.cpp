#include "lower/pointwise.h"

#include <algorithm>

#include "lower/schedule.h"
#include "support/check.h"

namespace fusec {

namespace {

// Builds the expressions of one part over dimensions that are split on demand.
class PartBuilder {
 public:
  PartBuilder(const PointwiseInput& input, const Kernel& kernel, std::vector<const PointwiseInput::Stored*> stores)
      : input_(input), kernel_(kernel), stores_(std::move(stores)) {
    for (const Size& extent : shape()) factors_.push_back({extent});
  }

  // One variable per dimension, split until no quotient or remainder of a variable is left that a split removes.
  Part build_split() {
    while (true) {
      Part part(input_.graph.symbols);
      std::vector<std::pair<size_t, size_t>> origin;  // of each variable: dimension, factor
      std::vector<Index> indices;
      for (size_t d = 0; d < factors_.size(); ++d) {
        Index sum;
        Size stride = 1;
        for (size_t f = factors_[d].size(); f-- > 0;) {
          const Size& extent = factors_[d][f];
          if (extent.is(1)) continue;
          const AtomId v = part.space.add_variable("i" + std::to_string(d) + (factors_[d].size() > 1 ? std::string(1, static_cast<char>('a' + f)) : ""), extent);
          origin.emplace_back(d, f);
          part.dims.push_back(v);
          sum = sum + part.space.variable(v) * stride;
          stride *= extent;
        }
        indices.push_back(std::move(sum));
      }
      trace(part, indices);
      const auto& split = part.space.wanted_split();
      if (!split) {
        order_dims(part, origin);
        return part;
      }
      const auto [d, f] = origin[split->variable.index];
      const Size outer = *factors_[d][f].exact_quotient(split->inner);
      factors_[d][f] = split->inner;
      factors_[d].insert(factors_[d].begin() + static_cast<std::ptrdiff_t>(f), outer);
    }
  }

  // One variable over all elements in row-major order; what is not contiguous takes quotients and remainders of it.
  Part build_linear() {
    Part part(input_.graph.symbols);
    const AtomId v = part.space.add_variable("i", element_count(shape()));
    part.dims.push_back(v);
    std::vector<Index> indices(shape().size());
    Index rest = part.space.variable(v);
    for (size_t d = shape().size(); d-- > 0;) {
      if (shape()[d].is(1)) continue;
      indices[d] = part.space.remainder(rest, shape()[d]);
      rest = part.space.quotient(rest, shape()[d]);
    }
    trace(part, indices);
    return part;
  }

 private:
  const Shape& shape() const { return input_.graph[stores_[0]->value].shape; }

  void trace(Part& part, const std::vector<Index>& indices) {
    Tracer tracer(input_.graph, input_.computed, input_.place, part);
    for (const auto* stored : stores_) {
      const Shape& own = input_.graph[stored->value].shape;
      std::vector<Index> at = own == shape() ? indices : match_rank(indices, own);
      Store store;
      store.buffer = stored->buffer;
      for (size_t d = 0; d < at.size(); ++d) store.index = store.index + at[d] * stored->strides[d];
      store.index = part.space.simplify(std::move(store.index));
      store.value = tracer.value_at(stored->value, std::move(at));
      part.stores.push_back(std::move(store));
    }
  }

  // Indices of a shape that differs from this part's in dimensions of size 1 only.
  std::vector<Index> match_rank(const std::vector<Index>& indices, const Shape& own) const {
    std::vector<Index> out;
    size_t next = 0;
    for (const Size& extent : own) {
      if (extent.is(1)) {
        out.emplace_back();
        continue;
      }
      while (shape()[next].is(1)) ++next;
      out.push_back(indices[next++]);
    }
    return out;
  }

  // Outer to inner as the first store lies in memory.
  void order_dims(Part& part, const std::vector<std::pair<size_t, size_t>>& origin) const {
    auto by_origin = [&](AtomId a, AtomId b) { return origin[a.index] < origin[b.index]; };
    std::stable_sort(part.dims.begin(), part.dims.end(), by_origin);
    auto stride = [&](AtomId v) { return part.stores[0].index.coefficient(v); };
    if (std::all_of(part.dims.begin(), part.dims.end(), [&](AtomId v) { return stride(v).is_constant() && !stride(v).is(0); }))
      std::stable_sort(part.dims.begin(), part.dims.end(), [&](AtomId a, AtomId b) { return stride(a).value() > stride(b).value(); });
  }

  const PointwiseInput& input_;
  const Kernel& kernel_;
  std::vector<const PointwiseInput::Stored*> stores_;
  std::vector<std::vector<Size>> factors_;  // per dimension, outer to inner
};

Shape without_ones(const Shape& shape) {
  Shape out;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(out), [](const Size& s) { return !s.is(1); });
  return out;
}

}  // namespace

void lower_pointwise(const PointwiseInput& input, Kernel& kernel) {
  std::vector<std::pair<Shape, std::vector<const PointwiseInput::Stored*>>> groups;
  for (const auto& stored : input.stores) {
    Shape key = without_ones(input.graph[stored.value].shape);
    if (std::any_of(key.begin(), key.end(), [](const Size& s) { return s.is(0); })) continue;  // nothing to store
    auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
    if (it == groups.end()) it = groups.insert(groups.end(), {std::move(key), {}});
    it->second.push_back(&stored);
  }
  for (auto& [shape, stores] : groups) {
    PartBuilder builder(input, kernel, stores);
    Part part = builder.build_split();
    merge_dims(part);
    if (wants_linear(part, kernel)) part = builder.build_linear();
    kernel.parts.push_back(std::move(part));
  }
  schedule_parts(input.graph, input.target, kernel);
}

}  // namespace fusec
