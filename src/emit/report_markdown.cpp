#include <algorithm>

#include "emit/report.h"
#include "emit/report_facts.h"
#include "support/quantity.h"

namespace fusec {

namespace {

constexpr size_t kListed = 40;  // ops named in a row; the JSON report has them all

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kListed); ++i) text += (i ? " `" : "`") + names[i] + "`";
  if (names.size() > kListed) text += " … (" + std::to_string(names.size()) + " in all)";
  return names.empty() ? "–" : text;
}

std::string segment_text(size_t id, const Segment& segment, const SegmentFacts& f,
                         const std::map<std::string, KernelResources>& resources) {
  std::string text = "### Segment " + std::to_string(id) + ": " + name_of(segment.kind) + ", `" + f.kernel + "`\n\n";
  text += "- ops: " + list_text(f.ops) + "\n";
  if (!f.recomputed.empty()) text += "- recomputed: " + list_text(f.recomputed) + "\n";
  text += "- reads: " + list_text(f.inputs) + " (" + size_text(f.cost.bytes_read) + ")\n";
  text += "- writes: " + list_text(f.outputs) + " (" + size_text(f.cost.bytes_written) + ")\n";
  text += "- estimated: " + us_text(f.cost.us) + " µs\n";
  for (const LaunchFacts& l : f.launches) {
    text += "- launch `" + l.kernel + "`: " + std::to_string(l.blocks) + " blocks of " + std::to_string(l.block) + " threads";
    if (l.shared_bytes) text += ", " + size_text(l.shared_bytes) + " shared";
    for (const auto& [name, value] : l.schedule) text += ", " + name + " " + std::to_string(value);
    if (!l.scatter.schedule.empty()) text += ", scatter " + l.scatter.schedule;
    if (!l.scatter.why.empty()) text += " (" + l.scatter.why + ")";
    if (auto at = resources.find(l.kernel); at != resources.end())
      text += ", " + std::to_string(at->second.registers) + " registers" +
              (at->second.spill_bytes ? ", " + std::to_string(at->second.spill_bytes) + " B spilled" : "");
    text += "\n";
    if (l.phases.empty()) continue;
    text += "  - phases of one block, with barriers between them: ";
    for (size_t i = 0; i < l.phases.size(); ++i) text += (i > 0 ? "; " : "") + list_text(l.phases[i]);
    text += "\n  - one launch: " + l.why + "\n";
  }
  return text + "\n";
}

}  // namespace

std::string report_markdown(const Compilation& c, const Target& target, const std::map<std::string, KernelResources>& resources) {
  const Graph& graph = c.rewritten;
  const ReportFacts facts = gather_report(c, target);
  std::string text = "# " + graph.name + " for " + target.arch + "\n\n";
  text +=
      "| segments | launches | bytes | least bytes | between segments | recomputed ops | estimated µs |\n| --- | --- | --- | --- | --- | "
      "--- | --- |\n";
  text += "| " + std::to_string(facts.segments.size()) + " | " + std::to_string(facts.launches) + " | " + size_text(facts.bytes) + " | " +
          size_text(facts.lower_bound_bytes) + " | " + size_text(facts.edge_bytes) + " | " + std::to_string(facts.recomputed_ops) + " | " +
          us_text(facts.us) + " |\n\n";
  text += "## Segments\n\n";
  for (size_t i = 0; i < facts.segments.size(); ++i) text += segment_text(i, c.segmentation.segments[i], facts.segments[i], resources);
  if (!c.segmentation.edges.empty()) {
    text += "## Edges\n\n| value | dtype | bytes | from | to | why |\n| --- | --- | --- | --- | --- | --- |\n";
    for (size_t i = 0; i < c.segmentation.edges.size(); ++i) {
      const Edge& e = c.segmentation.edges[i];
      std::string to;
      for (uint32_t t : e.to) to += (to.empty() ? "" : ", ") + std::to_string(t);
      text += "| `" + graph[e.value].name + "` | " + std::string(name_of(graph[e.value].dtype)) + " | " +
              size_text(facts.edge_value_bytes[i]) + " | " + std::to_string(e.from) + " | " + to + " | " + e.why + " |\n";
    }
    text += "\n";
  }
  if (!c.segmentation.cast_groups.empty()) {
    const auto& groups = c.segmentation.cast_groups;
    const auto cut = static_cast<size_t>(std::count_if(groups.begin(), groups.end(), [](const CastGroup& g) { return !g.whole; }));
    text += "## Cast groups\n\n" + std::to_string(groups.size()) + " found, " + std::to_string(groups.size() - cut) + " whole.\n\n";
    for (const CastGroup& group : groups) {
      if (group.whole) continue;
      std::vector<std::string> names;
      for (OpId op : group.ops) names.push_back(graph.name_of(op));
      text += "- " + list_text(names) + ": " + group.why + "\n";
    }
    if (cut) text += "\n";
  }
  if (!facts.merged.empty()) {
    text += "## Merged ops\n\n";
    for (const auto& [dropped, kept] : facts.merged) text += "- `" + dropped + "` → `" + kept + "`\n";
    text += "\n";
  }
  if (!c.log.deterministic.empty()) {
    text += "## Deterministic\n\n";
    for (const auto& [scatter, why] : c.log.deterministic) text += "- `" + scatter + "`: " + why + "\n";
    text += "\n";
  }
  if (!c.log.inverted.empty()) {
    text += "## Sorts of permutations\n\n";
    for (const auto& [sort, what] : c.log.inverted) text += "- `" + sort + "`: " + what + "\n";
    text += "\n";
  }
  return text;
}

}  // namespace fusec
