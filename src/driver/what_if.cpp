#include "driver/what_if.h"

#include <algorithm>
#include <set>

#include "support/byte_sum.h"
#include "support/text.h"

namespace fusec {

namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Failure(Exit::kBadInput, "--what-if " + quoted(text) + ": " + why);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> words{""};
  for (char c : text) {
    if (c == at) words.emplace_back();
    else words.back() += c;
  }
  return words;
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<OpId>& ops) {
  std::vector<std::string> names;
  for (OpId op : ops) names.push_back(graph.name_of(op));
  return names;
}

}  // namespace

// --- names ---------------------------------------------------------------------------------------------------------------

NameTable::NameTable(const Compilation& c) : compilation_(c) {
  for (size_t i = 0; i < c.rewritten.ops.size(); ++i)
    for (ValueId v : c.rewritten[OpId(i)].out)
      if (v.valid()) ops_.emplace(c.rewritten[v].name, OpId(i));
  for (const Input& input : c.graph.inputs) written_.emplace(c.graph[input.value].name, 1);
  for (const Op& op : c.graph.ops)
    for (ValueId v : op.out)
      if (v.valid()) written_.emplace(c.graph[v].name, 0);
}

Subject NameTable::find(const std::string& name) const {
  const std::string& standing = compilation_.log.standing_for(name);
  if (const auto at = ops_.find(standing); at != ops_.end()) return {standing, at->second, false};
  if (const auto at = written_.find(name); at != written_.end()) return {name, {}, at->second == 0};
  std::vector<std::string_view> known;
  for (const auto& [one, op] : ops_) known.push_back(one);
  for (const auto& [one, input] : written_) known.push_back(one);
  const std::string near = nearest(name, known);
  throw Failure(Exit::kBadInput, "the graph has no value " + quoted(name) + (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

std::optional<size_t> segment_number(const std::string& word) {
  if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return word.size() > 9 ? SIZE_MAX : std::stoul(word);
}

// --- totals --------------------------------------------------------------------------------------------------------------

SegmentationTotals totals_of(const Graph& graph, const Segmentation& segmentation, const Target& target) {
  SegmentationTotals totals;
  CostModel model(graph, target);
  totals.segments = segmentation.segments.size();
  for (const Segment& segment : segmentation.segments) {
    const SegmentCost cost = model.cost_of(segment);
    add_bytes(totals.bytes, byte_sum(cost.bytes_read, cost.bytes_written));
    totals.us += cost.us;
    totals.recomputed_ops += segment.recomputed.size();
  }
  for (const Edge& edge : segmentation.edges) add_bytes(totals.edge_bytes, model.bytes_of(edge.value));
  for (const CostModel::WideEdge& wide : model.wide_edges(segmentation))
    totals.wide_edges.push_back(graph[segmentation.edges[wide.edge].value].name);
  totals.lower_bound_bytes = model.lower_bound_bytes();
  return totals;
}

// --- questions -----------------------------------------------------------------------------------------------------------

WhatIf::WhatIf(const Compilation& compilation, const Target& target, const NameTable& names)
    : compilation_(compilation),
      target_(target),
      names_(names),
      before_(totals_of(compilation.rewritten, compilation.segmentation, target)),
      home_(compilation.rewritten.ops.size(), UINT32_MAX) {
  const auto& segments = compilation.segmentation.segments;
  for (uint32_t s = 0; s < segments.size(); ++s)
    for (OpId op : segments[s].ops) home_[op] = s;
}

OpId WhatIf::op_named(const std::string& name, const std::string& text) const {
  if (name.empty()) refuse(text, "write A+B for one kernel, A/B for two, A/ for A in memory");
  const Subject subject = names_.find(name);
  if (subject.gone) refuse(text, "no output needs '" + name + "', so it is in no kernel");
  if (!subject.op.valid()) refuse(text, "'" + name + "' is an input of the graph, in memory already");
  if (home_[subject.op] == UINT32_MAX) refuse(text, "no output needs '" + name + "', so it is in no kernel");
  return subject.op;
}

std::vector<OpId> WhatIf::segment_numbered(const std::string& digits, const std::string& text) const {
  const auto& segments = compilation_.segmentation.segments;
  const size_t number = *segment_number(digits);
  if (number >= segments.size())
    refuse(text, "there is no segment " + digits + "; the last is " + std::to_string(segments.empty() ? 0 : segments.size() - 1));
  return segments[number].ops;
}

WhatIf::Request WhatIf::parse(const std::string& text) const {
  Request request;
  const size_t plus = text.find('+'), slash = text.find('/');
  if ((plus == std::string::npos) == (slash == std::string::npos))
    refuse(text, "write A+B for one kernel, A/B for two, A/ for A in memory");
  if (plus != std::string::npos) {
    for (const std::string& word : split(text, '+')) {
      if (segment_number(word)) {
        const std::vector<OpId> ops = segment_numbered(word, text);
        request.members.insert(request.members.end(), ops.begin(), ops.end());
      } else {
        request.named.push_back(op_named(word, text));
        request.members.push_back(request.named.back());
      }
    }
    std::sort(request.members.begin(), request.members.end());
    request.members.erase(std::unique(request.members.begin(), request.members.end()), request.members.end());
    if (request.members.size() < 2) refuse(text, "names one op only");
    return request;
  }
  request.merge = false;
  const std::vector<std::string> sides = split(text, '/');
  if (sides.size() != 2) refuse(text, "one cut has two sides, as in A/B");
  if (segment_number(sides[0]) || segment_number(sides[1]))
    refuse(text, "a cut is between values; segments are cut from each other already");
  const OpId a = op_named(sides[0], text);
  if (!sides[1].empty()) {
    const OpId b = op_named(sides[1], text);
    if (a == b) refuse(text, "names one op only");
    request.apart.emplace_back(a, b);
    return request;
  }
  const Graph& graph = compilation_.rewritten;
  const auto users = users_of(graph);
  for (ValueId v : graph[a].out)
    if (v.valid())
      for (OpId user : users[v])
        if (home_[user] != UINT32_MAX) request.apart.emplace_back(a, user);
  if (request.apart.empty()) refuse(text, "nothing reads '" + sides[0] + "'; it is an output of the graph");
  return request;
}

bool WhatIf::is_so(const Request& request) const {
  auto evaluates = [&](uint32_t segment, OpId op) {
    const Segment& s = compilation_.segmentation.segments[segment];
    return home_[op] == segment || std::find(s.recomputed.begin(), s.recomputed.end(), op) != s.recomputed.end();
  };
  auto share = [&](OpId a, OpId b) { return evaluates(home_[a], b) || evaluates(home_[b], a); };
  if (request.merge)
    return std::all_of(request.members.begin(), request.members.end(), [&](OpId op) { return home_[op] == home_[request.members[0]]; });
  return std::none_of(request.apart.begin(), request.apart.end(), [&](const auto& pair) { return share(pair.first, pair.second); });
}

WhatIfStory WhatIf::ask(const std::string& text) const {
  const Request request = parse(text);
  const Graph& graph = compilation_.rewritten;
  WhatIfStory story;
  story.text = text;
  story.merge = request.merge;
  story.before = story.after = before_;
  story.as_is = is_so(request);
  if (story.as_is) return story;
  Forced forced;
  if (request.merge) forced.together.push_back(request.members), forced.stored = request.named;
  else forced.apart = request.apart;
  const ForcedSegmentation answer = segment(graph, target_, forced);
  verify(graph, answer.segmentation);
  if (request.merge) {
    story.possible = answer.together[0].possible;
    story.rule = answer.together[0].rule;
    story.why = answer.together[0].why;
    story.between = names_of(graph, answer.together[0].between);
    if (!story.possible) return story;
  }
  story.after = totals_of(graph, answer.segmentation, target_);
  std::set<std::vector<OpId>> known;
  auto ops_of = [](const Segment& s) {
    std::vector<OpId> ops = s.ops;
    ops.insert(ops.end(), s.recomputed.begin(), s.recomputed.end());
    std::sort(ops.begin(), ops.end());
    return ops;
  };
  for (const Segment& s : compilation_.segmentation.segments) known.insert(ops_of(s));
  for (const Segment& s : answer.segmentation.segments)
    if (!known.contains(ops_of(s))) story.changed.push_back({name_of(s.kind), names_of(graph, s.ops), names_of(graph, s.recomputed)});
  return story;
}

}  // namespace fusec
