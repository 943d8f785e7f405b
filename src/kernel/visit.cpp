#include "kernel/visit.h"

#include <algorithm>

namespace fusec {

bool inside_atom(const IndexSpace& space, const Index& index, AtomId v) {
  return std::any_of(index.terms.begin(), index.terms.end(),
                     [&](const auto& t) { return space[t.first].kind != Atom::kVariable && space.depends_on(space.variable(t.first), v); });
}

bool only_by_data(const IndexSpace& space, const Index& index, AtomId v) {
  return std::all_of(index.terms.begin(), index.terms.end(), [&](const auto& t) {
    const Atom& a = space[t.first];
    if (a.kind == Atom::kData || !space.depends_on(space.variable(t.first), v)) return true;
    return a.kind != Atom::kVariable && !a.data.empty() && only_by_data(space, a.operand, v);
  });
}

bool uniform_over(const IndexSpace& space, const Index& guard, AtomId v, int width) {
  if (width == 1) return true;
  if (inside_atom(space, guard, v)) return false;
  const Size c = guard.coefficient(v);
  if (c.is(0)) return true;
  if (c.is(1)) return space.alignment(guard, v, width) == width;
  // Decided by the last lane.
  return c.is(-1) && space.alignment(guard + Index(1), v, width) == width;
}

Index without_lane(const IndexSpace& space, const Index& guard, AtomId lane, int width) {
  const Size c = guard.coefficient(lane);
  if (c.is(1)) return guard - space.variable(lane);
  if (c.is(-1)) return guard + space.variable(lane) - Index(width - 1);
  return guard;
}

std::vector<bool> independent_nodes(const Part& part, AtomId v) {
  auto free = [&](const Index& i) { return v.valid() ? !part.space.depends_on(i, v) : i.is_constant(); };
  // Reductions are the same for all positions of a row.
  const bool along_positions =
      part.sweep && v.valid() &&
      ((v == part.lane && !part.sweep->across) || std::find(part.sweep->dims.begin(), part.sweep->dims.end(), v) != part.sweep->dims.end());
  std::vector<bool> independent(part.nodes.size());
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    const Node& n = part.nodes[NodeId(i)];
    if (n.kind == Node::kReduce) {
      independent[i] = along_positions || independent[part.sweep->accumulators[n.accumulator].operand.index];
      continue;
    }
    if (n.kind == Node::kListed && v.valid() && v == part.serial) {  // the same, whatever its items
      independent[i] = independent[n.in[0].index] && independent[n.in[2].index];
      continue;
    }
    const bool rest = n.kind != Node::kListed || free(part.list->element);  // what the row's slots did not hold is added from there
    independent[i] = rest && free(n.index) && std::all_of(n.guard.begin(), n.guard.end(), free) &&
                     std::all_of(n.in.begin(), n.in.end(), [&](NodeId in) { return independent[in.index]; });
  }
  return independent;
}

std::vector<std::vector<AtomId>> variables_of_nodes(const Part& part, const std::vector<AtomId>& positions) {
  std::vector<std::vector<AtomId>> all(part.nodes.size());
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    const Node& n = part.nodes[NodeId(i)];
    std::vector<AtomId>& mine = all[i];
    auto add = [&](const std::vector<AtomId>& more) { mine.insert(mine.end(), more.begin(), more.end()); };
    auto add_index = [&](const Index& index) {
      for (const auto& [atom, c] : index.terms) add(part.space[atom].variables);
    };
    add_index(n.index);
    for (const Index& g : n.guard) add_index(g);
    for (NodeId in : n.in) add(all[in.index]);
    if (n.kind == Node::kReduce) {
      add(all[part.sweep->accumulators[n.accumulator].operand.index]);
      std::erase_if(mine, [&](AtomId v) { return std::find(positions.begin(), positions.end(), v) != positions.end(); });
    }
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  }
  return all;
}

void refresh_data(Part& part) {
  bool any = false;
  for (size_t i = 0; i < part.space.size(); ++i) any = any || part.space[AtomId(i)].kind == Atom::kData;
  if (!any) return;
  std::vector<AtomId> positions;
  if (part.sweep) positions = part.sweep->dims;
  if (part.sweep && part.lane.valid() && !part.sweep->across) positions.push_back(part.lane);
  // Data reads data: from the inside out, as nodes stand.
  std::vector<std::vector<AtomId>> variables;
  for (size_t round = 0; round <= part.space.size(); ++round) {
    auto now = variables_of_nodes(part, positions);
    if (now == variables) return;
    variables = std::move(now);
    part.space.set_data_variables([&](NodeId n) { return variables[n.index]; });
  }
}

std::vector<bool> along_row(const Part& part) {
  std::vector<AtomId> variables = part.sweep->dims;
  if (part.lane.valid() && !part.sweep->across) variables.push_back(part.lane);
  auto varies = [&](const Index& i) {
    return std::any_of(variables.begin(), variables.end(), [&](AtomId v) { return part.space.depends_on(i, v); });
  };
  std::vector<bool> along(part.nodes.size());
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    const Node& n = part.nodes[NodeId(i)];
    if (n.kind == Node::kReduce) continue;
    along[i] = varies(n.index) || std::any_of(n.guard.begin(), n.guard.end(), varies) ||
               std::any_of(n.in.begin(), n.in.end(), [&](NodeId in) { return along[in.index]; });
  }
  return along;
}

bool is_along(const Part& part, const std::vector<bool>& along, const Store& store) {
  return along[store.value.index] ||
         std::any_of(part.sweep->dims.begin(), part.sweep->dims.end(), [&](AtomId v) { return part.space.depends_on(store.index, v); });
}

int sweep_of(const Accumulator& a, const std::vector<int>& phase) {
  return std::max(phase[a.operand.index], a.mean.valid() ? phase[a.mean.index] : 0);
}

bool rows_fill_blocks(const Part& part) {
  const Size rows = iterations(part);
  return rows.is_constant() && rows.value() % part.sweep->rows == 0;
}

bool depends_on_row(const Part& part, const Index& index) {
  auto varies = [&](const Index& i) {
    return std::any_of(part.dims.begin(), part.dims.end(), [&](AtomId v) { return part.space.depends_on(i, v); });
  };
  if (!varies(index)) return false;
  const bool one_shift = part.sweep && part.sweep->skew && !part.sweep->columns.empty();  // of all rows that a block takes
  return !one_shift || varies(index + part.sweep->skew->shift);
}

int64_t positions_of_block(const Sweep& sweep, int64_t positions) {
  const int64_t even = (positions + sweep.split - 1) / sweep.split, unit = sweep.blocks > 0 ? sweep.group : std::min(sweep.group, 32);
  return (even + unit - 1) / unit * unit;
}

std::vector<int64_t> places_ahead(const Part& part, int block) {
  const std::vector<bool> along = along_row(part);
  std::vector<int64_t> places{0};
  for (NodeId id : part.sweep->ahead) {
    const Node& n = part.nodes[id];
    const int64_t lanes = part.lane.valid() && part.space.depends_on(n.index, part.lane) ? part.vector : 1;
    places.push_back(places.back() +
                     2 * (along[id.index] ? lanes * bytes_of(n.dtype) * part.sweep->steps * block : int64_t{8} * block / 32));
  }
  return places;
}

std::vector<int> phases(const Part& part) {
  std::vector<int> phase(part.nodes.size());
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    const Node& n = part.nodes[NodeId(i)];
    for (NodeId in : n.in) phase[i] = std::max(phase[i], phase[in.index]);
    if (n.kind != Node::kReduce) continue;
    phase[i] = sweep_of(part.sweep->accumulators[n.accumulator], phase) + 1;
  }
  return phase;
}

Size iterations(const Part& part, const std::vector<AtomId>& dims) {
  Size count = 1;
  for (AtomId d : dims) count *= part.space.extent(d);
  return count;
}

std::vector<bool> needed_nodes(const Part& part, const std::vector<NodeId>& roots) {
  std::vector<bool> needed(part.nodes.size(), false);
  for (NodeId root : roots) needed[root.index] = true;
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (NodeId in : part.nodes[NodeId(i)].in) needed[in.index] = true;
  return needed;
}

Size iterations(const Part& part) { return iterations(part, part.dims); }

int64_t bytes_of_load(const Part& part, const Node& load) {
  return int64_t{bytes_of(load.dtype)} * (part.lane.valid() && part.space.depends_on(load.index, part.lane) ? part.vector : 1);
}

int64_t loaded_bytes(const Part& part) {
  int64_t bytes = 0;
  for (const Node& n : part.nodes)
    if (n.kind == Node::kLoad) bytes += bytes_of_load(part, n);
  return bytes;
}

int64_t node_cost(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case Node::kScalar:
    case Node::kConstant:
    case Node::kItem:
    case Node::kSorted:
      return 0;
    case Node::kLoad:
      return 4;
    case Node::kSelect:
      return 1;
    case Node::kIndex:
      return 2;
    case Node::kRandom:
      return 60;
    case Node::kChecked:
      return 3;
    case Node::kReduce:
    case Node::kListed:
      return 1;
    case Node::kJoined:
      return static_cast<int64_t>(node.in.size()) - 1;
    case Node::kOp:
      return info(graph[node.op].kind).cost;
  }
  return 0;
}

bool contiguous_as_a_whole(const Part& part) {
  auto row_major = [&](const Index& index) {
    Size stride = 1;
    for (size_t d = part.dims.size(); d-- > 0;) {
      if (!(index.coefficient(part.dims[d]) == stride)) return false;
      stride *= part.space.extent(part.dims[d]);
    }
    return index.terms.size() == part.dims.size();
  };
  auto uses_all = [&](const Index& index) {
    return std::all_of(part.dims.begin(), part.dims.end(), [&](AtomId d) { return part.space.depends_on(index, d); });
  };
  for (const Node& n : part.nodes)
    if (n.kind == Node::kLoad && uses_all(n.index) && !row_major(n.index)) return false;
  return std::all_of(part.stores.begin(), part.stores.end(), [&](const Store& s) { return row_major(s.index); });
}

int index_depth(const Part& part) {
  int depth = 0;
  for_each_index(part, [&](const Index& index) { depth = std::max(depth, part.space.depth(index)); });
  return depth;
}

void name_shared_atoms(Part& part) {
  std::vector<bool> used(part.space.size()), inside(part.space.size());
  for_each_index(part, [&](const Index& index) {
    for (const auto& [atom, c] : index.terms) used[atom.index] = true;
  });
  for (size_t i = part.space.size(); i-- > 0;) {  // an atom's operand has lower numbers
    if (!used[i]) continue;
    for (const auto& [atom, c] : part.space[AtomId(i)].operand.terms) used[atom.index] = inside[atom.index] = true;
  }
  for (size_t i = 0; i < part.space.size(); ++i) {
    const AtomId id(i);
    const Index atom = part.space.variable(id);
    const bool in_sweep = part.sweep && std::any_of(part.sweep->dims.begin(), part.sweep->dims.end(),
                                                    [&](AtomId v) { return part.space.depends_on(atom, v); });
    const bool varies = in_sweep || part.space.reads_data(atom) || (part.lane.valid() && part.space.depends_on(atom, part.lane)) ||
                        (part.serial.valid() && part.space.depends_on(atom, part.serial));
    if (!inside[i] || part.space[id].kind == Atom::kVariable || varies || part.tile) continue;
    part.shared_atoms.push_back(id);
    part.space.set_name(id, "i" + std::to_string(i) + "q");
  }
}

void choose_index_width(Part& part) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  // A tail's last block may count past the end by up to its own elements.
  Index threads(part.grid.elems);
  bool fits = part.space.highest(threads) < kLimit - (int64_t{1} << 20);
  for_each_index(part,
                 [&](const Index& index) { fits = fits && part.space.highest(index) < kLimit && part.space.lowest(index) > -kLimit; });
  for_each_guard(part, [&](const Index& guard) {
    const auto [positive, negative] = sides_of(guard);
    fits = fits && part.space.highest(positive) < kLimit && part.space.highest(negative) < kLimit;
  });
  for (size_t i = 0; i < part.space.size(); ++i) {
    const Atom& a = part.space[AtomId(i)];
    if (a.kind != Atom::kVariable) fits = fits && part.space.highest(a.operand) < kLimit && part.space.lowest(a.operand) > -kLimit;
  }
  part.wide_index = !fits;
}

}  // namespace fusec
