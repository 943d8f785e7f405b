// What a run reads and writes, whatever the device: inputs from files or generated, run-time sizes from their shapes, outputs by name.
#pragma once

#include <string>
#include <vector>

#include "data/tensor.h"
#include "graph/graph.h"

namespace fusec {

struct RunData {
  SymbolValues sizes;          // of the graph's symbols
  Graph bound;                 // the graph at these sizes
  std::vector<Tensor> inputs;  // in the graph's order
};

// `inputs_path` is "" when there is no file. Failure(kBadInput) when file and graph do not fit.
RunData make_run_data(const Graph& graph, const std::string& inputs_path, uint64_t seed);

// Outputs in the graph's order, under the names that files give them.
NamedTensors named_outputs(const Graph& graph, std::vector<Tensor> outputs);

}  // namespace fusec
