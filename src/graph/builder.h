// Appends inputs and ops to a graph, for passes and tests. What does not verify is a bug of the caller: FUSEC_CHECK.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/verify.h"

namespace fusec {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  // What further ops get as their place and origin.
  Span at;
  std::string origin;

  ValueId input(const std::string& name, DType dtype, Shape shape);
  void output(ValueId value);
  // `dtype` is that of the result of cast, bitcast and creation ops.
  OpId op(OpKind kind, std::vector<Operand> in, const std::vector<std::string>& results, const Attrs* attrs = nullptr,
          DType dtype = DType::kF32);
  ValueId value(OpKind kind, std::vector<Operand> in, const std::string& result, const Attrs* attrs = nullptr, DType dtype = DType::kF32);

 private:
  Graph& graph_;
};

inline Operand operand(ValueId value) { return {value, {}}; }
inline Operand operand(Literal literal) { return {{}, literal}; }

}  // namespace fusec
