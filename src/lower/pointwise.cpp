#include "lower/pointwise.h"

#include <algorithm>

#include "lower/schedule.h"
#include "lower/split_dims.h"
#include "support/check.h"

namespace fusec {

namespace {

// Builds the expressions of one part over dimensions that are split on demand.
class PartBuilder {
 public:
  PartBuilder(const KernelInput& input, std::vector<const KernelInput::Stored*> stores)
      : input_(input), stores_(std::move(stores)), dims_(shape()) {}

  // One variable per dimension, split until no quotient or remainder of a variable is left that a split removes. A small variable
  // that decides which operand of a cat is meant is not kept: every thread computes all its values, so that what two of them
  // read is read once (both halves of a rotary embedding).
  Part build_split() {
    while (true) {
      Part part(input_.graph.symbols);
      std::vector<Factor> origin;  // of each variable
      std::vector<Index> indices = dims_.make(part, "i", part.dims, origin);
      const AtomId unrolled = find_unrolled(origin);
      trace(part, indices, unrolled);
      if (const auto& split = part.space.wanted_split()) {
        apply_split(origin[split->variable.index], split->inner);
      } else if (!unrolled_ && (unrolled_ = decides_selection(part, origin))) {
        continue;
      } else {
        if (unrolled.valid()) part.copies = static_cast<int>(part.space.extent(unrolled).value());
        std::erase(part.dims, unrolled);
        order_dims(part);
        return part;
      }
    }
  }

  // One variable over all elements in row-major order; what is not contiguous takes quotients and remainders of it.
  Part build_linear() {
    Part part(input_.graph.symbols);
    const AtomId v = part.space.add_variable("i0", element_count(shape()));
    part.dims.push_back(v);
    std::vector<Index> indices(shape().size());
    Index rest = part.space.variable(v);
    for (size_t d = shape().size(); d-- > 0;) {
      if (shape()[d].is(1)) continue;
      indices[d] = part.space.remainder(rest, shape()[d]);
      rest = part.space.quotient(rest, shape()[d]);
    }
    trace(part, indices, {});
    return part;
  }

 private:
  using Factor = SplitDims::Factor;

  AtomId find_unrolled(const std::vector<Factor>& origin) const {
    if (!unrolled_) return {};
    return AtomId(static_cast<size_t>(std::find(origin.begin(), origin.end(), *unrolled_) - origin.begin()));
  }

  void apply_split(const Factor& at, const Size& inner) {
    dims_.split(at, inner);
    if (unrolled_ && unrolled_->dim == at.dim && unrolled_->position >= at.position) ++unrolled_->position;
  }

  // A variable of few values, each of which settles a selection that is open without it.
  static std::optional<Factor> decides_selection(Part& part, const std::vector<Factor>& origin) {
    for (const Node& n : part.nodes) {
      if (part.list || n.kind != Node::kSelect || part.nodes.size() > 256) continue;
      for (AtomId v : part.dims) {
        const Size extent = part.space.extent(v);
        if (!extent.is_constant() || extent.value() > 4) continue;
        bool settled = true;
        for (const Index& g : n.guard)
          for (int64_t c = 0; c < extent.value() && settled; ++c) {
            const Index at = part.space.substitute(g, {{v, Index(c)}});
            settled = part.space.is_nonnegative(at) || part.space.is_negative(at);
          }
        if (settled) return origin[v.index];
      }
    }
    return std::nullopt;
  }

  const Shape& shape() const { return input_.graph[stores_[0]->value].shape; }

  void trace(Part& part, const std::vector<Index>& indices, AtomId unrolled) {
    Tracer tracer(input_.graph, input_.computed, input_.place, input_.check, part, nullptr, input_.list);
    const int64_t copies = unrolled.valid() ? part.space.extent(unrolled).value() : 1;
    for (int64_t c = 0; c < copies; ++c) {
      std::vector<Index> here = indices;
      if (unrolled.valid())
        for (Index& i : here) i = part.space.substitute(i, {{unrolled, Index(c)}});
      for (const auto* stored : stores_) {
        const Shape& own = input_.graph[stored->value].shape;
        std::vector<Index> at = own == shape() ? here : match_rank(here, own);
        Store store = store_at(*stored, at, part.space);
        store.value = tracer.value_at(stored->value, std::move(at));
        part.stores.push_back(std::move(store));
      }
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
  static void order_dims(Part& part) {
    auto stride = [&](AtomId v) { return part.stores[0].index.coefficient(v); };
    if (std::all_of(part.dims.begin(), part.dims.end(), [&](AtomId v) { return stride(v).is_constant() && !stride(v).is(0); }))
      std::stable_sort(part.dims.begin(), part.dims.end(), [&](AtomId a, AtomId b) { return stride(a).value() > stride(b).value(); });
  }

  const KernelInput& input_;
  std::vector<const KernelInput::Stored*> stores_;
  SplitDims dims_;
  std::optional<Factor> unrolled_;
};

Shape without_ones(const Shape& shape) {
  Shape out;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(out), [](const Size& s) { return !s.is(1); });
  return out;
}

}  // namespace

void lower_pointwise(const KernelInput& input, Kernel& kernel) {
  std::vector<std::pair<Shape, std::vector<const KernelInput::Stored*>>> groups;
  for (const auto& stored : input.stores) {
    Shape key = without_ones(input.graph[stored.value].shape);
    if (std::any_of(key.begin(), key.end(), [](const Size& s) { return s.is(0); })) continue;  // nothing to store
    auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
    if (it == groups.end()) it = groups.insert(groups.end(), {std::move(key), {}});
    it->second.push_back(&stored);
  }
  for (auto& [shape, stores] : groups) {
    PartBuilder builder(input, stores);
    Part part = builder.build_split();
    merge_dims(part);
    if (!part.list && wants_linear(part, kernel)) part = builder.build_linear();
    kernel.parts.push_back(std::move(part));
  }
  schedule_parts(input.graph, input.target, kernel);
}

}  // namespace fusec
