// What make_deterministic puts in place of a scatter or index_put: the ops of its forms, in the rebuilt graph.
#pragma once

#include <string>

#include "graph/builder.h"
#include "rewrite/fresh_names.h"
#include "rewrite/rebuild.h"

namespace fusec {

// The scatter that is replaced, on values of the new graph, and the making of its steps, which are named RESULT.step.
class ScatterSteps {
 public:
  ScatterSteps(Rebuild& rebuild, const Op& op, FreshNames& names);

  const Graph& graph() const { return rebuild_.to; }
  const Value& operator[](ValueId v) const { return rebuild_.to[v]; }

  const OpKind kind;  // scatter or index_put
  const Attrs attrs;
  const ValueId x, index;
  const Operand src;  // a value, or a literal of the computing type
  const DType dtype;
  const size_t dim;
  const Size updates;  // of one element, at most

  ValueId step(const char* name, OpKind op, std::vector<Operand> in, const Attrs* attrs = nullptr, DType dtype = DType::kF32);
  ValueId step(const char* name, OpKind op, Operand a, Operand b) { return step(name, op, {std::move(a), std::move(b)}); }
  ValueId cast(const char* name, ValueId v, DType to);  // v itself where it has that dtype
  ValueId bitcast(const char* name, ValueId v, DType to) { return step(name, OpKind::kBitcast, {operand(v)}, nullptr, to); }
  ValueId full(const char* name, Shape shape, DType dtype, Literal value);
  // The same updates on another tensor: `table` has x's shape, `values` the shape of the updates.
  ValueId scatter(const char* name, ValueId table, Operand values, Accumulate how);
  // What such a table holds where each update goes.
  ValueId at_updates(const char* name, ValueId table);
  // At each update the greatest of `ranks` (integers ≥ 0, of the index's shape) among the updates of its element.
  ValueId last_of_element(ValueId ranks);
  // Which elements have updates.
  ValueId touched();
  // src at the positions of the index; a literal as a tensor.
  ValueId source(const char* name);
  // The op that keeps the result's name.
  void last(OpKind op, std::vector<Operand> in, const Attrs* attrs = nullptr);
  // where(condition, a, b) as that op, bit for bit: narrow floats as integers, as `where` itself rounds them.
  void last_where(ValueId condition, ValueId a, ValueId b);

 private:
  Rebuild& rebuild_;
  Builder builder_;
  FreshNames& names_;
  const ValueId result_;  // of the graph as it was
  const std::string name_, origin_;
};

inline Operand constant(int64_t n) { return operand(Literal{n}); }
inline Operand constant(double x) { return operand(Literal{x}); }

// y = scatter(x, index, src) as the last of the updates leaves it, in row-major order.
void store_last(ScatterSteps& s);
// y = scatter(x, index, src, add) of floats, in integers: the same in any order.
void add_in_any_order(ScatterSteps& s);
// y = scatter(x, index, src, mul) of floats: as a reduction over all updates, or sorted by their places (of a known number of updates).
void multiply_all(ScatterSteps& s);
void multiply_sorted(ScatterSteps& s);

}  // namespace fusec
