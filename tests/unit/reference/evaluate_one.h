// Graphs of one op, for tests of the reference.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "reference/convert.h"
#include "reference/evaluate.h"

namespace fusec::test {

inline Tensor tensor(DType t, std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor out(t, std::move(shape));
  convert(DType::kF64, values.data(), t, out.data.data(), out.elems());
  return out;
}
inline Tensor vector_of(DType t, const std::vector<double>& values) { return tensor(t, {static_cast<int64_t>(values.size())}, values); }

inline std::vector<double> numbers(const Tensor& t) {
  std::vector<double> values(static_cast<size_t>(t.elems()));
  convert(t.dtype, t.data.data(), DType::kF64, values.data(), t.elems());
  return values;
}

inline Shape shape_of(const std::vector<int64_t>& extents) { return Shape(extents.begin(), extents.end()); }

// An operand of a one-op graph: a tensor or a literal.
struct Given {
  Tensor tensor;
  std::optional<Literal> literal;
  Given(Tensor t) : tensor(std::move(t)) {}  // NOLINT
  Given(double v) : literal(Literal{v}) {}   // NOLINT
};

struct Result {
  DType dtype;
  std::vector<int64_t> shape;
};

inline std::vector<Tensor> evaluate_one(OpKind kind, const std::vector<Given>& operands, const std::vector<Result>& results,
                                        const Attrs& attrs = {}) {
  Graph graph;
  Op op;
  op.kind = kind;
  std::vector<Tensor> inputs;
  auto add_value = [&](DType t, const std::vector<int64_t>& shape, OpId def, const std::string& name) {
    Value value;
    value.name = name;
    value.dtype = t;
    value.shape = shape_of(shape);
    value.def = def;
    return graph.values.push(value);
  };
  for (const Given& given : operands) {
    Operand operand;
    operand.literal = given.literal;
    if (!given.literal) {
      operand.value = add_value(given.tensor.dtype, given.tensor.shape, OpId(), "x" + std::to_string(inputs.size()));
      Input input;
      input.value = operand.value;
      graph.inputs.push_back(input);
      inputs.push_back(given.tensor);
    }
    op.in.push_back(operand);
  }
  graph.make_attrs(op) = attrs;
  for (const Result& r : results) {
    op.out.push_back(add_value(r.dtype, r.shape, OpId(size_t{0}), "y" + std::to_string(op.out.size())));
    Output output;
    output.value = op.out.back();
    output.name = graph[output.value].name;
    graph.outputs.push_back(output);
  }
  graph.ops.push(op);
  return evaluate(graph, inputs);
}

}  // namespace fusec::test
