#include "driver/run_data.h"

#include "data/files.h"
#include "data/inputs.h"
#include "driver/host_memory.h"
#include "support/check.h"

namespace fusec {

RunData make_run_data(const Graph& graph, const std::string& inputs_path, uint64_t seed) {
  NamedTensors given;
  if (!inputs_path.empty()) given = read_tensors(inputs_path);
  // An .npy file names nothing: its tensor is the only input.
  if (inputs_path.ends_with(".npy") && graph.inputs.size() == 1) given[0].first = graph[graph.inputs[0].value].name;
  RunData data;
  data.sizes = bind_symbols(graph, given);
  data.bound = bind(graph, data.sizes);
  require_host_memory(input_bytes(data.bound), "the graph's inputs");
  data.inputs = make_inputs(data.bound, given, seed);
  return data;
}

NamedTensors named_outputs(const Graph& graph, std::vector<Tensor> outputs) {
  FUSEC_CHECK(outputs.size() == graph.outputs.size(), "an output is missing");
  NamedTensors named;
  for (size_t i = 0; i < outputs.size(); ++i) named.emplace_back(graph.outputs[i].name, std::move(outputs[i]));
  return named;
}

}  // namespace fusec
