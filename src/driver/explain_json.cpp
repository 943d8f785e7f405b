#include <cmath>
#include <nlohmann/json.hpp>

#include "driver/explain.h"
#include "support/version.h"

namespace fusec {

namespace {

using Json = nlohmann::ordered_json;

double rounded(double us) { return std::round(us * 100) / 100; }

Json to_json(const SegmentationTotals& t) {
  return {{"segments", t.segments},       {"bytes", t.bytes},           {"lower_bound_bytes", t.lower_bound_bytes},
          {"edge_bytes", t.edge_bytes},   {"wide_edges", t.wide_edges}, {"recomputed_ops", t.recomputed_ops},
          {"estimated_us", rounded(t.us)}};
}

Json to_json(const SegmentStory& s, size_t id) {
  return {{"id", id},
          {"kind", s.kind},
          {"ops", s.ops},
          {"recomputed", s.recomputed},
          {"inputs", s.inputs},
          {"outputs", s.outputs},
          {"bytes_read", s.bytes_read},
          {"bytes_written", s.bytes_written},
          {"estimated_us", rounded(s.us)},
          {"never_in_memory", s.kept_on_chip},
          {"never_in_memory_bytes", s.kept_bytes}};
}

Json to_json(const CutStory& c) {
  return {{"value", c.value}, {"type", c.type}, {"bytes", c.bytes}, {"from", c.from},
          {"to", c.to},       {"wide", c.wide}, {"rule", c.rule},   {"why", c.why}};
}

Json to_json(const GroupStory& g, size_t id) {
  Json json = {{"id", id},
               {"ops", g.ops},
               {"reads", g.reads},
               {"leaves", g.leaves},
               {"segment", g.segment},
               {"whole", g.whole},
               {"made_again_in", g.again},
               {"wide_dtype", g.wide_type},
               {"never_in_memory_bytes", g.kept_bytes}};
  if (!g.whole) json.update({{"rule", g.rule}, {"why", g.why}});
  return json;
}

Json to_json(const RemakeStory& r) {
  Json json = {{"segment", r.segment}, {"ops", r.ops}, {"instead_of", r.instead_of}, {"bytes", r.bytes}, {"estimated_us", rounded(r.us)}};
  if (r.must.empty()) json.update({{"stored_bytes", r.stored_bytes}, {"stored_estimated_us", rounded(r.stored_us)}});
  else json["must"] = r.must;
  return json;
}

Json to_json(const NeighbourStory& n) {
  constexpr const char* where[] = {"here", "made_again", "memory", "input"};
  Json json = {{"value", n.value}, {"type", n.type}, {"is", n.producer ? "operand" : "user"}, {"where", where[n.where]}};
  if (n.where != NeighbourStory::kInput) json["segment"] = n.segment;
  if (n.where == NeighbourStory::kMemory) json.update({{"rule", n.rule}, {"why", n.why}});
  return json;
}

Json to_json(const ValueStory& v) {
  Json json = {{"name", v.name}};
  if (!v.standing_for.empty()) json["standing_for"] = v.standing_for;
  if (!v.note.empty()) json["note"] = v.note;
  json["segment"] = nullptr;
  if (!v.is_op) return json;
  json.update({{"segment", v.segment},
               {"op", v.op},
               {"type", v.type},
               {"bytes", v.bytes},
               {"made_again_in", v.again},
               {"stored", v.stored},
               {"output", v.is_output}});
  if (v.expanded.size() > 1) json["steps"] = v.expanded;
  json["cast_group"] = v.group ? Json(*v.group) : Json();
  if (!v.group) json["no_cast_group"] = v.no_group;
  json["neighbours"] = Json::array();
  for (const NeighbourStory& n : v.neighbours) json["neighbours"].push_back(to_json(n));
  return json;
}

Json to_json(const WhatIfStory& w) {
  Json json = {{"asked", w.text}, {"merge", w.merge}, {"already", w.as_is}, {"possible", w.possible}};
  if (!w.possible) json.update({{"rule", w.rule}, {"why", w.why}});
  json["between"] = w.between;
  json["before"] = to_json(w.before);
  if (!w.possible) return json;
  json["after"] = to_json(w.after);
  json["changed_segments"] = Json::array();
  for (const WhatIfStory::Part& part : w.changed)
    json["changed_segments"].push_back({{"kind", part.kind}, {"ops", part.ops}, {"recomputed", part.recomputed}});
  return json;
}

Json to_json(const PairStory& p) {
  Json json = {{"values", {p.a, p.b}}, {"together", p.together}, {"made_again", p.made_again}, {"segments", {p.segment_a, p.segment_b}}};
  if (!p.why.empty()) json.update({{"rule", p.rule}, {"why", p.why}});
  json["cast_group"] = p.group ? Json(*p.group) : Json();
  json["what_if"] = to_json(p.what_if);
  return json;
}

template <class Story>
Json list(const std::vector<Story>& stories) {
  Json json = Json::array();
  for (size_t i = 0; i < stories.size(); ++i) {
    if constexpr (requires { to_json(stories[i], i); }) json.push_back(to_json(stories[i], i));
    else json.push_back(to_json(stories[i]));
  }
  return json;
}

}  // namespace

std::string explanation_json(const Explanation& e) {
  const Json json = {{"version", 1},
                     {"graph", e.graph},
                     {"fusec", kVersion},
                     {"arch", e.arch},
                     {"totals", to_json(e.totals)},
                     {"segments", list(e.segments)},
                     {"cuts", list(e.cuts)},
                     {"recomputed", list(e.remakes)},
                     {"cast_groups", list(e.groups)},
                     {"values", list(e.values)},
                     {"pairs", list(e.pairs)},
                     {"what_if", list(e.what_ifs)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fusec
