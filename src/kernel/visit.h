// Walks over the indices, guards, accesses and dependences of a part.
#pragma once

#include <vector>

#include "kernel/kernel.h"

namespace fusec {

// Every index and guard of nodes, stores and accumulators.
template <class PartType, class F>
void for_each_index(PartType& part, F&& f) {
  for (auto& n : part.nodes) {
    f(n.index);
    for (auto& g : n.guard) f(g);
  }
  for (auto& s : part.stores) {
    f(s.index);
    if (s.claim) f(s.claim->item);
    for (auto& g : s.guard) f(g);
  }
  if (part.list) f(part.list->element);
  if (!part.sweep) return;
  for (auto& a : part.sweep->accumulators) f(a.position);
  for (auto& c : part.sweep->columns) f(c.index);
  if (part.sweep->skew) f(part.sweep->skew->shift);
}

template <class PartType, class F>
void for_each_guard(PartType& part, F&& f) {
  for (auto& n : part.nodes)
    for (auto& g : n.guard) f(g);
  for (auto& s : part.stores)
    for (auto& g : s.guard) f(g);
}

// Every load and store: f(index, dtype).
template <class F>
void for_each_access(const Part& part, const Kernel& kernel, F&& f) {
  for (const Node& n : part.nodes)
    if (n.kind == Node::kLoad) f(n.index, n.dtype);
  for (const Store& s : part.stores) f(s.index, kernel.buffers[s.buffer].dtype);
}

// True if the index contains a quotient or remainder over the variable.
bool inside_atom(const IndexSpace& space, const Index& index, AtomId v);

// True if the index contains `v` only by way of data: such a guard is asked lane by lane.
bool only_by_data(const IndexSpace& space, const Index& index, AtomId v);

// True if `width` neighbouring values of `v`, the first a multiple of it, give the guard one answer.
bool uniform_over(const IndexSpace& space, const Index& guard, AtomId v, int width);

// A guard that is uniform over the lanes, asked once for all of them: without the lane's variable.
Index without_lane(const IndexSpace& space, const Index& guard, AtomId lane, int width);

// Per node: true when neither it nor what it is computed from depends on `v` (on any variable, when `v` is invalid).
std::vector<bool> independent_nodes(const Part& part, AtomId v);

// Per node: true for the roots and what they are computed from.
std::vector<bool> needed_nodes(const Part& part, const std::vector<NodeId>& roots);

// Per node the loop variables that its value depends on, sorted; `positions`: those that reductions run over.
std::vector<std::vector<AtomId>> variables_of_nodes(const Part& part, const std::vector<AtomId>& positions);
// After variables were replaced: what the part's data depends on.
void refresh_data(Part& part);

// Per node: true when its value changes along a row: it, or what it is computed from (reductions apart), depends on a variable of the
// sweep.
std::vector<bool> along_row(const Part& part);

// True if the store writes something for every position of a row. `along` as along_row gives it.
bool is_along(const Part& part, const std::vector<bool>& along, const Store& store);

// Per node: the sweep during which it is known, reductions being known after theirs.
std::vector<int> phases(const Part& part);
// The sweep that feeds an accumulator. `phase` as phases gives it.
int sweep_of(const Accumulator& accumulator, const std::vector<int>& phase);

// True if rows read or write different elements.
bool depends_on_row(const Part& part, const Index& index);

// True where every group of threads is known to have a row of its own.
bool rows_fill_blocks(const Part& part);

// Positions of a row that one block takes: an even share, in whole warps, or, where it takes rows in turns, in whole groups.
int64_t positions_of_block(const Sweep& sweep, int64_t positions);

// Where in shared memory, in bytes, the loads lie that Sweep::ahead names, and the end: of two rows, each thread's own; of what is one
// number for a row, each warp's.
std::vector<int64_t> places_ahead(const Part& part, int block);

// Π extents of the part's loop variables.
Size iterations(const Part& part);
// Π extents of the variables.
Size iterations(const Part& part, const std::vector<AtomId>& dims);

// Of all lanes of a load.
int64_t bytes_of_load(const Part& part, const Node& load);
// Of all loads of a thread, once.
int64_t loaded_bytes(const Part& part);

// Instructions an element, loads and index arithmetic included.
int64_t node_cost(const Graph& graph, const Node& node);

// True if every store, and every load that depends on all dimensions, walks memory in the row-major order of the dimensions.
bool contiguous_as_a_whole(const Part& part);

// The deepest nesting of quotients and remainders in any index of the part.
int index_depth(const Part& part);

// Names the quotients and remainders that others contain, so that the text of an index grows with its parts, not with their
// product. Only what is the same for all lanes and repetitions can be named.
void name_shared_atoms(Part& part);

// 32-bit index arithmetic where every index and the number of threads provably fit, else 64-bit.
void choose_index_width(Part& part);

}  // namespace fusec
