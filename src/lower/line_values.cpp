#include "lower/line_values.h"

#include "graph/updates.h"
#include "support/check.h"

namespace fusec {

namespace {

// What the results are read from until their loads become the sort's own nodes.
struct ResultBuffers {
  const Graph& graph;
  const Op& op;
  Kernel& kernel;
  BufferId at[2];

  bool is_result(ValueId v) const { return v == op.out[0] || (op.out.size() > 1 && v == op.out[1]); }
  Place place(ValueId v) {
    BufferId& buffer = at[graph[v].result];
    if (!buffer.valid()) buffer = kernel.buffers.push({{}, graph[v].dtype, graph[v].name});
    return {buffer, row_major_strides(graph[v].shape)};
  }
};

// `here`: a result's index at the position.
void turn_loads_into_results(const ResultBuffers& results, const Index here[2], OpId op, Part& part) {
  for (Node& n : part.nodes) {
    if (n.kind != Node::kLoad) continue;
    for (uint32_t r = 0; r < 2; ++r) {
      if (!results.at[r].valid() || n.buffer != results.at[r]) continue;
      FUSEC_CHECK(n.index == here[r] && n.guard.empty(), "a sort's result is asked for at another position");
      n.kind = Node::kSorted;
      n.op = op;
      n.result = r;
      n.buffer = {};
    }
  }
}

Store trace_store(const KernelInput& input, const KernelInput::Stored& stored, Tracer& tracer, const std::vector<Index>& indices,
                  Part& part) {
  const OpId def = input.graph[stored.value].def;
  const Op& op = input.graph[def];
  if (info(op.kind).category != OpCategory::kScatter) {
    Store store = store_at(stored, indices, part.space);
    store.value = tracer.value_at(stored.value, indices);
    return store;
  }
  std::vector<Index> to = indices;
  const size_t dim = static_cast<size_t>(input.graph.attrs(op).dim);
  Store store;
  to[dim] = tracer.index_at(def, op.in[1].value, indices, input.graph[stored.value].shape[dim], store.guard);
  FUSEC_CHECK(store.guard.empty(), "a permutation needs no check");
  store = store_at(stored, to, part.space);
  store.value =
      op.in[2].is_value() ? tracer.value_at(op.in[2].value, indices) : tracer.literal(*op.in[2].literal, input.graph[stored.value].dtype);
  return store;
}

}  // namespace

void trace_line(const KernelInput& input, OpId id, const std::vector<Index>& indices, Part& part, Kernel& kernel) {
  const Op& op = input.graph[id];
  ResultBuffers results{input.graph, op, kernel, {}};
  IdVec<ValueId, bool> computed = input.computed;
  std::vector<Index> of_result = indices;
  Index here[2];
  for (ValueId v : op.out) {
    if (!v.valid()) continue;
    computed[v] = false;
    const Shape& shape = input.graph[v].shape;
    const std::vector<Size> strides = row_major_strides(shape);
    Index& at = here[input.graph[v].result];
    for (size_t d = 0; d < indices.size(); ++d) {
      if (shape[d].is(1)) of_result[d] = Index();  // (the best of a row stands at its first position)
      at = at + of_result[d] * strides[d];
    }
    at = part.space.simplify(at);
  }
  auto place = [&](ValueId v) { return results.is_result(v) ? results.place(v) : input.place(v); };
  Tracer tracer(input.graph, computed, place, input.check, part);
  part.line->operand = tracer.value_at(op.in[0].value, indices);
  for (const KernelInput::Stored& stored : input.stores) part.stores.push_back(trace_store(input, stored, tracer, of_result, part));
  turn_loads_into_results(results, here, id, part);
}

}  // namespace fusec
