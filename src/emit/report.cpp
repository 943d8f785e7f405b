#include "emit/report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "emit/report_facts.h"
#include "parser/write_graph.h"
#include "support/version.h"

namespace fusec {

namespace {

using Json = nlohmann::ordered_json;

Json launch_json(const LaunchFacts& l) {
  Json json = {{"grid", {l.blocks, 1, 1}}, {"block", {l.block, 1, 1}}, {"shared_bytes", l.shared_bytes}};
  // What the phases of one block store, between barriers, and why they share a launch.
  if (!l.phases.empty()) json["phases"] = l.phases, json["why"] = l.why;
  return json;
}

Json schedule_json(const LaunchFacts& l) {
  Json json = Json::object();
  for (const auto& [name, value] : l.schedule) json[name] = value;
  if (!l.scatter.schedule.empty()) json["scatter"] = l.scatter.schedule;
  if (!l.scatter.why.empty()) json["scatter_why"] = l.scatter.why;
  return json;
}

Json segment_json(size_t id, const Segment& segment, const SegmentFacts& f, const std::map<std::string, KernelResources>& resources) {
  Json json = {{"id", id},
               {"kernel", f.kernel},
               {"kind", name_of(segment.kind)},
               {"ops", f.ops},
               {"recomputed", f.recomputed},
               {"inputs", f.inputs},
               {"outputs", f.outputs},
               {"bytes_read", f.cost.bytes_read},
               {"bytes_written", f.cost.bytes_written},
               {"estimated_us", std::round(f.cost.us * 100) / 100}};
  if (!f.launches.empty()) json["launch"] = launch_json(f.launches[0]);
  if (f.launches.size() > 1) {
    // The launches of one segment, in order, each with its kernel.
    json["launches"] = Json::array();
    for (const LaunchFacts& l : f.launches) {
      Json one = {{"kernel", l.kernel}};
      one.update(launch_json(l));
      one["schedule"] = schedule_json(l);
      json["launches"].push_back(std::move(one));
    }
  }
  if (auto at = resources.find(f.kernel); at != resources.end()) {
    json["registers"] = at->second.registers;
    json["spill_bytes"] = at->second.spill_bytes;
  }
  if (!f.launches.empty()) json["schedule"] = schedule_json(f.launches[0]);
  return json;
}

}  // namespace

std::string report_json(const Compilation& c, const Target& target, const std::map<std::string, KernelResources>& resources,
                        bool with_source) {
  const Graph& graph = c.rewritten;
  const ReportFacts facts = gather_report(c, target);
  Json json = {{"version", 1}, {"graph", graph.name}, {"fusec", kVersion}, {"arch", target.arch}};
  json["segments"] = Json::array();
  for (size_t i = 0; i < facts.segments.size(); ++i)
    json["segments"].push_back(segment_json(i, c.segmentation.segments[i], facts.segments[i], resources));
  json["cast_groups"] = Json::array();
  for (size_t i = 0; i < c.segmentation.cast_groups.size(); ++i) {
    const CastGroup& group = c.segmentation.cast_groups[i];
    Json one = {{"id", i}, {"ops", Json::array()}, {"segment", group.segment}, {"whole", group.whole}};
    for (OpId op : group.ops) one["ops"].push_back(graph.name_of(op));
    if (!group.whole) one["why"] = group.why;
    json["cast_groups"].push_back(std::move(one));
  }
  json["edges"] = Json::array();
  for (size_t i = 0; i < c.segmentation.edges.size(); ++i) {
    const Edge& e = c.segmentation.edges[i];
    json["edges"].push_back({{"value", graph[e.value].name},
                             {"dtype", name_of(graph[e.value].dtype)},
                             {"bytes", facts.edge_value_bytes[i]},
                             {"from", e.from},
                             {"to", e.to},
                             {"why", e.why}});
    if (facts.narrow_bytes[i] > 0) json["edges"].back()["narrow_bytes"] = facts.narrow_bytes[i];
  }
  json["origin"] = facts.origin.empty() ? Json::object() : Json(facts.origin);
  json["merged"] = facts.merged.empty() ? Json::object() : Json(facts.merged);
  if (!c.log.deterministic.empty()) json["deterministic"] = c.log.deterministic;
  if (!c.log.inverted.empty()) json["inverted"] = c.log.inverted;
  json["totals"] = {{"segments", facts.segments.size()},
                    {"launches", facts.launches},
                    {"edge_bytes", facts.edge_bytes},
                    {"wide_edges", facts.wide_edges},
                    {"bytes", facts.bytes},
                    {"lower_bound_bytes", facts.lower_bound_bytes},
                    {"recomputed_ops", facts.recomputed_ops},
                    {"estimated_us", std::round(facts.us * 100) / 100}};
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  if (!with_source) return text + "\n";
  // The graph's text as it is: one line an op.
  std::string source = write_graph(c.graph);
  while (!source.empty() && source.back() == '\n') source.pop_back();
  text.resize(text.size() - std::string_view("\n}").size());
  return text + ",\n \"source\": " + source + "\n}\n";
}

}  // namespace fusec
