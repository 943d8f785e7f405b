#include "driver/run_cpu.h"

#include "driver/host_memory.h"
#include "reference/evaluate.h"
#include "rewrite/rewrite.h"

namespace fusec {

std::vector<Tensor> run_on_cpu(const Graph& graph, const std::vector<Tensor>& inputs) {
  RewriteLog log;
  const Graph primitive = remove_dead_ops(expand_composites(graph, log), log);
  require_host_memory(peak_value_bytes(primitive), "the graph's values");
  return evaluate(primitive, inputs);
}

}  // namespace fusec
