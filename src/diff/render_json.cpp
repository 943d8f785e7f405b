#include <nlohmann/json.hpp>

#include "diff/render.h"

namespace fusec {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

Json side_json(const Side& side) {
  static constexpr const char* kKinds[] = {"graph", "report", "folder"};
  Json json = {{"path", side.path}, {"kind", kKinds[side.kind]}, {"graph", side.name()}};
  json["arch"] = side.report ? Json(side.report->arch) : Json();
  return json;
}

Json spot_json(const Spot& spot) {
  Json json = {{"name", spot.name}};
  if (!spot.op.empty()) json["op"] = spot.op;
  if (!spot.type.empty()) json["type"] = spot.type;
  json["line"] = spot.line ? Json(spot.line) : Json();
  return json;
}

template <class List, class ToJson>
Json array(const List& list, ToJson to_json) {
  Json json = Json::array();
  for (const auto& one : list) json.push_back(to_json(one));
  return json;
}

Json changes_json(const std::vector<Change>& changes) {
  return array(changes, [](const Change& c) {
    Json json = {{"what", c.what}};
    if (!c.name.empty()) json["name"] = c.name;
    json["a"] = c.a.empty() ? Json() : Json(c.a);
    json["b"] = c.b.empty() ? Json() : Json(c.b);
    return json;
  });
}

Json changed_json(const ChangedSpot& spot) {
  return {{"a", spot_json(spot.a)}, {"b", spot_json(spot.b)}, {"changes", changes_json(spot.changes)}};
}

Json list_json(const std::vector<Spot>& list) { return array(list, spot_json); }
Json list_json(const std::vector<ChangedSpot>& list) { return array(list, changed_json); }

Json graph_json(const GraphDiff& d) {
  auto three = [](const std::vector<ChangedSpot>& changed, const std::vector<Spot>& added, const std::vector<Spot>& removed,
                  bool reordered) {
    return Json{{"changed", list_json(changed)}, {"added", list_json(added)}, {"removed", list_json(removed)}, {"reordered", reordered}};
  };
  return {{"same", d.same()},
          {"matched_by", d.by_name ? "name" : "structure"},
          {"ops", {{"a", d.ops_a}, {"b", d.ops_b}, {"matched", d.matched}}},
          {"changed", list_json(d.changed)},
          {"added", list_json(d.added)},
          {"removed", list_json(d.removed)},
          {"follow", list_json(d.follow)},
          {"inputs", three(d.inputs_changed, d.inputs_added, d.inputs_removed, d.inputs_reordered)},
          {"outputs", three(d.outputs_changed, d.outputs_added, d.outputs_removed, d.outputs_reordered)},
          {"sizes", list_json(d.sizes_changed)}};
}

Json view_json(const std::optional<EdgeView>& edge) {
  if (!edge) return {};
  Json json = {{"value", edge->value}, {"dtype", edge->dtype}, {"bytes", edge->bytes}, {"from", edge->from}, {"to", edge->to}};
  json["narrow_bytes"] = edge->narrow_bytes ? Json(*edge->narrow_bytes) : Json();
  json["why"] = edge->why;
  return json;
}

Json edge_json(const EdgeChange& e) {
  Json json = {{"change", word_of(e.kind)}, {"op", spot_json(e.spot)}, {"a", view_json(e.a)}, {"b", view_json(e.b)}};
  json["cause"] = e.cause ? changed_json(*e.cause) : Json();
  return json;
}

Json segments_json(const SegmentDiff& d) {
  Json json = {{"same", d.same_segments()}, {"a", d.segments_a}, {"b", d.segments_b}};
  json["recut"] = array(d.recuts, [](const Recut& r) { return Json{{"change", word_of(r.kind)}, {"a", r.a}, {"b", r.b}, {"why", r.why}}; });
  json["changed"] =
      array(d.changed, [](const SegmentChange& s) { return Json{{"a", s.a}, {"b", s.b}, {"changes", changes_json(s.changes)}}; });
  json["cut_cast_groups"] = array(d.cut_groups, [](const CastGroupView& g) { return Json{{"ops", g.ops}, {"why", g.why}}; });
  json["edges"] = array(d.edges, edge_json);
  json["wide_edges"] = array(d.wide, edge_json);
  return json;
}

// Counts are written as integers.
Json number(const std::optional<double>& n) {
  if (!n) return {};
  constexpr double kExact = 9007199254740992;  // beyond 2^53 doubles are no counts
  if (!(*n > -kExact && *n < kExact)) return *n;
  const auto whole = static_cast<int64_t>(*n);
  return static_cast<double>(whole) == *n ? Json(whole) : Json(*n);
}

Json cost_json(const SegmentDiff& d) {
  Json json = {{"same", d.same_cost()}};
  for (const Metric& m : d.cost) json[m.name] = {{"a", number(m.a)}, {"b", number(m.b)}};
  return json;
}

}  // namespace

std::string render_json(const Comparison& c, const std::vector<Verdict>& verdicts, const RenderOptions& options, bool differs) {
  Json json = {{"version", kSchema}, {"a", side_json(c.a)}, {"b", side_json(c.b)}, {"differs", differs}};
  json["fail_on"] = array(verdicts, [](const Verdict& v) { return Json{{"rule", v.rule.text}, {"broken", v.broken}, {"why", v.why}}; });
  json["graph"] = options.graph ? graph_json(c.graph) : Json();
  json["segments"] = options.segments && c.segments ? segments_json(*c.segments) : Json();
  json["cost"] = options.cost && c.segments ? cost_json(*c.segments) : Json();
  json["notes"] = c.notes;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fusec
