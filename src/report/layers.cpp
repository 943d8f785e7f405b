#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/picture.h"

namespace fusec {

namespace {

constexpr double kGapX = 18, kGapY = 34;     // between nodes
constexpr double kMargin = 16, kTitle = 30;  // of a segment's box, and the room for its heading
constexpr double kSegmentGapX = 60, kSegmentGapY = 70;
constexpr double kInputGap = 40;             // from a row of inputs to the box below it
constexpr double kTall = 2.5, kWide = 0.75;  // height over width from which rows are folded into columns: of a segment, of all
constexpr int kSweeps = 6;

// Things with sizes and arrows among them, to be placed in layers from top to bottom.
struct Layering {
  std::vector<Box> boxes;
  std::vector<std::pair<uint32_t, uint32_t>> arrows;  // from a lower index to a higher one
  double width = 0, height = 0;
};

std::vector<std::vector<uint32_t>> layers_of(const Layering& l) {
  std::vector<uint32_t> layer(l.boxes.size());
  std::vector<std::vector<uint32_t>> into(l.boxes.size());
  for (const auto& [from, to] : l.arrows) into[to].push_back(from);
  std::vector<std::vector<uint32_t>> rows;
  for (uint32_t n = 0; n < l.boxes.size(); ++n) {
    for (uint32_t from : into[n]) layer[n] = std::max(layer[n], layer[from] + 1);
    if (layer[n] >= rows.size()) rows.resize(layer[n] + 1);
    rows[layer[n]].push_back(n);
  }
  return rows;
}

// Neighbours near each other: rows are sorted by the mean place of their neighbours, down and up.
void untangle(const Layering& l, std::vector<std::vector<uint32_t>>& rows) {
  std::vector<std::vector<uint32_t>> above(l.boxes.size()), below(l.boxes.size());
  for (const auto& [from, to] : l.arrows) above[to].push_back(from), below[from].push_back(to);
  std::vector<double> place(l.boxes.size());
  auto number = [&](const std::vector<uint32_t>& row) {
    for (size_t i = 0; i < row.size(); ++i) place[row[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(row.size());
  };
  for (const auto& row : rows) number(row);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const bool down = sweep % 2 == 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      std::vector<uint32_t>& row = rows[down ? r : rows.size() - 1 - r];
      std::vector<std::pair<double, uint32_t>> keyed;
      for (uint32_t n : row) {
        const auto& near = down ? above[n] : below[n];
        double sum = 0;
        for (uint32_t m : near) sum += place[m];
        keyed.emplace_back(near.empty() ? place[n] : sum / static_cast<double>(near.size()), n);
      }
      std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < row.size(); ++i) row[i] = keyed[i].second;
      number(row);
    }
  }
}

// Rows one below the other, each in the middle; many rows in several columns.
void place(Layering& l, double gap_x, double gap_y, double tall) {
  std::vector<std::vector<uint32_t>> rows = layers_of(l);
  untangle(l, rows);
  std::vector<double> widths, heights;
  double widest = 0, total = 0;
  for (const auto& row : rows) {
    double width = -gap_x, height = 0;
    for (uint32_t n : row) width += l.boxes[n].w + gap_x, height = std::max(height, l.boxes[n].h);
    widths.push_back(width);
    heights.push_back(height);
    widest = std::max(widest, width);
    total += height + gap_y;
  }
  const double columns = std::max(1.0, std::floor(std::sqrt(total / (tall * (widest + 3 * gap_x)))));
  const double column_height = total / columns;
  double left = 0, y = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (y > 0 && y + heights[r] > column_height + 1) left += widest + 3 * gap_x, y = 0;
    double x = left + (widest - widths[r]) / 2;
    for (uint32_t n : rows[r]) {
      l.boxes[n].x = x;
      l.boxes[n].y = y + (heights[r] - l.boxes[n].h) / 2;
      x += l.boxes[n].w + gap_x;
    }
    y += heights[r];
    l.height = std::max(l.height, y);
    y += gap_y;
  }
  l.width = left + widest;
}

// A segment with the inputs that it is the first to read above it.
struct Block {
  std::vector<uint32_t> nodes, inputs;
  Layering inner;
  double inputs_height = 0, width = 0, height = 0;
};

// Inputs in rows above the box, no wider than needed.
void place_inputs(Block& b, std::vector<PictureNode>& nodes) {
  double x = 0, y = 0, row = 0, widest = 0;
  const double limit = std::max(b.inner.width + 2 * kMargin, 900.0);
  for (uint32_t n : b.inputs) {
    Box& box = nodes[n].box;
    if (x > 0 && x + box.w > limit) x = 0, y += row + kGapX;
    box.x = x;
    box.y = y;
    x += box.w + kGapX;
    row = box.h;
    widest = std::max(widest, x - kGapX);
  }
  b.inputs_height = b.inputs.empty() ? 0 : y + row + kInputGap;
  b.width = std::max(b.inner.width + 2 * kMargin, widest);
  b.height = b.inputs_height + b.inner.height + 2 * kMargin + kTitle;
  for (uint32_t n : b.inputs) nodes[n].box.x += (b.width - widest) / 2;
}

}  // namespace

void place_in_layers(Picture& picture) {
  std::vector<PictureNode>& nodes = picture.nodes;
  std::vector<Block> blocks(picture.segments.size());
  std::vector<uint32_t> place_in(nodes.size()), first_reader(nodes.size(), UINT32_MAX);
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].is_input) continue;
    Block& b = blocks[nodes[n].segment];
    place_in[n] = static_cast<uint32_t>(b.nodes.size());
    b.nodes.push_back(n);
    b.inner.boxes.push_back(nodes[n].box);
  }
  Layering outer;
  for (const PictureLink& link : picture.links) {
    const PictureNode &from = nodes[link.from], &to = nodes[link.to];
    if (from.is_input) first_reader[link.from] = std::min(first_reader[link.from], to.segment);
    else if (link.crosses) outer.arrows.emplace_back(from.segment, to.segment);
    else blocks[to.segment].inner.arrows.emplace_back(place_in[link.from], place_in[link.to]);
  }
  std::vector<uint32_t> unread;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].is_input) continue;
    if (first_reader[n] == UINT32_MAX) unread.push_back(n);
    else blocks[first_reader[n]].inputs.push_back(n);
  }
  for (Block& b : blocks) {
    place(b.inner, kGapX, kGapY, kTall);
    place_inputs(b, nodes);
    outer.boxes.push_back({0, 0, b.width, b.height});
  }
  place(outer, kSegmentGapX, kSegmentGapY, kWide);
  picture.width = outer.width;
  picture.height = outer.height;
  for (size_t s = 0; s < blocks.size(); ++s) {
    const Block& b = blocks[s];
    const Box& at = outer.boxes[s];
    const double w = b.inner.width + 2 * kMargin, x = at.x + (b.width - w) / 2, y = at.y + b.inputs_height;
    picture.segments[s] = {x, y, w, b.inner.height + 2 * kMargin + kTitle};
    for (uint32_t n : b.inputs) nodes[n].box.x += at.x, nodes[n].box.y += at.y;
    for (size_t i = 0; i < b.nodes.size(); ++i) {
      nodes[b.nodes[i]].box = b.inner.boxes[i];
      nodes[b.nodes[i]].box.x += x + kMargin;
      nodes[b.nodes[i]].box.y += y + kMargin + kTitle;
    }
  }
  // Inputs that nothing reads go below everything.
  double x = 0;
  for (uint32_t n : unread) {
    nodes[n].box.x = x;
    nodes[n].box.y = outer.height + kSegmentGapY;
    x += nodes[n].box.w + kGapX;
    picture.width = std::max(picture.width, x);
    picture.height = nodes[n].box.y + nodes[n].box.h;
  }
  picture.layout = "layers";
}

}  // namespace fusec
