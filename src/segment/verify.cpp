#include <algorithm>

#include "segment/facts.h"
#include "segment/segment.h"
#include "support/check.h"

namespace fusec {

namespace {

// Each segment evaluates all that its outputs need from what it reads.
void verify_closed(const Graph& graph, const Segment& s, IdVec<OpId, uint32_t>& here, uint32_t mark) {
  for (const auto* list : {&s.ops, &s.recomputed})
    for (OpId op : *list) here[op] = mark;
  auto reads = [&](ValueId v) { return std::find(s.inputs.begin(), s.inputs.end(), v) != s.inputs.end(); };
  for (const auto* list : {&s.ops, &s.recomputed})
    for (OpId op : *list)
      for (const Operand& o : graph[op].in) {
        if (!o.is_value()) continue;
        const OpId def = graph[o.value].def;
        FUSEC_CHECK((def.valid() && here[def] == mark) || reads(o.value),
                    "segment " + std::to_string(mark - 1) + " lacks `" + graph[o.value].name + "` for `" + graph.name_of(op) + "`");
      }
  for (ValueId v : s.outputs)
    FUSEC_CHECK(graph[v].def.valid() && here[graph[v].def] == mark,
                "segment " + std::to_string(mark - 1) + " stores `" + graph[v].name + "` without computing it");
}

}  // namespace

void verify(const Graph& graph, const Segmentation& segmentation) {
  const Facts facts(graph, Facts::Order::kAsListed);
  IdVec<OpId, uint32_t> home(graph.ops.size(), UINT32_MAX), here(graph.ops.size());
  IdVec<ValueId, uint32_t> writer(graph.values.size(), UINT32_MAX);
  IdVec<ValueId, uint8_t> is_edge(graph.values.size());
  for (const Edge& e : segmentation.edges) {
    FUSEC_CHECK(!e.why.empty(), "the edge `" + graph[e.value].name + "` does not say why");
    is_edge[e.value] = 1;
  }
  for (uint32_t s = 0; s < segmentation.segments.size(); ++s) {
    const Segment& segment = segmentation.segments[s];
    for (OpId op : segment.ops) {
      FUSEC_CHECK(home[op] == UINT32_MAX, "`" + graph.name_of(op) + "` is in two segments");
      home[op] = s;
    }
    for (ValueId v : segment.inputs) {
      if (!graph[v].def.valid()) continue;
      FUSEC_CHECK(writer[v] != UINT32_MAX, "segment " + std::to_string(s) + " reads `" + graph[v].name + "` before it is written");
      FUSEC_CHECK(is_edge[v], "`" + graph[v].name + "` crosses segments but is no edge");
    }
    for (ValueId v : segment.outputs) {
      FUSEC_CHECK(writer[v] == UINT32_MAX, "`" + graph[v].name + "` is written twice");
      writer[v] = s;
    }
    verify_closed(graph, segment, here, s + 1);
  }
  for (OpId op : facts.ordered()) FUSEC_CHECK(home[op] != UINT32_MAX, "`" + graph.name_of(op) + "` is in no segment");
  for (const Output& o : graph.outputs)
    FUSEC_CHECK(!graph[o.value].def.valid() || writer[o.value] != UINT32_MAX, "the output `" + o.name + "` is not written");
  for (const Edge& e : segmentation.edges) {
    FUSEC_CHECK(writer[e.value] == e.from, "the edge `" + graph[e.value].name + "` does not start where it is written");
    for (uint32_t to : e.to) FUSEC_CHECK(to > e.from, "the edge `" + graph[e.value].name + "` goes backwards");
  }
}

}  // namespace fusec
