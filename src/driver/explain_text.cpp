#include <algorithm>

#include "driver/explain.h"
#include "support/quantity.h"

namespace fusec {

namespace {

constexpr size_t kListed = 24;  // names in a row; --json has them all

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kListed); ++i) text += (i ? " `" : "`") + names[i] + "`";
  if (names.size() > kListed) text += " … (" + std::to_string(names.size()) + " in all)";
  return names.empty() ? "nothing" : text;
}

std::string list(const std::vector<uint32_t>& ids) {
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) text += (i ? ", " : "") + std::to_string(ids[i]);
  return text;
}

std::string segments(const std::vector<uint32_t>& ids) { return (ids.size() == 1 ? "segment " : "segments ") + list(ids); }

// "grid-wide dependence: …", whether or not the words start with the rule's name.
std::string reason(const std::string& rule, const std::string& words) {
  if (rule.empty() || words.rfind(rule, 0) == 0) return words;
  return rule + ": " + words;
}

std::string moved(int64_t bytes, double us) { return size_text(bytes) + " moved, " + us_text(us) + " µs"; }

std::string text_of(const SegmentStory& s, size_t id) {
  std::string text = "segment " + std::to_string(id) + ", " + s.kind + ": " + list(s.ops) + "\n";
  text += "  reads " + list(s.inputs) + " (" + size_text(s.bytes_read) + "), writes " + list(s.outputs) + " (" +
          size_text(s.bytes_written) + "), about " + us_text(s.us) + " µs\n";
  if (!s.kept_on_chip.empty()) text += "  never in memory: " + list(s.kept_on_chip) + " (" + size_text(s.kept_bytes) + ")\n";
  return text;
}

std::string text_of(const CutStory& c) {
  return "`" + c.value + "` " + c.type + ", " + size_text(c.bytes) + ", from segment " + std::to_string(c.from) + " to " + list(c.to) +
         (c.wide ? "; wider than what it could be made from" : "") + "\n  " + reason(c.rule, c.why) + "\n";
}

std::string text_of(const GroupStory& g, size_t id) {
  std::string text = "cast group " + std::to_string(id) + ", in segment " + std::to_string(g.segment) + ": " + list(g.ops) + "\n";
  if (g.whole) {
    text += "  whole: groups are merged before all else, whatever the gain, and a schedule holds this one\n";
    if (g.kept_bytes > 0)
      text += "  between " + list(g.reads) + " and " + list(g.leaves) + " no " + g.wide_type + " reaches memory (" +
              size_text(g.kept_bytes) + " on chip)\n";
    if (!g.again.empty()) text += "  members are made again in " + segments(g.again) + ", rather than stored\n";
  } else {
    text += "  cut: " + reason(g.rule, g.why) + "\n";
  }
  return text;
}

std::string text_of(const RemakeStory& r) {
  std::string text = "segment " + std::to_string(r.segment) + " makes " + list(r.ops) + " again: " + moved(r.bytes, r.us) + "\n";
  if (!r.must.empty()) return text + "  storing " + list(r.instead_of) + " is no choice: " + r.must + "\n";
  text += "  with " + list(r.instead_of) + " stored and read instead: " + moved(r.stored_bytes, r.stored_us);
  const int64_t saved = r.stored_bytes - r.bytes;
  return text + (saved > 0 ? "; " + size_text(saved) + " saved\n" : "\n");
}

std::string text_of(const NeighbourStory& n, uint32_t here) {
  std::string text = "  " + std::string(n.producer ? "reads" : "is read by") + " `" + n.value + "` " + n.type + ": ";
  const std::string there = std::to_string(n.segment);
  switch (n.where) {
    case NeighbourStory::kHere:
      return text + "together, in segment " + std::to_string(here) + "\n";
    case NeighbourStory::kInput:
      return text + "an input, from memory\n";
    case NeighbourStory::kAgain:
      return text + (n.producer ? "of segment " + there + ", made again here rather than read\n"
                                : "in segment " + there + ", which makes this value again rather than read it\n");
    case NeighbourStory::kMemory:
      return text + "apart, in segment " + there + ", through memory\n    " + reason(n.rule, n.why) + "\n";
  }
  return text;
}

std::string text_of(const ValueStory& v, const Explanation& e) {
  std::string text;
  if (!v.is_op) return v.note + "\n";
  const std::string name = v.standing_for.empty() ? v.name : v.standing_for;
  text += "`" + name + "` = " + v.op + ", " + v.type + " (" + size_text(v.bytes) + "), in segment " + std::to_string(v.segment) + "\n";
  if (!v.note.empty()) text += "  " + v.note + "\n";
  if (v.expanded.size() > 1) text += "  its steps: " + list(v.expanded) + "\n";
  if (!v.again.empty()) text += "  made again in " + segments(v.again) + ", rather than read there\n";
  text += v.is_output ? "  stored: it is an output of the graph\n"
          : v.stored  ? "  stored: another segment reads it\n"
                      : "  never in memory\n";
  if (v.group) {
    const GroupStory& g = e.groups[*v.group];
    text += "  a member of cast group " + std::to_string(*v.group) + ", which is " + (g.whole ? "whole" : "cut: " + reason(g.rule, g.why)) +
            "\n";
  } else {
    text += "  " + v.no_group + "\n";
  }
  for (const NeighbourStory& n : v.neighbours) text += text_of(n, v.segment);
  return text;
}

// "402 MiB → 805 MiB"
std::string change(const std::string& what, const std::string& before, const std::string& after) {
  return "  " + what + " " + (before == after ? before + ", as before" : before + " → " + after) + "\n";
}

std::string comparison(const WhatIfStory& w) {
  std::string text;
  text += change("segments", std::to_string(w.before.segments), std::to_string(w.after.segments));
  text += change("bytes moved", size_text(w.before.bytes), size_text(w.after.bytes));
  text += change("between segments", size_text(w.before.edge_bytes), size_text(w.after.edge_bytes));
  text += change("estimated µs", us_text(w.before.us), us_text(w.after.us));
  std::vector<std::string> wide;
  for (const std::string& name : w.after.wide_edges)
    if (std::find(w.before.wide_edges.begin(), w.before.wide_edges.end(), name) == w.before.wide_edges.end()) wide.push_back(name);
  if (!wide.empty()) text += "  wide values that would reach memory: " + list(wide) + "\n";
  for (const WhatIfStory::Part& part : w.changed)
    text +=
        "  a segment (" + part.kind + "): " + list(part.ops) + (part.recomputed.empty() ? "" : ", again " + list(part.recomputed)) + "\n";
  return text;
}

std::string answer(const WhatIfStory& w) {
  if (w.as_is) return std::string("it is so already: nothing changes\n");
  std::string text;
  if (!w.possible) {
    text = "no. " + reason(w.rule, w.why) + "\n";
    if (!w.between.empty()) text += "  on paths between them lie " + list(w.between) + "\n";
    return text;
  }
  const double us = w.after.us - w.before.us;
  text = us > 0.05    ? "possible, but slower by " + us_text(us) + " µs:\n"
         : us < -0.05 ? "possible, and by the model faster by " + us_text(-us) + " µs:\n"
                      : std::string("possible, for about the same time:\n");
  if (!w.between.empty()) text += "  with what lies on paths between them: " + list(w.between) + "\n";
  return text + comparison(w);
}

std::string text_of(const WhatIfStory& w) {
  return "what if " + w.text + (w.merge ? " (one kernel)" : " (two kernels)") + ": " + answer(w);
}

std::string text_of(const PairStory& p) {
  std::string text = "`" + p.a + "` and `" + p.b + "`: ";
  if (p.segment_a == p.segment_b) text += "together, in segment " + std::to_string(p.segment_a);
  else if (p.made_again)
    text +=
        "in segments " + std::to_string(p.segment_a) + " and " + std::to_string(p.segment_b) + ", one of them made again beside the other";
  else text += "apart, in segments " + std::to_string(p.segment_a) + " and " + std::to_string(p.segment_b);
  text += "\n";
  if (!p.why.empty()) text += "  between the two segments: " + reason(p.rule, p.why) + "\n";
  if (p.group) text += "  both belong to cast group " + std::to_string(*p.group) + ", which is merged before all else\n";
  return text + "  " + (p.together ? "in two kernels: " : "these two alone in one kernel: ") + answer(p.what_if);
}

std::string everything(const Explanation& e) {
  std::string text = "\n";
  for (size_t i = 0; i < e.segments.size(); ++i) text += text_of(e.segments[i], i);
  if (!e.cuts.empty()) text += "\nCuts: what crosses memory, and what keeps the two sides apart\n";
  for (const CutStory& cut : e.cuts) text += text_of(cut);
  if (!e.remakes.empty()) text += "\nMade again instead of stored\n";
  for (const RemakeStory& remake : e.remakes) text += text_of(remake);
  if (!e.groups.empty()) text += "\nCast groups: what lies between up-casts and down-casts\n";
  for (size_t i = 0; i < e.groups.size(); ++i) text += text_of(e.groups[i], i);
  return text;
}

}  // namespace

std::string explanation_text(const Explanation& e) {
  const SegmentationTotals& t = e.totals;
  std::string text = e.graph + " for " + e.arch + ": " + count_text(t.segments, "segment") + ", " + size_text(t.bytes) +
                     " moved (at least " + size_text(t.lower_bound_bytes) + "), " + size_text(t.edge_bytes) + " between segments, about " +
                     us_text(t.us) + " µs\n";
  const bool asked = !e.asked_segments.empty() || !e.values.empty() || !e.what_ifs.empty();
  if (!asked) return text + everything(e);
  for (uint32_t s : e.asked_segments) {
    text += "\n" + text_of(e.segments[s], s);
    for (const CutStory& cut : e.cuts)
      if (cut.from == s || std::find(cut.to.begin(), cut.to.end(), s) != cut.to.end()) text += text_of(cut);
    for (const RemakeStory& remake : e.remakes)
      if (remake.segment == s) text += text_of(remake);
  }
  for (const ValueStory& value : e.values) {
    text += "\n" + text_of(value, e);
    const std::string& name = value.standing_for.empty() ? value.name : value.standing_for;
    for (const RemakeStory& remake : e.remakes)
      if (std::find(remake.ops.begin(), remake.ops.end(), name) != remake.ops.end()) text += text_of(remake);
  }
  for (const PairStory& pair : e.pairs) text += "\n" + text_of(pair);
  for (const WhatIfStory& what_if : e.what_ifs) text += "\n" + text_of(what_if);
  return text;
}

}  // namespace fusec
