#include "driver/explain.h"

#include <algorithm>
#include <set>

#include "driver/what_if.h"
#include "graph/print.h"
#include "segment/facts.h"
#include "support/byte_sum.h"
#include "support/quantity.h"

namespace fusec {

namespace {

class Storyteller {
 public:
  Storyteller(const Compilation& c, const Target& target)
      : c_(c),
        target_(target),
        graph_(c.rewritten),
        segments_(c.segmentation.segments),
        facts_(graph_, Facts::Order::kAsListed),
        model_(graph_, target),
        home_(graph_.ops.size(), UINT32_MAX),
        again_(graph_.ops.size()),
        writer_(graph_.values.size(), UINT32_MAX),
        edge_of_(graph_.values.size(), UINT32_MAX),
        group_of_(graph_.ops.size(), UINT32_MAX) {
    for (uint32_t s = 0; s < segments_.size(); ++s) {
      for (OpId op : segments_[s].ops) home_[op] = s;
      for (OpId op : segments_[s].recomputed) again_[op].push_back(s);
      for (ValueId v : segments_[s].outputs) writer_[v] = s;
    }
    for (uint32_t e = 0; e < c.segmentation.edges.size(); ++e) edge_of_[c.segmentation.edges[e].value] = e;
    for (uint32_t g = 0; g < c.segmentation.cast_groups.size(); ++g)
      for (OpId op : c.segmentation.cast_groups[g].ops) group_of_[op] = g;
    for (const CastGroup& group : find_cast_groups(graph_)) left_group_.insert(group.ops.begin(), group.ops.end());
    for (const CostModel::WideEdge& wide : model_.wide_edges(c.segmentation)) wide_.insert(c.segmentation.edges[wide.edge].value);
  }

  SegmentStory segment(uint32_t s);
  CutStory cut(const Edge& edge);
  GroupStory group(uint32_t g);
  RemakeStory remake(uint32_t s);
  ValueStory value(const std::string& asked, const Subject& subject);
  PairStory pair(const std::string& a, OpId op_a, const std::string& b, OpId op_b);
  uint32_t home(OpId op) const { return home_[op]; }

 private:
  std::string type(ValueId v) const { return std::string(name_of(graph_[v].dtype)) + to_string(graph_[v].shape, graph_.symbols); }
  std::vector<std::string> names(const std::vector<OpId>& ops) const {
    std::vector<std::string> list;
    for (OpId op : ops) list.push_back(graph_.name_of(op));
    return list;
  }
  std::vector<std::string> names(const std::vector<ValueId>& values) const {
    std::vector<std::string> list;
    for (ValueId v : values) list.push_back(graph_[v].name);
    return list;
  }
  bool has(uint32_t s, OpId op) const { return home_[op] == s || std::find(again_[op].begin(), again_[op].end(), s) != again_[op].end(); }
  // Neither read, written nor moved by itself: a view, a constant.
  bool costs_nothing(OpId op) const { return facts_.role(op) == Role::kView || facts_.role(op) == Role::kCreation; }
  NeighbourStory producer(ValueId v, uint32_t here);
  NeighbourStory consumer(ValueId v, OpId user, uint32_t here);
  void tell_memory(NeighbourStory& story, ValueId v);
  std::string became(const std::string& asked, const Subject& subject) const;

  const Compilation& c_;
  const Target& target_;
  const Graph& graph_;
  const std::vector<Segment>& segments_;
  const Facts facts_;
  CostModel model_;
  IdVec<OpId, uint32_t> home_;
  IdVec<OpId, std::vector<uint32_t>> again_;
  IdVec<ValueId, uint32_t> writer_, edge_of_;
  IdVec<OpId, uint32_t> group_of_;
  std::set<OpId> left_group_;  // members of a group as it was found
  std::set<ValueId> wide_;
};

SegmentStory Storyteller::segment(uint32_t s) {
  const Segment& segment = segments_[s];
  const SegmentCost cost = model_.cost_of(segment);
  SegmentStory story{name_of(segment.kind),
                     names(segment.ops),
                     names(segment.recomputed),
                     names(segment.inputs),
                     names(segment.outputs),
                     cost.bytes_read,
                     cost.bytes_written,
                     cost.us,
                     {},
                     0};
  for (OpId op : segment.ops)
    for (ValueId v : graph_[op].out) {
      if (!v.valid() || writer_[v] == s || costs_nothing(op)) continue;
      story.kept_on_chip.push_back(graph_[v].name);
      add_bytes(story.kept_bytes, facts_.bytes(v));
    }
  return story;
}

CutStory Storyteller::cut(const Edge& edge) {
  return {graph_[edge.value].name,
          type(edge.value),
          facts_.bytes(edge.value),
          edge.from,
          edge.to,
          wide_.contains(edge.value),
          edge.rule,
          edge.why};
}

GroupStory Storyteller::group(uint32_t g) {
  const CastGroup& group = c_.segmentation.cast_groups[g];
  GroupStory story;
  story.ops = names(group.ops);
  story.segment = group.segment;
  story.whole = group.whole;
  story.rule = group.rule;
  story.why = group.why;
  const std::set<OpId> members(group.ops.begin(), group.ops.end());
  std::set<ValueId> entering;
  int narrow = 8;
  for (OpId op : group.ops)
    for (const Operand& o : graph_[op].in) {
      if (!o.is_value() || members.contains(graph_[o.value].def) || !entering.insert(o.value).second) continue;
      story.reads.push_back(graph_[o.value].name);
      narrow = std::min(narrow, bytes_of(graph_[o.value].dtype));
    }
  std::set<uint32_t> again;
  int widest = 0;
  for (OpId op : group.ops) {
    again.insert(again_[op].begin(), again_[op].end());
    for (ValueId v : graph_[op].out) {
      if (!v.valid()) continue;
      const auto users = facts_.users(v);
      const bool leaves = facts_.is_output(v) || std::any_of(users.begin(), users.end(), [&](OpId u) { return !members.contains(u); });
      if (leaves) story.leaves.push_back(graph_[v].name);
      const DType dtype = graph_[v].dtype;
      if (!is_float(dtype) || bytes_of(dtype) <= narrow) continue;
      if (bytes_of(dtype) > widest) widest = bytes_of(dtype), story.wide_type = name_of(dtype);
      if (writer_[v] == UINT32_MAX && !costs_nothing(op)) add_bytes(story.kept_bytes, facts_.bytes(v));
    }
  }
  story.again.assign(again.begin(), again.end());
  return story;
}

RemakeStory Storyteller::remake(uint32_t s) {
  const Segment& segment = segments_[s];
  RemakeStory story;
  story.segment = s;
  story.ops = names(segment.recomputed);
  const SegmentCost now = model_.cost_of(segment);
  Segment stored = segment;
  stored.recomputed.clear();
  const SegmentCost then = model_.cost_of(stored);
  story.bytes = byte_sum(now.bytes_read, now.bytes_written);
  story.stored_bytes = byte_sum(then.bytes_read, then.bytes_written);
  story.us = now.us;
  story.stored_us = then.us;
  std::set<ValueId> seen;
  for (OpId op : segment.ops)
    for (const Operand& o : graph_[op].in) {
      const OpId def = o.is_value() ? graph_[o.value].def : OpId();
      if (!def.valid() || home_[def] == s || !has(s, def) || !seen.insert(o.value).second) continue;
      story.instead_of.push_back(graph_[o.value].name);
      if (writer_[o.value] == UINT32_MAX) {
        add_bytes(story.stored_bytes, facts_.bytes(o.value));
        story.stored_us += static_cast<double>(facts_.bytes(o.value)) / (target_.bandwidth_gbps * 1e3);
      }
      if (home_[def] > s) story.must = "segment " + std::to_string(home_[def]) + ", its home, runs later";
    }
  return story;
}

void Storyteller::tell_memory(NeighbourStory& story, ValueId v) {
  story.where = NeighbourStory::kMemory;
  if (edge_of_[v] == UINT32_MAX) return;
  story.rule = c_.segmentation.edges[edge_of_[v]].rule;
  story.why = c_.segmentation.edges[edge_of_[v]].why;
}

NeighbourStory Storyteller::producer(ValueId v, uint32_t here) {
  NeighbourStory story{graph_[v].name, type(v), true, NeighbourStory::kInput, 0, "", ""};
  const OpId def = graph_[v].def;
  if (!def.valid()) return story;
  story.segment = home_[def];
  if (home_[def] == here) story.where = NeighbourStory::kHere;
  else if (has(here, def)) story.where = NeighbourStory::kAgain;
  else tell_memory(story, v);
  return story;
}

NeighbourStory Storyteller::consumer(ValueId v, OpId user, uint32_t here) {
  NeighbourStory story{graph_.name_of(user), type(facts_.result(user)), false, NeighbourStory::kHere, home_[user], "", ""};
  if (has(here, user)) return story;
  if (has(home_[user], graph_[v].def)) story.where = NeighbourStory::kAgain;
  else tell_memory(story, v);
  return story;
}

// What the passes made of an op, in words; "" when it stands as written.
std::string Storyteller::became(const std::string& asked, const Subject& subject) const {
  if (subject.gone) return "no output needs `" + asked + "`: it was dropped";
  if (!subject.op.valid()) return "`" + asked + "` is an input of the graph";
  if (c_.log.merged.contains(asked)) return "`" + asked + "` equals `" + subject.name + "`, which stands for both";
  if (c_.log.absorbed.contains(asked)) return "`" + asked + "` was folded into `" + subject.name + "`";
  const std::string& origin = graph_[subject.op].origin;
  if (!origin.empty() && origin != asked) return "`" + asked + "` is a step of `" + origin + "` as written";
  for (const Op& op : c_.graph.ops) {
    const bool written = std::any_of(op.out.begin(), op.out.end(), [&](ValueId v) { return v.valid() && c_.graph[v].name == asked; });
    if (!written || op.kind == graph_[subject.op].kind) continue;
    return "`" + asked + "` was written as " + std::string(name_of(op.kind)) + "; `" + asked + "` is now its last step";
  }
  return "";
}

ValueStory Storyteller::value(const std::string& asked, const Subject& subject) {
  ValueStory story;
  story.name = asked;
  story.standing_for = subject.name == asked ? "" : subject.name;
  story.note = became(asked, subject);
  story.is_op = subject.op.valid();
  if (!story.is_op) return story;
  const OpId op = subject.op;
  const ValueId v = facts_.result(op);
  story.op = name_of(graph_[op].kind);
  story.type = type(v);
  story.segment = home_[op];
  story.again = again_[op];
  story.bytes = facts_.bytes(v);
  for (ValueId one : graph_[op].out) {
    if (!one.valid()) continue;
    story.stored |= writer_[one] != UINT32_MAX;
    story.is_output |= facts_.is_output(one);
  }
  for (size_t i = 0; i < graph_.ops.size(); ++i)
    if (graph_[OpId(i)].origin == asked && facts_.needed(OpId(i))) story.expanded.push_back(graph_.name_of(OpId(i)));
  if (group_of_[op] != UINT32_MAX) story.group = group_of_[op];
  else if (left_group_.contains(op))
    story.no_group = "it left its cast group: no schedule holds it with the rest, which stays together without it";
  else story.no_group = "it is in no cast group: no wide value that an up-cast made enters or leaves it";
  std::set<ValueId> seen;
  for (const Operand& o : graph_[op].in)
    if (o.is_value() && seen.insert(o.value).second) story.neighbours.push_back(producer(o.value, story.segment));
  for (ValueId one : graph_[op].out)
    if (one.valid())
      for (OpId user : facts_.users(one)) story.neighbours.push_back(consumer(one, user, story.segment));
  return story;
}

PairStory Storyteller::pair(const std::string& a, OpId op_a, const std::string& b, OpId op_b) {
  PairStory story;
  story.a = a;
  story.b = b;
  story.segment_a = home_[op_a];
  story.segment_b = home_[op_b];
  story.made_again = story.segment_a != story.segment_b && (has(story.segment_a, op_b) || has(story.segment_b, op_a));
  story.together = story.segment_a == story.segment_b || story.made_again;
  if (!story.together)
    for (const Edge& edge : c_.segmentation.edges) {
      auto crosses = [&](uint32_t from, uint32_t to) {
        return edge.from == from && std::find(edge.to.begin(), edge.to.end(), to) != edge.to.end();
      };
      if (!crosses(story.segment_a, story.segment_b) && !crosses(story.segment_b, story.segment_a)) continue;
      const OpId def = graph_[edge.value].def;
      if (!story.why.empty() && def != op_a && def != op_b) continue;
      story.rule = edge.rule;
      story.why = edge.why;
    }
  if (group_of_[op_a] != UINT32_MAX && group_of_[op_a] == group_of_[op_b]) story.group = group_of_[op_a];
  return story;
}

// Two names: why together or apart. The other way round is tried.
void tell_pairs(Explanation& e, Storyteller& teller, const NameTable& table, const WhatIf& what_if, const std::vector<std::string>& names) {
  for (size_t n = 1; n < names.size(); ++n) {
    const Subject a = table.find(names[n - 1]), b = table.find(names[n]);
    if (!a.op.valid() || !b.op.valid() || a.op == b.op) continue;
    PairStory story = teller.pair(names[n - 1], a.op, names[n], b.op);
    story.what_if = what_if.ask(a.name + (story.together ? "/" : "+") + b.name);
    e.pairs.push_back(std::move(story));
  }
}

}  // namespace

Explanation explain(const Compilation& c, const Target& target, const Questions& questions) {
  Explanation e;
  e.graph = c.rewritten.name;
  e.arch = target.arch;
  e.totals = totals_of(c.rewritten, c.segmentation, target);
  const NameTable table(c);
  Storyteller teller(c, target);
  for (uint32_t s = 0; s < c.segmentation.segments.size(); ++s) {
    e.segments.push_back(teller.segment(s));
    if (!c.segmentation.segments[s].recomputed.empty()) e.remakes.push_back(teller.remake(s));
  }
  for (const Edge& edge : c.segmentation.edges) e.cuts.push_back(teller.cut(edge));
  for (uint32_t g = 0; g < c.segmentation.cast_groups.size(); ++g) e.groups.push_back(teller.group(g));
  std::vector<std::string> names;
  for (const std::string& word : questions.values) {
    if (const auto number = segment_number(word)) {
      if (*number >= e.segments.size())
        throw Failure(Exit::kBadInput, "there is no segment " + word + "; the graph has " + count_text(e.segments.size(), "segment"));
      e.asked_segments.push_back(static_cast<uint32_t>(*number));
      continue;
    }
    e.values.push_back(teller.value(word, table.find(word)));
    names.push_back(word);
  }
  const WhatIf what_if(c, target, table);
  tell_pairs(e, teller, table, what_if, names);
  for (const std::string& text : questions.what_ifs) e.what_ifs.push_back(what_if.ask(text));
  return e;
}

}  // namespace fusec
