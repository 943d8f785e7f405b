#include "reference/evaluate.h"

#include "reference/op_call.h"
#include "support/check.h"

namespace fusec {

namespace reference {

Extents extents_of(const Shape& shape) {
  Extents extents;
  for (const Size& s : shape) extents.push_back(s.value());
  return extents;
}

Extents OpCall::shape(size_t i) const { return extents_of(graph[op.out[i]].shape); }

std::string OpCall::name() const {
  for (ValueId v : op.out)
    if (v.valid()) return "'" + graph[v].name + "' (" + std::string(name_of(op.kind)) + ")";
  return "'" + std::string(name_of(op.kind)) + "'";
}

namespace {

std::vector<Tensor> evaluate_op(const OpCall& call) {
  switch (info(call.op.kind).category) {
    case OpCategory::kElementwise:
      return evaluate_elementwise(call);
    case OpCategory::kConvert:
      return evaluate_conversion(call);
    case OpCategory::kShape:
      return evaluate_shape(call);
    case OpCategory::kCreation:
      return evaluate_creation(call);
    case OpCategory::kReduction:
      return evaluate_reduction(call);
    case OpCategory::kScan:
      return evaluate_scan(call);
    case OpCategory::kSort:
      return evaluate_sort(call);
    case OpCategory::kGather:
      return evaluate_gather(call);
    case OpCategory::kScatter:
      return evaluate_scatter(call);
    case OpCategory::kComposite:
      FUSEC_CHECK(false, call.name() + " was not expanded");
      break;
    case OpCategory::kMatmul:
      break;
  }
  throw Failure(Exit::kBadInput, call.name() + " is reserved: this version has no matrix products");
}

// Which ops an output needs.
IdVec<OpId, char> needed_ops(const Graph& graph) {
  IdVec<OpId, char> needed(graph.ops.size(), 0);
  auto need = [&](ValueId v) {
    if (graph[v].def.valid()) needed[graph[v].def] = 1;
  };
  for (const Output& output : graph.outputs) need(output.value);
  for (size_t i = graph.ops.size(); i-- > 0;)
    if (needed[OpId(i)])
      for (const Operand& operand : graph[OpId(i)].in)
        if (operand.is_value()) need(operand.value);
  return needed;
}

// The values of a running evaluation. Inputs are borrowed; the others live until their last use.
class Values {
 public:
  Values(const Graph& graph, const IdVec<OpId, char>& needed, const std::vector<Tensor>& inputs)
      : owned_(graph.values.size()), seen_(graph.values.size()), uses_(graph.values.size()) {
    for (size_t i = 0; i < graph.ops.size(); ++i)
      for (const Operand& operand : graph[OpId(i)].in)
        if (needed[OpId(i)] && operand.is_value()) ++uses_[operand.value];
    for (const Output& output : graph.outputs) ++uses_[output.value];
    for (size_t i = 0; i < inputs.size(); ++i) seen_[graph.inputs[i].value] = &inputs[i];
  }

  const Tensor* get(ValueId v) const {
    FUSEC_CHECK(seen_[v] != nullptr, "a value is read before it is made");
    return seen_[v];
  }
  void set(ValueId v, Tensor tensor) {
    if (uses_[v] == 0) return;
    owned_[v] = std::move(tensor);
    seen_[v] = &owned_[v];
  }
  void drop_use(ValueId v) {
    if (--uses_[v] == 0) owned_[v] = Tensor();
  }
  // For an output: moved out at the last use.
  Tensor take(ValueId v) {
    Tensor tensor = uses_[v] == 1 && seen_[v] == &owned_[v] ? std::move(owned_[v]) : *get(v);
    drop_use(v);
    return tensor;
  }

 private:
  IdVec<ValueId, Tensor> owned_;
  IdVec<ValueId, const Tensor*> seen_;
  IdVec<ValueId, int64_t> uses_;
};

void check_result(const OpCall& call, size_t i, const Tensor& tensor) {
  FUSEC_CHECK(tensor.dtype == call.dtype(i) && tensor.shape == call.shape(i), call.name() + ": a result differs from its inferred type");
}

}  // namespace

}  // namespace reference

std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs) {
  FUSEC_CHECK(inputs.size() == graph.inputs.size(), "an input is missing");
  const IdVec<OpId, char> needed = reference::needed_ops(graph);
  reference::Values values(graph, needed, inputs);
  for (size_t at = 0; at < graph.ops.size(); ++at) {
    if (!needed[OpId(at)]) continue;
    const Op& op = graph[OpId(at)];
    reference::OpCall call{graph, op, graph.attrs(op), {}};
    for (const Operand& operand : op.in) call.in.push_back(operand.is_value() ? values.get(operand.value) : nullptr);
    std::vector<Tensor> results = reference::evaluate_op(call);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!op.out[i].valid()) continue;
      reference::check_result(call, i, results[i]);
      values.set(op.out[i], std::move(results[i]));
    }
    for (const Operand& operand : op.in)
      if (operand.is_value()) values.drop_use(operand.value);
  }
  std::vector<Tensor> outputs;
  for (const Output& output : graph.outputs) outputs.push_back(values.take(output.value));
  return outputs;
}

}  // namespace fusec
