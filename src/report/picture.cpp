#include "report/picture.h"

#include <algorithm>
#include <set>

#include "graph/ops.h"

namespace fusec {

namespace {

constexpr double kHeight = 36, kLeastWidth = 64, kMostWidth = 190, kPerLetter = 6.95, kPerSmallLetter = 5.5, kPadding = 20;

// Columns of text, roughly: names are ASCII.
double width_of(const std::string& label, const std::string& caption) {
  const double wider = std::max(static_cast<double>(label.size()) * kPerLetter, static_cast<double>(caption.size()) * kPerSmallLetter);
  return std::clamp(wider + kPadding, kLeastWidth, kMostWidth);
}

class Painter {
 public:
  Painter(const Graph& graph, const Segmentation& segmentation)
      : graph_(graph),
        segmentation_(segmentation),
        node_of_value_(graph.values.size(), UINT32_MAX),
        node_here_(graph.ops.size(), UINT32_MAX) {}

  Picture paint() {
    for (const Input& input : graph_.inputs) {
      node_of_value_[input.value] = static_cast<uint32_t>(picture_.nodes.size());
      add({true, {}, input.value, UINT32_MAX, false, graph_[input.value].name, type(input.value), {}}, type(input.value));
    }
    for (uint32_t s = 0; s < segmentation_.segments.size(); ++s) paint(s);
    picture_.segments.resize(segmentation_.segments.size());
    return std::move(picture_);
  }

 private:
  std::string type(ValueId v) const { return std::string(name_of(graph_[v].dtype)) + to_string(graph_[v].shape, graph_.symbols); }

  void add(PictureNode node, const std::string& shown) {
    node.box.w = width_of(node.label, shown);
    node.box.h = kHeight;
    picture_.nodes.push_back(std::move(node));
  }

  // Segments are in launch order: what one reads from memory has been painted.
  void paint(uint32_t s) {
    const Segment& segment = segmentation_.segments[s];
    std::vector<OpId> ops = segment.ops;
    ops.insert(ops.end(), segment.recomputed.begin(), segment.recomputed.end());
    std::sort(ops.begin(), ops.end());
    const size_t first = picture_.nodes.size();
    for (OpId op : ops) {
      ValueId value;
      for (ValueId v : graph_[op].out)
        if (v.valid() && !value.valid()) value = v;
      const bool copy = std::find(segment.recomputed.begin(), segment.recomputed.end(), op) != segment.recomputed.end();
      node_here_[op] = static_cast<uint32_t>(picture_.nodes.size());
      const std::string kind(name_of(graph_[op].kind));
      add({false, op, value, s, copy, graph_.name_of(op), kind, {}}, kind + " · " + std::string(name_of(graph_[value].dtype)));
    }
    for (size_t n = first; n < picture_.nodes.size(); ++n) link(static_cast<uint32_t>(n), first);
    for (ValueId v : segment.outputs) node_of_value_[v] = node_here_[graph_[v].def];
  }

  void link(uint32_t node, size_t first) {
    std::set<ValueId> seen;
    for (const Operand& o : graph_[picture_.nodes[node].op].in) {
      if (!o.is_value() || !seen.insert(o.value).second) continue;
      const OpId def = graph_[o.value].def;
      const bool here = def.valid() && node_here_[def] != UINT32_MAX && node_here_[def] >= first;
      const uint32_t from = here ? node_here_[def] : node_of_value_[o.value];
      if (from != UINT32_MAX) picture_.links.push_back({from, node, o.value, !here && def.valid(), {}});
    }
  }

  const Graph& graph_;
  const Segmentation& segmentation_;
  Picture picture_;
  IdVec<ValueId, uint32_t> node_of_value_;  // what is in memory
  IdVec<OpId, uint32_t> node_here_;         // in the segment painted last
};

}  // namespace

Picture make_picture(const Graph& graph, const Segmentation& segmentation) { return Painter(graph, segmentation).paint(); }

}  // namespace fusec
