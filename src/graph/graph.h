// The tensor IR: a straight-line SSA program over tensors, as values. Ops stand in a topological order.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/dtype.h"
#include "graph/ops.h"
#include "graph/size.h"
#include "support/diag.h"
#include "support/ids.h"

namespace fusec {

struct ValueTag;
using ValueId = Id<ValueTag>;
struct OpTag;
using OpId = Id<OpTag>;
struct AttrsTag;
using AttrsId = Id<AttrsTag>;

// A literal: as written until verified, then converted to the dtype its op computes in (`Op::literal_type`).
struct Literal {
  std::variant<int64_t, double, bool> value = int64_t{0};
  bool operator==(const Literal& other) const;  // bit for bit: NaN equals itself, -0.0 is not 0.0
  double as_double() const;
};

// A value, a literal, or (in composites) nothing: a skipped `null` operand.
struct Operand {
  ValueId value;
  std::optional<Literal> literal;
  bool is_value() const { return value.valid(); }
  bool is_literal() const { return literal.has_value(); }
  bool is_absent() const { return !is_value() && !is_literal(); }
  bool operator==(const Operand&) const = default;
};

enum class Accumulate : uint8_t { kNone, kAdd, kMul, kMax, kMin };

// The attributes of all ops. After verification every default is filled in, dims are non-negative and sorted where their
// order has no meaning, and shapes hold no -1.
struct Attrs {
  Shape shape;                // reshape, expand, creation
  std::vector<int64_t> dims;  // reductions, squeeze (operand positions), unsqueeze (result positions), flip, norms
  std::vector<int64_t> perm;  // permute
  int64_t dim = 0;            // cat, stack, iota, scans, sorts, indexing, argmax, softmax
  std::vector<Size> starts, stops, low, high;
  std::vector<int64_t> steps;
  Literal value;                                // full, pad
  Literal start{int64_t{0}}, step{int64_t{1}};  // iota
  uint64_t seed = 0, stream = 0;
  bool keepdim = false, exclusive = false, reverse = false, descending = false, stable = true, largest = true, sorted = true;
  Size k;  // topk
  int64_t correction = 1, groups = 1;
  double eps = 1e-5, p = 0.5;
  Accumulate accumulate = Accumulate::kNone;
  std::optional<DType> dtype;  // reductions, matmul: as written. (cast, creation: the result's dtype says it.)
  bool operator==(const Attrs&) const = default;
};

struct Value {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  OpId def;             // invalid for inputs
  uint32_t result = 0;  // position among the results of `def`
  Span at;
  bool operator==(const Value&) const = default;
};

struct Op {
  OpKind kind = OpKind::kCopy;
  std::vector<Operand> in;
  std::vector<ValueId> out;  // invalid for results that nobody needs
  AttrsId attrs;             // invalid when the op has none
  Span at;
  std::string origin;  // for ops that an expansion or a pass created: the name of the op as written
  bool operator==(const Op&) const = default;
};

struct Init {
  enum Kind : uint8_t { kDefault, kNormal, kUniform, kZeros, kOnes, kArange, kRandint, kPermutation } kind = kDefault;
  double lo = 0, hi = 1;     // kUniform
  int64_t from = 0, to = 0;  // kRandint: [from, to); kPermutation: to = n
  bool operator==(const Init&) const = default;
};

struct Input {
  ValueId value;
  std::optional<std::vector<int64_t>> strides;  // elements; absent: row-major
  bool scalar = false;                          // passed by value at launch
  std::optional<Literal> scalar_value;          // its default
  Init init;
  Span at;
  bool operator==(const Input&) const = default;
};

struct Output {
  ValueId value;
  std::string name;               // unique: NAME, then NAME#2, …
  std::optional<uint32_t> alias;  // position in Graph::inputs
  std::optional<std::vector<int64_t>> strides;
  Span at;
  bool operator==(const Output&) const = default;
};

struct Graph {
  std::string name;
  std::string doc;
  Symbols symbols;  // dims marked dynamic, then derived sizes. Fixed dims are folded into shapes.
  IdVec<ValueId, Value> values;
  IdVec<OpId, Op> ops;
  IdVec<AttrsId, Attrs> attributes;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  // Sizes that must be equal or ordered at run time, where that cannot be proved: lhs ≤ rhs.
  struct Constraint {
    Size lhs, rhs;
    Span at;
    bool operator==(const Constraint&) const = default;
  };
  std::vector<Constraint> constraints;

  const Attrs& attrs(const Op& op) const;  // a shared default when the op has none
  Attrs& make_attrs(Op& op);               // gives the op its own
  const Value& operator[](ValueId id) const { return values[id]; }
  const Op& operator[](OpId id) const { return ops[id]; }
  // The op's name: its first named result.
  const std::string& name_of(OpId id) const;
  bool operator==(const Graph&) const = default;
};

// For each value the ops that read it (once per op), in op order.
IdVec<ValueId, std::vector<OpId>> users_of(const Graph& graph);
// The dtype of a literal operand of `op`: the computing type for arithmetic, the operands' dtype in comparisons and for integers.
DType literal_type(const Graph& graph, const Op& op);
// The input layout in elements: as given, else row-major.
std::vector<Size> strides_of(const Graph& graph, const Input& input);
std::vector<Size> strides_of(const Graph& graph, const Output& output);
// The same graph with every symbol replaced by its value.
Graph bind(const Graph& graph, const SymbolValues& values);

}  // namespace fusec
