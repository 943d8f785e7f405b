#include "driver/run_cpu.h"

#include "reference/evaluate.h"
#include "rewrite/rewrite.h"

namespace fusec {

std::vector<Tensor> run_on_cpu(const Graph& graph, const std::vector<Tensor>& inputs) {
  RewriteLog log;
  return evaluate(expand_composites(graph, log), inputs);
}

}  // namespace fusec
