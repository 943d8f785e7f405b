#include "report/html.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "driver/explain.h"
#include "emit/report_facts.h"
#include "report/kernel_text.h"
#include "report/page.h"
#include "report/picture.h"
#include "support/quantity.h"
#include "support/version.h"

namespace fusec {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kTallest = 3.5;
constexpr size_t kMostDrawn = 30000;  // ops; of larger graphs the segments alone are drawn

double rounded(double value, double digits = 100) { return std::round(value * digits) / digits; }

Json box_json(const Box& b) { return {rounded(b.x, 10), rounded(b.y, 10), rounded(b.w, 10), rounded(b.h, 10)}; }

class Page {
 public:
  Page(const Compilation& c, const Target& target, const std::map<std::string, KernelResources>& resources, const HtmlOptions& options)
      : c_(c),
        graph_(c.rewritten),
        target_(target),
        resources_(resources),
        options_(options),
        facts_(gather_report(c, target)),
        story_(explain(c, target, {})) {}

  Json data() {
    Json json = {{"graph", graph_.name}, {"doc", c_.graph.doc}, {"fusec", kVersion}, {"arch", target_.arch}, {"totals", totals()}};
    json["copy_gbps"] = options_.measured ? rounded(options_.measured->limit_gbps) : rounded(target_.bandwidth_gbps);
    json["device"] = options_.measured ? Json(options_.measured->device) : Json();
    add_picture(json);
    json["segments"] = Json::array();
    for (size_t s = 0; s < story_.segments.size(); ++s) json["segments"].push_back(segment(s));
    json["cuts"] = Json::array();
    for (const CutStory& cut : story_.cuts)
      json["cuts"].push_back({{"value", cut.value},
                              {"type", cut.type},
                              {"bytes", cut.bytes},
                              {"from", cut.from},
                              {"to", cut.to},
                              {"wide", cut.wide},
                              {"rule", cut.rule},
                              {"why", cut.why}});
    json["groups"] = Json::array();
    for (const GroupStory& g : story_.groups)
      json["groups"].push_back({{"ops", g.ops},
                                {"segment", g.segment},
                                {"whole", g.whole},
                                {"rule", g.rule},
                                {"why", g.why},
                                {"again", g.again},
                                {"wide", g.wide_type},
                                {"kept", g.kept_bytes}});
    json["merged"] = facts_.merged.empty() ? Json::object() : Json(facts_.merged);
    return json;
  }

 private:
  Json totals() const {
    Json json = {{"segments", facts_.segments.size()},
                 {"launches", facts_.launches},
                 {"bytes", facts_.bytes},
                 {"lower_bound_bytes", facts_.lower_bound_bytes},
                 {"edge_bytes", facts_.edge_bytes},
                 {"wide_edges", facts_.wide_edges},
                 {"recomputed_ops", facts_.recomputed_ops},
                 {"us", rounded(facts_.us)},
                 {"measured_us", nullptr}};
    if (options_.measured) json["measured_us"] = rounded(options_.measured->us);
    return json;
  }

  // [x, y, w, h, kind, name, caption, type, dtype, bytes, segment, copy, group, outputs, origin] a node, [from, to, value, dtype, bytes,
  // crosses, curve] a link: short, as there are thousands.
  void add_picture(Json& json) {
    Picture picture = make_picture(graph_, c_.segmentation);
    Picture by_dot = picture;
    // A long chain drawn by dot is a thread; layers are folded into columns.
    const bool good = options_.use_dot && place_with_dot(by_dot, options_.dot_timeout_ms) && by_dot.height < kTallest * by_dot.width;
    if (good) picture = std::move(by_dot);
    else place_in_layers(picture);
    json["layout"] = picture.layout;
    json["boxes"] = Json::array();
    for (const Box& box : picture.segments) json["boxes"].push_back(box_json(box));
    json["nodes"] = Json::array();
    json["links"] = Json::array();
    json["drawn"] = picture.nodes.size() <= kMostDrawn;
    if (picture.nodes.size() > kMostDrawn) return;
    IdVec<OpId, int64_t> group_of(graph_.ops.size(), -1);
    for (size_t g = 0; g < c_.segmentation.cast_groups.size(); ++g)
      for (OpId op : c_.segmentation.cast_groups[g].ops) group_of[op] = static_cast<int64_t>(g);
    std::map<ValueId, std::vector<std::string>> outputs;
    for (const Output& o : graph_.outputs) outputs[o.value].push_back(o.name);
    for (const PictureNode& n : picture.nodes) {
      const Value& value = graph_[n.value];
      Json node = box_json(n.box);
      const std::string type = std::string(name_of(value.dtype)) + to_string(value.shape, graph_.symbols);
      const Json outs = n.copy || !outputs.contains(n.value) ? Json::array() : Json(outputs[n.value]);
      node.insert(node.end(), {n.is_input ? "in" : "op", n.label, n.is_input ? "input" : n.caption, type, name_of(value.dtype),
                               value_bytes(n.value), n.is_input ? Json() : Json(n.segment), n.copy ? 1 : 0,
                               n.is_input ? int64_t{-1} : group_of[n.op], outs, n.is_input ? "" : graph_[n.op].origin});
      json["nodes"].push_back(std::move(node));
    }
    for (const PictureLink& link : picture.links) {
      Json points = Json::array();
      for (const auto& [x, y] : link.curve) points.insert(points.end(), {rounded(x, 10), rounded(y, 10)});
      json["links"].push_back({link.from, link.to, graph_[link.value].name, name_of(graph_[link.value].dtype), value_bytes(link.value),
                               link.crosses ? 1 : 0, points});
    }
  }

  int64_t value_bytes(ValueId v) {
    if (!model_) model_.emplace(graph_, target_);
    return model_->bytes_of(v);
  }

  Json launch(const LaunchFacts& l) const {
    Json json = {
        {"kernel", l.kernel}, {"blocks", l.blocks}, {"threads", l.block}, {"shared", l.shared_bytes}, {"schedule", Json::object()}};
    for (const auto& [name, value] : l.schedule) json["schedule"][name] = value;
    if (!l.scatter.schedule.empty()) json["schedule"]["scatter"] = l.scatter.schedule;
    if (!l.scatter.why.empty()) json["schedule"]["scatter_why"] = l.scatter.why;
    json["phases"] = l.phases;
    json["why"] = l.why;
    const auto at = resources_.find(l.kernel);
    json["registers"] = at == resources_.end() ? Json() : Json(at->second.registers);
    json["spills"] = at == resources_.end() ? Json() : Json(at->second.spill_bytes);
    json["code"] = c_.program ? kernel_text(c_.program->cuda_source, l.kernel) : "";
    return json;
  }

  Json segment(size_t s) const {
    const SegmentStory& story = story_.segments[s];
    const SegmentFacts& f = facts_.segments[s];
    Json json = {{"kernel", f.kernel},
                 {"kind", story.kind},
                 {"ops", f.ops},
                 {"recomputed", story.recomputed},
                 {"reads", story.inputs},
                 {"writes", story.outputs},
                 {"bytes_read", story.bytes_read},
                 {"bytes_written", story.bytes_written},
                 {"us", rounded(story.us)},
                 {"measured_us", nullptr},
                 {"kept", story.kept_bytes},
                 {"launches", Json::array()},
                 {"remade", nullptr}};
    if (options_.measured)
      if (const auto at = options_.measured->segment_us.find(static_cast<uint32_t>(s)); at != options_.measured->segment_us.end())
        json["measured_us"] = rounded(at->second);
    for (const LaunchFacts& l : f.launches) json["launches"].push_back(launch(l));
    for (const RemakeStory& r : story_.remakes)
      if (r.segment == s)
        json["remade"] = {{"instead_of", r.instead_of},        {"bytes", r.bytes}, {"stored_bytes", r.stored_bytes}, {"us", rounded(r.us)},
                          {"stored_us", rounded(r.stored_us)}, {"must", r.must}};
    return json;
  }

  const Compilation& c_;
  const Graph& graph_;
  const Target& target_;
  const std::map<std::string, KernelResources>& resources_;
  const HtmlOptions& options_;
  const ReportFacts facts_;
  const Explanation story_;
  std::optional<CostModel> model_;
};

// Inside a <script>: nothing that ends it or starts a comment, whatever the names and texts of the graph are.
std::string script_safe(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (char c : json) {
    if (c == '<') text += "\\u003c";
    else if (c == '>') text += "\\u003e";
    else if (c == '&') text += "\\u0026";
    else text += c;
  }
  return text;
}

std::string html_safe(const std::string& text) {
  std::string safe;
  for (char c : text) {
    if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else if (c == '&') safe += "&amp;";
    else if (c == '"') safe += "&quot;";
    else if (c == '\'') safe += "&#39;";
    else safe += c;
  }
  return safe;
}

}  // namespace

std::string report_html(const Compilation& c, const Target& target, const std::map<std::string, KernelResources>& resources,
                        const HtmlOptions& options) {
  // (ASCII only: what U+2028 and its like do to scripts need not be known)
  const std::string data = Page(c, target, resources, options).data().dump(-1, ' ', true, Json::error_handler_t::replace);
  const std::map<std::string, std::string> parts = {
      {"TITLE", html_safe(c.rewritten.name)}, {"STYLE", kPageStyle}, {"SCRIPT", kPageScript}, {"DATA", script_safe(data)}};
  // @@NAME@@ in the frame; what is put in is not looked at again.
  std::string page, rest = kPageFrame;
  for (size_t at; (at = rest.find("@@")) != std::string::npos;) {
    const size_t end = rest.find("@@", at + 2);
    page += rest.substr(0, at) + parts.at(rest.substr(at + 2, end - at - 2));
    rest = rest.substr(end + 2);
  }
  return page + rest;
}

MeasuredTimes read_measured(const std::string& text, const std::string& graph) {
  const auto json = Json::parse(text, nullptr, false);
  auto refuse = [](const std::string& why) { throw Failure(Exit::kBadInput, "--measured: " + why); };
  const bool good = json.is_object() && json.contains("graph") && json["graph"].is_string() && json.contains("us") &&
                    json["us"].is_object() && json["us"].contains("median") && json["us"]["median"].is_number() &&
                    json.contains("per_segment") && json["per_segment"].is_array();
  if (!good) refuse("not what 'fusec run GRAPH --bench --json' prints");
  if (json["graph"] != graph) refuse("times of the graph '" + json["graph"].get<std::string>() + "', not of '" + graph + "'");
  MeasuredTimes times;
  times.device = json.value("device", "");
  times.us = json["us"]["median"];
  times.limit_gbps = json.contains("limit_gbps") && json["limit_gbps"].is_number() ? json["limit_gbps"].get<double>() : 0;
  for (const auto& one : json["per_segment"]) {
    const bool known =
        one.is_object() && one.contains("id") && one["id"].is_number_unsigned() && one.contains("us") && one["us"].is_number();
    if (!known) refuse("not what 'fusec run GRAPH --bench --json' prints");
    times.segment_us[one["id"].get<uint32_t>()] = one["us"];
  }
  return times;
}

}  // namespace fusec
