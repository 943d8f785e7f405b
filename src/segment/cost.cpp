#include <algorithm>
#include <map>

#include "segment/cast_groups.h"
#include "segment/evaluation.h"
#include "segment/facts.h"
#include "segment/segment.h"
#include "support/byte_sum.h"

namespace fusec {

SegmentCost cost_of(const Graph& graph, const Segment& segment, const Target& target) { return CostModel(graph, target).cost_of(segment); }

CostModel::CostModel(const Graph& graph, const Target& target)
    : facts_(std::make_shared<Facts>(graph, Facts::Order::kAsListed)), target_(target), evaluator_(std::make_shared<Evaluator>(*facts_)) {}

SegmentCost CostModel::cost_of(const Segment& segment) {
  std::vector<OpId> ops = segment.ops;
  ops.insert(ops.end(), segment.recomputed.begin(), segment.recomputed.end());
  std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) { return facts_->rank(a) < facts_->rank(b); });
  const Evaluation e = evaluator_->evaluate(ops, segment.outputs, segment.kind == SegmentKind::kPointwise);
  for (const Read& r : e.reads) touched_[r.value] = std::max(touched_[r.value], touched_bytes(*facts_, r));
  return {e.bytes_read, e.bytes_written, kernel_us(e, target_)};
}

int64_t CostModel::lower_bound_bytes() const {
  int64_t bytes = 0;
  for (const auto& [value, touched] : touched_)
    if (!facts_->graph[value].def.valid()) add_bytes(bytes, touched);
  for (const Output& o : facts_->graph.outputs) {
    const bool in_input = !facts_->graph[o.value].def.valid();
    add_bytes(bytes, in_input ? (o.alias ? 0 : facts_->bytes(o.value)) : written_bytes(*facts_, o.value));
  }
  return bytes;
}

std::vector<CostModel::WideEdge> CostModel::wide_edges(const Segmentation& segmentation) const {
  const IdVec<ValueId, uint8_t> narrower = narrower_sources(*facts_);
  std::vector<WideEdge> wide;
  for (size_t i = 0; i < segmentation.edges.size(); ++i) {
    const ValueId v = segmentation.edges[i].value;
    if (narrower[v] && is_float(facts_->graph[v].dtype)) wide.push_back({i, facts_->elems(v) * narrower[v]});
  }
  return wide;
}

int64_t CostModel::bytes_of(ValueId v) const { return facts_->bytes(v); }

}  // namespace fusec
