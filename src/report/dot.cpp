#include <algorithm>
#include <cstdio>
#include <sstream>

#include "report/filter.h"
#include "report/picture.h"

namespace fusec {

namespace {

constexpr double kPixelsPerInch = 72;
constexpr size_t kMostNodes = 1200;  // dot's time grows faster than the graph
constexpr double kMargin = 14, kTitle = 26;

std::string dot_text(const Picture& picture) {
  std::string text =
      "digraph g {\n  ranksep=0.45; nodesep=0.22; margin=0;\n  node [shape=box, fixedsize=true, label=\"\"];\n  edge [arrowhead=none];\n";
  auto node = [&](size_t n) {
    const Box& box = picture.nodes[n].box;
    char line[96];
    std::snprintf(line, sizeof line, "  n%zu [width=%.3f, height=%.3f];\n", n, box.w / kPixelsPerInch, box.h / kPixelsPerInch);
    text += line;
  };
  std::vector<std::vector<size_t>> members(picture.segments.size());
  for (size_t n = 0; n < picture.nodes.size(); ++n) {
    if (picture.nodes[n].is_input) node(n);
    else members[picture.nodes[n].segment].push_back(n);
  }
  for (size_t s = 0; s < members.size(); ++s) {
    // (a label keeps room for the heading)
    text += "  subgraph cluster_" + std::to_string(s) + " {\n  margin=14; label=\"segment\"; fontsize=16;\n";
    for (size_t n : members[s]) node(n);
    text += "  }\n";
  }
  for (const PictureLink& link : picture.links) text += "  n" + std::to_string(link.from) + " -> n" + std::to_string(link.to) + ";\n";
  return text + "}\n";
}

// dot's plain format: lengths in inches, y upwards.
class PlainReader {
 public:
  PlainReader(const std::string& text, Picture& picture) : words_(text), picture_(picture), placed_(picture.nodes.size()) {}

  bool read() {
    std::string word;
    double scale = 0, width = 0;
    if (!(words_ >> word >> scale >> width >> height_) || word != "graph") return false;
    picture_.width = width * kPixelsPerInch;
    picture_.height = height_ * kPixelsPerInch;
    size_t links = 0;
    while (words_ >> word && word != "stop") {
      if (word == "node" ? !read_node() : word == "edge" ? !read_edge(links) : true) return false;
      std::string rest;
      std::getline(words_, rest);
    }
    return word == "stop" && links == picture_.links.size() && std::all_of(placed_.begin(), placed_.end(), [](bool p) { return p; });
  }

 private:
  bool number(std::string word, size_t& n) {
    if (word.size() < 2 || word[0] != 'n' || word.find_first_not_of("0123456789", 1) != std::string::npos) return false;
    n = std::stoul(word.substr(1));
    return n < picture_.nodes.size();
  }
  bool read_point(double& x, double& y) {
    if (!(words_ >> x >> y)) return false;
    x *= kPixelsPerInch;
    y = (height_ - y) * kPixelsPerInch;
    return true;
  }
  bool read_node() {
    std::string name;
    size_t n = 0;
    double x = 0, y = 0;
    if (!(words_ >> name) || !number(name, n) || !read_point(x, y)) return false;
    Box& box = picture_.nodes[n].box;
    box.x = x - box.w / 2;
    box.y = y - box.h / 2;
    placed_[n] = true;
    return true;
  }
  // Edges come sorted by their tails, those of one tail and head in the order in which they were written.
  bool read_edge(size_t& links) {
    std::string from_name, to_name;
    size_t from = 0, to = 0, points = 0;
    if (!(words_ >> from_name >> to_name >> points) || !number(from_name, from) || !number(to_name, to)) return false;
    std::vector<std::pair<double, double>> curve(points);
    for (auto& [x, y] : curve)
      if (!read_point(x, y)) return false;
    for (PictureLink& link : picture_.links)
      if (link.from == from && link.to == to && link.curve.empty()) {
        link.curve = std::move(curve);
        ++links;
        return points % 3 == 1;
      }
    return false;
  }

  std::istringstream words_;
  Picture& picture_;
  std::vector<bool> placed_;
  double height_ = 0;
};

// Boxes around the ops: the clusters of dot, which keeps others out.
void enclose(Picture& picture) {
  for (size_t s = 0; s < picture.segments.size(); ++s) {
    double left = 1e300, top = 1e300, right = -1e300, bottom = -1e300;
    for (const PictureNode& node : picture.nodes) {
      if (node.is_input || node.segment != s) continue;
      left = std::min(left, node.box.x);
      top = std::min(top, node.box.y);
      right = std::max(right, node.box.x + node.box.w);
      bottom = std::max(bottom, node.box.y + node.box.h);
    }
    picture.segments[s] = {left - kMargin, top - kMargin - kTitle, right - left + 2 * kMargin, bottom - top + 2 * kMargin + kTitle};
  }
}

}  // namespace

bool place_with_dot(Picture& picture, int64_t timeout_ms) {
  if (picture.nodes.size() > kMostNodes) return false;
  const auto plain = run_filter({"dot", "-Tplain"}, dot_text(picture), timeout_ms);
  if (!plain) return false;
  Picture placed = picture;
  if (!PlainReader(*plain, placed).read()) return false;
  enclose(placed);
  placed.layout = "dot";
  picture = std::move(placed);
  return true;
}

}  // namespace fusec
