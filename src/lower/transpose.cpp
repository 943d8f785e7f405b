#include "lower/transpose.h"

#include <algorithm>

#include "kernel/visit.h"
#include "support/check.h"

namespace fusec {

namespace {

constexpr int kSide = 64;
constexpr int kMaxSharedBytes = 48 * 1024;
constexpr int64_t kLeastExtent = 16;

// A load that steps over memory along `x` and runs along `y`.
bool transposed(const Part& part, const Node& n, AtomId x, AtomId y) {
  return n.kind == Node::kLoad && n.in.empty() && n.index.coefficient(y).is(1) && !n.index.coefficient(x).is(0) &&
         !inside_atom(part.space, n.index, x) && !inside_atom(part.space, n.index, y);
}

bool all_uniform(const Part& part, const std::vector<Index>& guards, AtomId v, int width) {
  return std::all_of(guards.begin(), guards.end(), [&](const Index& g) { return uniform_over(part.space, g, v, width); });
}

struct Axes {
  AtomId x, y;
  std::vector<NodeId> loads;
};

Axes find_axes(const Part& part, int shared_bytes) {
  Axes best;
  int64_t best_bytes = 0;
  const AtomId x = part.dims.back();
  for (AtomId y : part.dims) {
    if (y == x) continue;
    if (!part.space.extent(y).is_constant() || part.space.extent(y).value() < kLeastExtent) continue;
    Axes axes{x, y, {}};
    int64_t bytes = 0, shared = shared_bytes;
    for (size_t i = 0; i < part.nodes.size(); ++i) {
      const Node& n = part.nodes[NodeId(i)];
      if (!transposed(part, n, x, y)) continue;
      shared += bytes_of(n.dtype) * kSide * (kSide + 1);
      if (shared > kMaxSharedBytes) break;
      axes.loads.push_back(NodeId(i));
      bytes += bytes_of(n.dtype);
    }
    if (bytes > best_bytes) best = std::move(axes), best_bytes = bytes;
  }
  return best;
}

int column_width(const Part& part, const Kernel& kernel, const Axes& axes) {
  int least = 16, most = 1;
  for_each_access(part, kernel, [&](const Index& index, DType dtype) {
    if (!index.coefficient(axes.x).is(1)) return;
    least = std::min(least, bytes_of(dtype));
    most = std::max(most, bytes_of(dtype));
  });
  int width = std::max(1, std::min(16 / least, 32 / most));
  const int64_t extent = part.space.extent(axes.x).value();
  bool uniform = false;
  for (; width > 1; width /= 2) {
    uniform = extent % width == 0;
    for (const Node& n : part.nodes) uniform = uniform && all_uniform(part, n.guard, axes.x, width);
    if (uniform) break;
  }
  return width;
}

int row_width(const Part& part, const Node& load, AtomId y) {
  int width = 16 / bytes_of(load.dtype);
  const int64_t extent = part.space.extent(y).value();
  while (width > 1 &&
         (extent % width != 0 || part.space.alignment(load.index, y, width) < width || !all_uniform(part, load.guard, y, width)))
    width /= 2;
  return width;
}

// How one load is staged: in variables of its own, `x_base` and `y_base` being the tile's first element.
Tile::Staged stage(Kernel& kernel, Part& part, const Axes& axes, NodeId id, const Index& x_base, const Index& y_base) {
  IndexSpace& space = part.space;
  const Node& load = part.nodes[id];
  const int64_t x_extent = space.extent(axes.x).value(), y_extent = space.extent(axes.y).value();
  kernel.shared_bytes += bytes_of(load.dtype) * kSide * (kSide + 1);
  Tile::Staged staged;
  staged.load = id;
  staged.width = row_width(part, load, axes.y);
  const int vectors = kSide / staged.width, columns_a_pass = std::min(kSide, kernel.block / vectors);
  staged.vector = space.add_variable("row_vector", vectors);
  staged.column = space.add_variable("column", columns_a_pass);
  staged.pass = space.add_variable("pass", std::max(1, kSide / columns_a_pass));
  const Index x = x_base + space.variable(staged.pass) * Size(columns_a_pass) + space.variable(staged.column);
  const Index y = y_base + space.variable(staged.vector) * Size(staged.width);
  staged.index = space.substitute(load.index, {{axes.x, x}, {axes.y, y}});
  for (const Index& g : load.guard) {
    const bool downward = g.coefficient(axes.y).is(-1);  // decided by the vector's last element
    staged.guard.push_back(space.substitute(g, {{axes.x, x}, {axes.y, y}}) - Index(downward ? staged.width - 1 : 0));
  }
  if (x_extent % kSide != 0) staged.guard.push_back(Index(x_extent - 1) - x);
  if (y_extent % kSide != 0) staged.guard.push_back(Index(y_extent - staged.width) - y);
  return staged;
}

}  // namespace

bool make_tile(Kernel& kernel, Part& part) {
  if (part.dims.size() < 2) return false;
  const Size x_extent = part.space.extent(part.dims.back());
  if (!x_extent.is_constant() || x_extent.value() < kLeastExtent) return false;
  const Axes axes = find_axes(part, kernel.shared_bytes);
  if (axes.loads.empty()) return false;

  const Size y_extent = part.space.extent(axes.y);
  auto blocks = [](const Size& extent) { return Size((extent.value() + kSide - 1) / kSide); };
  IndexSpace& space = part.space;
  Tile tile;
  part.vector = column_width(part, kernel, axes);
  const int rows_a_pass = kernel.block / (kSide / part.vector);
  const AtomId x_block = space.add_variable(space[axes.x].name + "_tile", blocks(x_extent));
  const AtomId y_block = space.add_variable(space[axes.y].name + "_tile", blocks(y_extent));
  tile.column_vector = space.add_variable("column", kSide / part.vector);
  tile.row = space.add_variable("row", std::min(rows_a_pass, kSide));
  if (part.vector > 1) part.lane = space.add_variable("lane", part.vector);
  part.unroll = std::max(1, kSide / rows_a_pass);
  if (part.unroll > 1) part.serial = space.add_variable("u", part.unroll);

  const Index x_base = space.variable(x_block) * Size(kSide), y_base = space.variable(y_block) * Size(kSide);
  Index x = x_base + space.variable(tile.column_vector) * Size(part.vector), y = y_base + space.variable(tile.row);
  if (part.lane.valid()) x = x + space.variable(part.lane);
  if (part.serial.valid()) y = y + space.variable(part.serial) * Size(rows_a_pass);
  std::vector<Index> bounds;
  if (x_extent.value() % kSide != 0) bounds.push_back(Index(x_extent - 1) - x);
  if (y_extent.value() % kSide != 0) bounds.push_back(Index(y_extent - 1) - y);

  for (NodeId id : axes.loads) tile.staged.push_back(stage(kernel, part, axes, id, x_base, y_base));

  for_each_index(part, [&](Index& index) { index = space.substitute(index, {{axes.x, x}, {axes.y, y}}); });
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    Node& n = part.nodes[NodeId(i)];
    const bool staged = std::find(axes.loads.begin(), axes.loads.end(), NodeId(i)) != axes.loads.end();
    if ((n.kind == Node::kLoad && !staged) || (n.kind == Node::kChecked && n.buffer.valid()))
      n.guard.insert(n.guard.end(), bounds.begin(), bounds.end());
  }
  for (Store& s : part.stores) s.guard.insert(s.guard.end(), bounds.begin(), bounds.end());
  if (part.lane.valid()) for_each_guard(part, [&](Index& g) { g = without_lane(space, g, part.lane, part.vector); });
  refresh_data(part);
  std::replace(part.dims.begin(), part.dims.end(), axes.x, x_block);
  std::replace(part.dims.begin(), part.dims.end(), axes.y, y_block);
  part.grid = {iterations(part), 1};
  part.tile = std::move(tile);
  return true;
}

}  // namespace fusec
