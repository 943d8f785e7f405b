#include "lower/online.h"

#include <algorithm>

namespace fusec {

namespace {

bool is_op(const Graph& graph, const Node& n, OpKind kind) { return n.kind == Node::kOp && graph[n.op].kind == kind; }

// For a sum of exp(x − max(x)): the accumulator of the maximum.
std::optional<uint32_t> maximum_below(const Graph& graph, const Part& part, const Accumulator& sum) {
  if (sum.kind != Accumulator::kSum || !is_float(sum.dtype)) return std::nullopt;
  const Node& power = part.nodes[sum.operand];
  if (!is_op(graph, power, OpKind::kExp) || power.dtype != sum.dtype) return std::nullopt;
  const Node& difference = part.nodes[power.in[0]];
  if (!is_op(graph, difference, OpKind::kSub)) return std::nullopt;
  const Node& greatest = part.nodes[difference.in[1]];
  if (greatest.kind != Node::kReduce || greatest.dtype != sum.dtype) return std::nullopt;
  const Accumulator& max = part.sweep->accumulators[greatest.accumulator];
  const bool fits =
      (max.kind == Accumulator::kMax || max.kind == Accumulator::kLogsumexp) && max.operand == difference.in[0] && max.dtype == sum.dtype;
  return fits ? std::optional(greatest.accumulator) : std::nullopt;
}

}  // namespace

bool make_online(const Graph& graph, Part& part) {
  std::vector<Accumulator>& all = part.sweep->accumulators;
  std::vector<uint32_t> moved(all.size());
  std::vector<Accumulator> kept;
  bool any = false;
  for (uint32_t k = 0; k < all.size(); ++k) {
    const bool only_sums = std::all_of(part.nodes.begin(), part.nodes.end(), [&](const Node& n) {
      return n.kind != Node::kReduce || n.accumulator != k || graph[n.op].kind == OpKind::kSum;
    });
    if (const auto max = maximum_below(graph, part, all[k]); max && only_sums) {
      any = true;
      kept[moved[*max]].kind = Accumulator::kLogsumexp;
      moved[k] = moved[*max];
      continue;
    }
    moved[k] = static_cast<uint32_t>(kept.size());
    kept.push_back(all[k]);
  }
  all = std::move(kept);
  for (Node& n : part.nodes)
    if (n.kind == Node::kReduce) n.accumulator = moved[n.accumulator];
  return any;
}

}  // namespace fusec
