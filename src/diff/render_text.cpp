#include <algorithm>

#include "diff/render.h"
#include "diff/words.h"
#include "support/quantity.h"
#include "support/text.h"

namespace fusec {

namespace {

constexpr size_t kListed = 40;          // entries of one kind in text
constexpr size_t kListedMarkdown = 15;  // a comment holds 65,536 characters
constexpr size_t kLongestLine = 600;
constexpr size_t kLongestComment = 60000;  // bytes

// Lines for people; Markdown makes a list of them.
class PeopleWriter {
 public:
  PeopleWriter(const Comparison& c, const std::vector<Verdict>& verdicts, const RenderOptions& options, bool markdown)
      : c_(c), verdicts_(verdicts), options_(options), markdown_(markdown) {}

  std::string write() {
    title();
    failures();
    if (options_.graph) graph();
    if (options_.segments && c_.segments) segments();
    if (options_.cost && c_.segments) cost();
    if (!options_.brief)
      for (const std::string& note : c_.notes) out_ += (markdown_ ? "\n_note: " : "note: ") + note + (markdown_ ? "_\n" : "\n");
    return out_;
  }

 private:
  static std::string cut(std::string text) {
    if (text.size() <= kLongestLine) return text;
    size_t end = kLongestLine;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
    return text.substr(0, end) + "…";
  }

  void title() {
    const std::string sides = escaped(c_.a.path) + " → " + escaped(c_.b.path);
    out_ += markdown_ ? "### `" + c_.b.name() + "`: " + sides + "\n\n" : c_.b.name() + ": " + sides + "\n";
  }

  void failures() {
    bool any = false;
    for (const Verdict& v : verdicts_) {
      if (!v.broken) continue;
      if (markdown_ && any) out_ += ">\n";
      any = true;
      if (v.why.size() == 1) {
        out_ += (markdown_ ? "> **fails `" + v.rule.text + "`:** " : "FAILS " + v.rule.text + ": ") + cut(v.why[0]) + "\n";
        continue;
      }
      out_ += markdown_ ? "> **fails `" + v.rule.text + "`:**\n" : "FAILS " + v.rule.text + ":\n";
      entries(v.why, [&](const std::string& why) { return why; }, markdown_ ? "> - " : "  ");
    }
    if (markdown_ && any) out_ += "\n";
  }

  void heading(const std::string& name, const std::string& summary) {
    out_ += markdown_ ? "**" + name + "**: " + summary + "\n" : name + ": " + summary + "\n";
  }

  // One entry for each of a list, as far as they are shown.
  template <class List, class Text>
  void entries(const List& list, Text text) {
    if (!options_.brief) entries(list, text, markdown_ ? "- " : "  ");
  }
  template <class List, class Text>
  void entries(const List& list, Text text, const std::string& bullet) {
    const size_t shown = std::min(list.size(), markdown_ ? kListedMarkdown : kListed);
    for (size_t i = 0; i < shown; ++i) out_ += bullet + cut(text(list[i])) + "\n";
    if (shown < list.size()) out_ += bullet + "… and " + std::to_string(list.size() - shown) + " more\n";
  }

  static std::string place(const Side& side, uint32_t line) { return line ? side.path + ":" + std::to_string(line) : ""; }

  static std::string described(const Spot& spot) {
    std::string text = "`" + spot.name + "`";
    if (!spot.op.empty()) text += " = " + spot.op;
    return spot.type.empty() ? text : text + ": " + spot.type;
  }

  std::string alone(const char* what, const Side& side, const Spot& spot) const {
    const std::string at = place(side, spot.line);
    return std::string(what) + " " + described(spot) + (at.empty() ? "" : "  (" + at + ")");
  }

  std::string changed(const char* what, const ChangedSpot& spot) const {
    std::string text = std::string(what) + " `" + spot.b.name + "`";
    if (spot.a.name != spot.b.name) text += " (was `" + spot.a.name + "`)";
    if (!spot.b.op.empty()) text += " = " + spot.b.op;
    text += ": ";
    for (size_t i = 0; i < spot.changes.size(); ++i) text += (i ? "; " : "") + phrase(spot.changes[i]);
    const std::string at = place(c_.a, spot.a.line), now = place(c_.b, spot.b.line);
    if (at.empty() && now.empty()) return text;
    return text + "  (" + at + (at.empty() || now.empty() ? "" : " → ") + now + ")";
  }

  void graph() {
    const GraphDiff& d = c_.graph;
    heading("graph", graph_summary(d) + (d.same() ? ", " + count_text(d.ops_b, "op") : ""));
    auto changes = [&](const char* what, const std::vector<ChangedSpot>& list) {
      entries(list, [&](const ChangedSpot& spot) { return changed(what, spot); });
    };
    auto spots = [&](const char* what, const Side& side, const std::vector<Spot>& list) {
      entries(list, [&](const Spot& spot) { return alone(what, side, spot); });
    };
    changes("size", d.sizes_changed);
    changes("changed input", d.inputs_changed);
    spots("removed input", c_.a, d.inputs_removed);
    spots("added input", c_.b, d.inputs_added);
    changes("changed", d.changed);
    spots("removed", c_.a, d.removed);
    spots("added", c_.b, d.added);
    changes("changed output", d.outputs_changed);
    spots("removed output", c_.a, d.outputs_removed);
    spots("added output", c_.b, d.outputs_added);
    if (d.inputs_reordered || d.outputs_reordered) {
      const std::string which = !d.outputs_reordered ? "inputs" : !d.inputs_reordered ? "outputs" : "inputs and outputs";
      out_ += (markdown_ ? "- " : "  ") + std::string("the ") + which + " stand in another order, and so do the launcher's parameters\n";
    }
    if (markdown_) out_ += "\n";
  }

  void segments() {
    const SegmentDiff& d = *c_.segments;
    heading("segments", recut_summary(d) + edge_summary(d));
    entries(d.recuts, [](const Recut& recut) {
      std::string text = recut_text(recut);
      for (size_t i = 0; i < recut.why.size(); ++i) text += (i ? "; " : ", apart because: ") + recut.why[i];
      return text;
    });
    entries(d.changed, [](const SegmentChange& s) {
      std::string text = "segment " + std::to_string(s.a) + (s.a == s.b ? "" : " → " + std::to_string(s.b)) + ": ";
      for (size_t i = 0; i < s.changes.size(); ++i) text += (i ? "; " : "") + phrase(s.changes[i]);
      return text;
    });
    entries(d.cut_groups, [](const CastGroupView& group) {
      return "cast group of `" + (group.ops.empty() ? "" : group.ops.front()) + "` (" + count_text(group.ops.size(), "op") +
             ") is cut: " + group.why;
    });
    entries(d.edges, [](const EdgeChange& e) { return "edge " + edge_text(e) + (e.b && !e.b->why.empty() ? ": " + e.b->why : ""); });
    const bool told =
        std::any_of(verdicts_.begin(), verdicts_.end(), [](const Verdict& v) { return v.broken && v.rule.kind == Rule::kWideEdges; });
    if (!told) entries(d.wide, [](const EdgeChange& e) { return "wide edge: " + wide_text(e); });
    if (markdown_) out_ += "\n";
  }

  static std::string edge_summary(const SegmentDiff& d) {
    size_t counts[5] = {};
    for (const EdgeChange& e : d.edges) ++counts[e.kind];
    std::string text;
    for (EdgeChange::Kind kind :
         {EdgeChange::kAdded, EdgeChange::kRemoved, EdgeChange::kWidened, EdgeChange::kNarrowed, EdgeChange::kChanged})
      if (counts[kind]) text += (text.empty() ? "; edges: " : ", ") + std::to_string(counts[kind]) + " " + word_of(kind);
    if (!d.wide.empty()) text += ", " + std::to_string(d.wide.size()) + " newly wide";
    return text;
  }

  void cost() {
    const SegmentDiff& d = *c_.segments;
    std::vector<const Metric*> shown, differ;
    for (const Metric& m : d.cost) {
      if (m.a && m.b) shown.push_back(&m);
      if (m.a && m.b && *m.a != *m.b) differ.push_back(&m);
    }
    std::string summary;
    for (const Metric* m : differ)
      summary += (summary.empty() ? "" : ", ") + metric_label(*m) + " " + metric_text(*m, *m->a) + " → " + metric_text(*m, *m->b);
    if (options_.brief) return heading("cost", summary.empty() ? "the same" : summary);
    heading("cost", summary.empty() ? "the same" : "before → after");
    if (markdown_) out_ += "\n| | before | after | |\n| --- | ---: | ---: | ---: |\n";
    for (const Metric* m : shown) {
      const std::string a = metric_text(*m, *m->a), b = metric_text(*m, *m->b);
      const std::string growth = *m->a != *m->b && *m->a > 0 ? percent_text(*m->a, *m->b) : "";
      if (markdown_) out_ += "| " + metric_label(*m) + " | " + a + " | " + b + " | " + growth + " |\n";
      else out_ += "  " + padded(metric_label(*m), 24) + padded(a, 12) + (*m->a == *m->b ? "" : "→ " + padded(b, 12) + growth) + "\n";
    }
  }

  static std::string padded(std::string text, size_t width) {
    const auto columns = static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
    return columns < width ? text + std::string(width - columns, ' ') : text + " ";
  }

  const Comparison& c_;
  const std::vector<Verdict>& verdicts_;
  const RenderOptions& options_;
  const bool markdown_;
  std::string out_;
};

// No spaces at the end of a line.
std::string trimmed(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\n')
      while (!out.empty() && out.back() == ' ') out.pop_back();
    out += c;
  }
  return out;
}

}  // namespace

std::string render_text(const Comparison& c, const std::vector<Verdict>& verdicts, const RenderOptions& options) {
  return trimmed(PeopleWriter(c, verdicts, options, false).write());
}

std::string render_markdown(const Comparison& c, const std::vector<Verdict>& verdicts, const RenderOptions& options) {
  std::string text = trimmed(PeopleWriter(c, verdicts, options, true).write());
  if (text.size() > kLongestComment)
    text = text.substr(0, text.rfind('\n', kLongestComment)) + "\n\n… (shortened; `fusec diff` tells the rest)\n";
  return text;
}

}  // namespace fusec
