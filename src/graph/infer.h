// Inside infer_op: what the rules of one op read, and where they leave results and complaints. One function per category of ops.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "graph/derived.h"
#include "graph/graph.h"
#include "graph/verify.h"

namespace fusec {

class OpRules {
 public:
  OpRules(const Graph& graph, const Op& op, Symbols& symbols, Diagnostics& diagnostics, const OpPlaces* places);

  // Runs the rules of the op's category. False when something was reported; the members below are then of no use.
  bool run();

  // --- what the rules leave
  Attrs attrs;
  std::vector<std::pair<DType, Shape>> results;
  std::vector<std::pair<size_t, Literal>> literals;  // operand position → converted literal
  std::vector<Graph::Constraint> constraints;

  // --- what they read
  const Graph& graph;
  const Op& op;
  const OpInfo& row;
  size_t operand_count() const { return op.in.size(); }
  bool is_absent(size_t i) const { return i >= op.in.size() || op.in[i].is_absent(); }
  const Value& operand(size_t i) const { return graph[op.in[i].value]; }
  DType dtype(size_t i) const { return operand(i).dtype; }
  const Shape& shape(size_t i) const { return operand(i).shape; }
  int64_t rank(size_t i) const { return static_cast<int64_t>(shape(i).size()); }
  DType given_dtype() const;  // of the result of cast, bitcast and creation ops

  // --- complaints: "'add' TEXT", at the op, an operand or an attribute
  Diagnostic& error(const char* word, Span at, const std::string& text);
  Span here() const { return op.at; }
  Span at_operand(size_t i) const;
  Span at_attribute(std::string_view name) const;
  void note_operand(Diagnostic& d, size_t i) const;  // "'x' is f32[64,128]", where it is defined
  std::string text(const Size& size) const { return to_string(size, symbols_); }
  std::string text(const Shape& s) const { return to_string(s, symbols_); }
  std::string type_text(size_t i) const;  // "f32[64,128]"

  // --- rules that several ops share; false when they reported
  bool takes_values(std::initializer_list<size_t> literal_positions = {});  // all other operands are values
  bool takes_class(size_t i, OperandClass wanted);
  bool same_dtype(size_t i, size_t j);
  bool takes_index(size_t i);
  bool has_rank(size_t i, const char* role, int64_t wanted);
  // a[-n…n) → [0, n)
  bool resolve_dim(int64_t& dim, int64_t rank, std::string_view attribute);
  // Resolves, sorts, refuses repeats; {kDefaultDims} becomes the last `defaults` dims.
  bool resolve_dims(std::vector<int64_t>& dims, int64_t rank, std::string_view attribute, int64_t defaults);
  bool converted(Literal& literal, DType dtype, Span at);
  bool fits_as(size_t i, DType dtype);  // the operand's bytes in the dtype in which the op computes
  // Proves a = b as polynomials, knowing what the derived symbols stand for.
  bool equal(const Size& a, const Size& b) const;
  bool divides(int64_t divisor, const Size& size) const { return fusec::divides(divisor, size, symbols_); }
  // Are these two extents the same? `what()` introduces the message: "needs size 1 in dimension 2".
  template <class What>
  bool require_equal(const Size& a, const Size& b, const char* word, Span at, What what) {
    return equal(a, b) || refuse_equal(a, b, word, at, what());
  }
  // lhs ≤ rhs, proved, or checked at typical sizes and left as a constraint. `what()` is the message.
  template <class What>
  bool require_at_most(const Size& lhs, const Size& rhs, const char* word, Span at, What what) {
    return at_most(lhs, rhs, at) || refuse_at_most(lhs, rhs, word, at, what());
  }
  Size quotient(const Size& numerator, int64_t denominator);
  // NumPy's broadcast of b into a; false when they do not fit.
  bool broadcast(Shape& a, const Shape& b) const;

 private:
  bool check_counts();
  bool at_most(const Size& lhs, const Size& rhs, Span at);
  bool refuse_equal(const Size& a, const Size& b, const char* word, Span at, const std::string& what);
  bool refuse_at_most(const Size& lhs, const Size& rhs, const char* word, Span at, const std::string& what);

  Symbols& symbols_;
  Diagnostics& diagnostics_;
  const OpPlaces* places_;
  bool ok_ = true;
};

void infer_elementwise(OpRules& rules);
void infer_convert(OpRules& rules);
void infer_creation(OpRules& rules);
void infer_shape(OpRules& rules);
void infer_reduction(OpRules& rules);
void infer_scan(OpRules& rules);
void infer_sort(OpRules& rules);
void infer_gather(OpRules& rules);
void infer_scatter(OpRules& rules);
void infer_composite(OpRules& rules);
void infer_matmul(OpRules& rules);

}  // namespace fusec
