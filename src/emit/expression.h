// C expressions: literals, conversions between dtypes, elementwise ops, indices and guards.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernel/index.h"

namespace fusec {

inline std::string number(int64_t n) { return std::to_string(n); }
// A literal of a dtype, in its register type.
std::string literal_text(const Literal& literal, DType dtype);
// Register value of `from` → register value of `to`, as the graph's `cast` defines it.
std::string cast_text(const std::string& x, DType from, DType to);
// A value in its computing type (narrow floats widened to float), and the way back.
std::string widen_text(const std::string& x, DType dtype);
std::string narrow_text(const std::string& x, DType dtype);
// An elementwise op on operands in their register types. `dtypes`: of the operands; a literal already has the computing type.
std::string op_text(const Graph& graph, const Op& op, const std::vector<std::string>& operands, const std::vector<DType>& dtypes,
                    bool contract);
// iota: start + step · index; uniform and normal: element number `index`.
std::string iota_text(const Attrs& attrs, DType dtype, const std::string& index);
std::string random_text(OpKind kind, const Attrs& attrs, DType dtype, const std::string& index);
// A quotient or remainder spelled out, whether or not it has a name.
std::string atom_definition_text(const IndexSpace& space, AtomId id, bool wide);
std::string index_text(const IndexSpace& space, const Index& index, bool wide);
// A conjunction of index ≥ 0, written as comparisons of non-negative sides.
std::string guard_text(const IndexSpace& space, const std::vector<Index>& guard, bool wide);
std::string size_text(const Size& size, const Symbols& symbols, bool wide);

}  // namespace fusec
