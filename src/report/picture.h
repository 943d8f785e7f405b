// The picture of a segmentation for the HTML report: what is drawn, before and after places are given to it. A segment's box holds its ops
// and, marked as copies, those that it makes again; inputs stand by themselves.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "segment/segmentation.h"

namespace fusec {

struct Box {
  double x = 0, y = 0, w = 0, h = 0;  // pixels, from the top left corner
};

struct PictureNode {
  bool is_input = false;
  OpId op;        // else
  ValueId value;  // the input, or the op's first named result
  uint32_t segment = 0;
  bool copy = false;  // made again: at home in another segment
  std::string label, caption;
  Box box;
};

struct PictureLink {
  uint32_t from = 0, to = 0;  // nodes
  ValueId value;
  bool crosses = false;                          // from one segment to another, through memory
  std::vector<std::pair<double, double>> curve;  // 1 + 3·n points of Bézier curves; empty: a plain one from box to box
};

struct Picture {
  std::vector<PictureNode> nodes;
  std::vector<PictureLink> links;
  std::vector<Box> segments;
  double width = 0, height = 0;
  std::string layout;  // who gave the places: "dot" or "layers"
};

// Without places.
Picture make_picture(const Graph& graph, const Segmentation& segmentation);

// Places by layers: each segment's ops, then the segments. Any size, in near-linear time.
void place_in_layers(Picture& picture);

// Places by Graphviz. False, and nothing changed, when there is no `dot` or it takes longer.
bool place_with_dot(Picture& picture, int64_t timeout_ms);

}  // namespace fusec
