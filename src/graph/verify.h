// The invariants of a Graph, and the shape and dtype rules of every op.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "support/diag.h"

namespace fusec {

inline constexpr size_t kMaxRank = 8;

// The attributes of an op of which none is written: what a reader starts from. `dim` and `steps` stand for their defaults,
// `dims` is {kDefaultDims} where it has one.
inline constexpr int64_t kDefaultDims = INT64_MIN;
Attrs default_attrs(OpKind kind);

// Where the parts of an op stand in the source; every part may be missing, then the op's own place is used.
struct OpPlaces {
  std::vector<Span> operands;                                 // by position
  std::vector<std::pair<std::string_view, Span>> attributes;  // name → its value
};

// Fills in the dtype and shape of `op`'s results from its operands and attributes, normalizes its attributes and literals (see
// Attrs, Literal) and reports what is wrong with it. The results' Value entries must exist; those of `cast`, `bitcast` and creation
// ops hold their dtype already (or Attrs::dtype does, and moves there). Negative sizes in `shape` are -1 of `reshape`, or errors.
// Returns false when an error was reported; the results are then left as they were.
bool infer_op(Graph& graph, OpId op, Diagnostics& diagnostics, const OpPlaces* places = nullptr);

// The rules of every value: rank ≤ 8, no negative size, element count and bytes within the 64-bit range. `what` names it in the
// message: "input 'x'".
bool check_extent(const Graph& graph, const Shape& shape, DType dtype, Span at, const std::string& what, Diagnostics& diagnostics);

// Checks every invariant of a graph that a pass made: operand order, single assignment, dtypes and shapes as infer_op gives
// them, outputs and aliases. Failures are bugs of ours: FUSEC_CHECK.
void verify(const Graph& graph);

}  // namespace fusec
