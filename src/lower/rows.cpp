#include "lower/rows.h"

#include <algorithm>
#include <set>

#include "kernel/visit.h"
#include "lower/split_dims.h"
#include "support/check.h"

namespace fusec {

namespace {

using Stored = KernelInput::Stored;

Size elements(const KernelInput& input, const Stored* s) { return element_count(input.graph[s->value].shape); }

// Builds one part from the shape of its first store: those of the shape's variables that some reduction keeps are its rows, the others
// tell the positions of a row apart.
class RowBuilder {
 public:
  RowBuilder(const KernelInput& input, const Stored* root, bool known_means)
      : input_(&input), root_(root), shape_(input.graph[root->value].shape), known_means_(known_means), dims_(shape_) {}
  // Rows by what `columns` reduce.
  RowBuilder(const KernelInput& input, const std::vector<OpId>& columns)
      : input_(&input),
        shape_(input.graph[input.graph[columns[0]].in[0].value].shape),
        known_means_(true),
        dims_(shape_),
        columns_(columns) {}

  // False where the store needs no reduction.
  bool discover();
  // The part that stores the root and those of `others` that it can store too; these are taken from the list. Not after a refusal.
  Part build(std::vector<const Stored*>& others);
  Part build_with_columns(const std::vector<Stored>& stores);
  // The same part with those of `others` that it can store too.
  Part join(Part part, std::vector<const Stored*>& others);
  OpId refused() const { return refused_; }

 private:
  void trace(Part& part, const std::vector<const Stored*>& stores, const std::vector<Index>& root_indices, RowTrace& rows);
  bool apply_split(const Part& part, const std::vector<SplitDims::Factor>& origin);
  Part build_for(const std::vector<const Stored*>& stores);
  std::vector<Index> indices_of(Part& part, const std::vector<AtomId>& variables, const Shape& shape) const;

  const KernelInput* input_;
  const Stored* root_ = nullptr;
  Shape shape_;
  bool known_means_;
  SplitDims dims_;
  std::vector<OpId> columns_;
  std::optional<SplitDims> positions_;  // where the root is one element a row: of the largest reduction
  std::vector<bool> is_row_;            // per variable of the root
  OpId refused_;
  std::vector<const Stored*> stores_;
};

// Splits what a view wants split. Variables are numbered as in `origin`.
bool RowBuilder::apply_split(const Part& part, const std::vector<SplitDims::Factor>& origin) {
  const auto& split = part.space.wanted_split();
  if (!split) return false;
  const size_t v = split->variable.index;
  const bool of_root = v < is_row_.size() || !positions_;
  (of_root ? dims_ : *positions_).split(origin[v], split->inner);
  return true;
}

bool RowBuilder::discover() {
  if (!columns_.empty()) {
    Part part(input_->graph.symbols);
    std::vector<SplitDims::Factor> origin;
    dims_.make(part, "i", part.dims, origin);
    is_row_.clear();
    const std::vector<int64_t>& reduced = input_->graph.attrs(input_->graph[columns_[0]]).dims;
    for (const auto& f : origin) is_row_.push_back(std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(f.dim)) != reduced.end());
    return true;
  }
  while (true) {
    Part part(input_->graph.symbols);
    part.sweep.emplace();
    std::vector<SplitDims::Factor> origin;
    const std::vector<Index> indices = dims_.make(part, "i", part.dims, origin);
    RowTrace rows;
    rows.known_means = known_means_;
    rows.reduced_before = input_->reduced_before;
    Shape largest;
    rows.position_of = [&](const Shape& extents) {
      std::vector<Index> fresh;
      for (const Size& e : extents) {
        rows.positions.push_back(part.space.add_variable("j", e, false));
        fresh.push_back(part.space.variable(rows.positions.back()));
      }
      const SymbolValues values = typical_values(input_->graph.symbols);
      if (evaluate(element_count(extents), values) > evaluate(element_count(largest), values) || largest.empty()) largest = extents;
      return std::optional(fresh);
    };
    Tracer tracer(input_->graph, input_->computed, input_->place, input_->check, part, &rows, input_->list);
    tracer.value_at(root_->value, indices);
    if (rows.rows.empty() && !rows.refused.valid()) return false;
    is_row_.assign(origin.size(), false);
    for (const auto& row : rows.rows)
      for (const Index& i : row)
        for (size_t v = 0; v < origin.size(); ++v) is_row_[v] = is_row_[v] || part.space.depends_on(i, AtomId(v));
    positions_.reset();
    if (apply_split(part, origin)) continue;
    refused_ = rows.refused;
    if (std::find(is_row_.begin(), is_row_.end(), false) == is_row_.end()) positions_.emplace(largest);
    return true;
  }
}

// Indices of a shape whose elements the variables count in row-major order.
std::vector<Index> RowBuilder::indices_of(Part& part, const std::vector<AtomId>& variables, const Shape& shape) const {
  Index rest;
  Size stride = 1;
  for (size_t v = variables.size(); v-- > 0;) {
    rest = rest + part.space.variable(variables[v]) * stride;
    stride *= part.space.extent(variables[v]);
  }
  std::vector<Index> indices(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d].is(1)) continue;
    const bool outermost =
        std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(d), [](const Size& s) { return s.is(1); });
    indices[d] = outermost ? rest : part.space.remainder(rest, shape[d]);
    if (!outermost) rest = part.space.quotient(rest, shape[d]);
  }
  return indices;
}

Part RowBuilder::build_for(const std::vector<const Stored*>& stores) {
  while (true) {
    Part part(input_->graph.symbols);
    Sweep& sweep = part.sweep.emplace();
    std::vector<SplitDims::Factor> origin;
    std::vector<AtomId> all;
    const std::vector<Index> indices = dims_.make(part, "i", all, origin);
    for (size_t v = 0; v < all.size(); ++v) (is_row_[v] ? part.dims : sweep.dims).push_back(all[v]);
    if (positions_) positions_->make(part, "j", sweep.dims, origin);
    RowTrace rows;
    rows.positions = sweep.dims;
    rows.known_means = known_means_;
    rows.reduced_before = input_->reduced_before;
    const Size count = iterations(part, sweep.dims);
    rows.position_of = [&](const Shape& extents) -> std::optional<std::vector<Index>> {
      if (!(element_count(extents) == count)) return std::nullopt;
      return indices_of(part, sweep.dims, extents);
    };
    if (positions_) all = part.dims;
    trace(part, stores, indices, rows);
    const bool was_row_split = part.space.wanted_split() && part.space.wanted_split()->variable.index < is_row_.size();
    if (apply_split(part, origin)) {
      if (was_row_split && !discover()) FUSEC_CHECK(false, "a split removed the reductions");
      if (refused_.valid()) return part;
      continue;
    }
    refused_ = rows.refused;
    return part;
  }
}

void RowBuilder::trace(Part& part, const std::vector<const Stored*>& stores, const std::vector<Index>& root_indices, RowTrace& rows) {
  Tracer tracer(input_->graph, input_->computed, input_->place, input_->check, part, &rows, input_->list);
  std::vector<AtomId> all;
  for (size_t v = 0; v < is_row_.size(); ++v) all.push_back(AtomId(v));
  for (const Stored* stored : stores) {
    const Shape& shape = input_->graph[stored->value].shape;
    const bool same = shape == shape_;
    const bool of_row = !(element_count(shape) == element_count(shape_));
    std::vector<Index> at = same ? root_indices : indices_of(part, of_row ? part.dims : all, shape);
    Store store = store_at(*stored, at, part.space);
    store.value = tracer.value_at(stored->value, std::move(at));
    part.stores.push_back(std::move(store));
  }
  for (OpId id : columns_) {
    const Op& op = input_->graph[id];
    const ValueId x = op.in[0].value, y = op.out[0];
    const Shape& shape = input_->graph[x].shape;
    Column column;
    column.op = id;
    column.accumulator.kind = accumulator_kind(op.kind);
    column.accumulator.dtype = accumulator_dtype(op.kind, input_->graph[x].dtype, input_->graph[y].dtype);
    std::vector<Index> kept;
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto& reduced = input_->graph.attrs(op).dims;
      const bool is_reduced = std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) != reduced.end();
      if (!is_reduced) kept.push_back(root_indices[d]);
      else if (input_->graph.attrs(op).keepdim) kept.emplace_back();
    }
    column.index = tracer.linear(kept, input_->graph[y].shape);
    column.accumulator.operand = tracer.value_at(x, root_indices);
    part.sweep->columns.push_back(std::move(column));
  }
}

Part RowBuilder::build(std::vector<const Stored*>& others) {
  stores_ = {root_};
  Part part = build_for(stores_);
  return refused_.valid() ? part : join(std::move(part), others);
}

Part RowBuilder::join(Part part, std::vector<const Stored*>& others) {
  std::erase_if(others, [&](const Stored* other) {
    const Shape& shape = input_->graph[other->value].shape;
    if (!(element_count(shape) == element_count(shape_)) && !(element_count(shape) == iterations(part))) return false;
    // Only what the row computes anyway: a reduction more would be one at other rows.
    RowBuilder attempt = *this;
    attempt.stores_.push_back(other);
    Part with = attempt.build_for(attempt.stores_);
    if (attempt.refused_.valid()) return false;
    if (with.sweep->accumulators.size() > part.sweep->accumulators.size() && !(shape == shape_)) return false;
    *this = std::move(attempt);
    part = std::move(with);
    return true;
  });
  return part;
}

Part RowBuilder::build_with_columns(const std::vector<Stored>& stores) {
  for (const Stored& s : stores) stores_.push_back(&s);
  discover();
  return build_for(stores_);
}

}  // namespace

RowParts trace_rows_with_columns(const KernelInput& input, const std::vector<OpId>& columns) {
  RowParts out;
  RowBuilder builder(input, columns);
  Part part = builder.build_with_columns(input.stores);
  if (builder.refused().valid()) out.refused = builder.refused();
  else out.parts.push_back(std::move(part));
  return out;
}

RowParts trace_rows(const KernelInput& input, std::vector<Stored>& pointwise, bool known_means) {
  RowParts out;
  const SymbolValues values = typical_values(input.graph.symbols);
  std::vector<const Stored*> left;
  for (const Stored& s : input.stores)
    if (!elements(input, &s).is(0)) left.push_back(&s);
  std::stable_sort(left.begin(), left.end(), [&](const Stored* a, const Stored* b) {
    return evaluate(elements(input, a), values) > evaluate(elements(input, b), values);
  });
  // Stores that need no reduction join the rows of others, or go their own way.
  std::vector<const Stored*> plain;
  std::erase_if(left, [&](const Stored* s) {
    const bool is_plain = !RowBuilder(input, s, known_means).discover();
    if (is_plain) plain.push_back(s);
    return is_plain;
  });
  while (!left.empty()) {
    RowBuilder builder(input, left.front(), known_means);
    left.erase(left.begin());
    builder.discover();
    if (!builder.refused().valid()) {
      Part part = builder.build(left);
      if (!builder.refused().valid()) part = builder.join(std::move(part), plain);
      if (!builder.refused().valid()) out.parts.push_back(std::move(part));
    }
    if (builder.refused().valid()) {
      out.refused = builder.refused();
      return out;
    }
  }
  for (const Stored* s : plain) pointwise.push_back(*s);
  return out;
}

}  // namespace fusec
