#include "emit/report_facts.h"

#include <unordered_set>

#include "support/byte_sum.h"

namespace fusec {

namespace {

// Ops that a pass folded into another stand beside it, so that every op as written is found in a segment.
std::map<std::string, std::vector<std::string>> absorbed_by(const Compilation& c) {
  std::map<std::string, std::vector<std::string>> beside;
  if (c.log.absorbed.empty()) return beside;
  std::unordered_set<std::string> standing;
  for (size_t i = 0; i < c.rewritten.ops.size(); ++i) standing.insert(c.rewritten.name_of(OpId(i)));
  for (const auto& [name, into] : c.log.absorbed) {
    const std::string& kept = c.log.standing_for(into);
    if (!standing.contains(name) && !c.log.merged.contains(name) && standing.contains(kept)) beside[kept].push_back(name);
  }
  return beside;
}

LaunchFacts facts_of(const Launch& launch, const SymbolValues& typical) {
  LaunchFacts f{launch.kernel, 0, launch.block, launch.shared_bytes, launch.schedule, launch.phases, launch.why, launch.scatter};
  for (const GridTerm& term : launch.grid) f.blocks += (evaluate(term.elems, typical) + term.per_block - 1) / term.per_block;
  return f;
}

}  // namespace

ReportFacts gather_report(const Compilation& c, const Target& target) {
  const Graph& graph = c.rewritten;
  ReportFacts facts;
  CostModel model(graph, target);
  const auto beside = absorbed_by(c);
  auto names = [&](const std::vector<ValueId>& values) {
    std::vector<std::string> list;
    for (ValueId v : values) list.push_back(graph[v].name);
    return list;
  };
  for (size_t i = 0; i < c.segmentation.segments.size(); ++i) {
    const Segment& segment = c.segmentation.segments[i];
    SegmentFacts f;
    f.kernel = graph.name + "_s" + std::to_string(i);
    for (OpId op : segment.ops) {
      const std::string& name = graph.name_of(op);
      f.ops.push_back(name);
      if (!graph[op].origin.empty() && graph[op].origin != name) facts.origin[name] = graph[op].origin;
      if (auto at = beside.find(name); at != beside.end()) f.ops.insert(f.ops.end(), at->second.begin(), at->second.end());
    }
    for (OpId op : segment.recomputed) f.recomputed.push_back(graph.name_of(op));
    f.inputs = names(segment.inputs);
    f.outputs = names(segment.outputs);
    f.cost = model.cost_of(segment);
    add_bytes(facts.bytes, byte_sum(f.cost.bytes_read, f.cost.bytes_written));
    facts.us += f.cost.us;
    facts.recomputed_ops += static_cast<int64_t>(f.recomputed.size());
    facts.segments.push_back(std::move(f));
  }
  if (c.program) {
    const SymbolValues typical = typical_values(graph.symbols);
    for (const Launch& launch : c.program->launches) {
      if (launch.kind != Launch::kKernel || launch.segment >= facts.segments.size()) continue;
      SegmentFacts& f = facts.segments[launch.segment];
      if (f.launches.empty()) f.kernel = launch.kernel;
      f.launches.push_back(facts_of(launch, typical));
    }
  }
  facts.launches = static_cast<int64_t>(c.program ? c.program->launches.size() : facts.segments.size());
  for (const Edge& e : c.segmentation.edges) {
    facts.edge_value_bytes.push_back(model.bytes_of(e.value));
    add_bytes(facts.edge_bytes, facts.edge_value_bytes.back());
  }
  facts.narrow_bytes.resize(c.segmentation.edges.size());
  for (const CostModel::WideEdge& wide : model.wide_edges(c.segmentation)) {
    facts.narrow_bytes[wide.edge] = wide.narrow_bytes;
    ++facts.wide_edges;
  }
  facts.lower_bound_bytes = model.lower_bound_bytes();
  for (const auto& [dropped, kept] : c.log.merged) facts.merged[dropped] = c.log.standing_for(kept);
  return facts;
}

}  // namespace fusec
