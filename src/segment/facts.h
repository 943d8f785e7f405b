// What segmentation knows about a graph: sizes, roles, costs, users, and an order of the ops that depends on structure alone.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace fusec {

// How an op takes part in a kernel. The anchors need a schedule of their own; all others are evaluated at any index where they are needed.
enum class Role : uint8_t { kPointwise, kView, kCreation, kGather, kReduction, kScan, kSort, kScatter, kLibrary };
constexpr bool is_anchor(Role r) { return r >= Role::kReduction; }

class Facts {
 public:
  // kStructural: an order of the ops that names and the op list do not influence, for decisions; else simply that of the op list.
  enum class Order : uint8_t { kStructural, kAsListed };
  explicit Facts(const Graph& graph, Order order = Order::kStructural);

  const Graph& graph;

  // Extents, elements and bytes at the typical sizes of run-time dims.
  std::span<const int64_t> extents(ValueId v) const { return {pool_.data() + extents_at_[v], graph[v].shape.size()}; }
  int64_t elems(ValueId v) const { return elems_[v]; }
  int64_t bytes(ValueId v) const { return elems_[v] * bytes_of(graph[v].dtype); }
  int64_t typical(const Size& size) const { return size.is_constant() ? size.value() : evaluate(size, typical_); }
  // Ops that some output needs and that read v, each once.
  std::span<const OpId> users(ValueId v) const { return {users_.data() + users_at_[v.index], users_.data() + users_at_[v.index + 1]}; }
  bool is_output(ValueId v) const { return is_output_[v]; }

  Role role(OpId op) const { return roles_[op]; }
  bool is_anchor(OpId op) const { return fusec::is_anchor(roles_[op]); }
  // Simple lane instructions for one element (of the operand for reductions, of the updates for scatters).
  double instructions(OpId op) const { return instructions_[op]; }
  bool needed(OpId op) const { return rank_[op] != UINT32_MAX; }
  // First named result, and the elements an op works on: the operand's for reductions, scans and sorts, the updates' for scatters.
  ValueId result(OpId op) const;
  int64_t work(OpId op) const;
  // A scatter whose result is written over the graph input it starts from.
  bool in_place(OpId op) const { return in_place_[op]; }
  bool is_aliased_input(ValueId v) const { return aliased_input_[v]; }

  // Needed ops in a topological order.
  const std::vector<OpId>& ordered() const { return ordered_; }
  uint32_t rank(OpId op) const { return rank_[op]; }

  // Dims that a reduction reduces, or the one dim of a scan, sort or index op.
  std::vector<int64_t> inner_dims(OpId op) const;

 private:
  void measure();
  void find_needed_and_users();
  void classify();
  void order();

  SymbolValues typical_;
  std::vector<int64_t> pool_;
  IdVec<ValueId, uint32_t> extents_at_;
  IdVec<ValueId, int64_t> elems_;
  std::vector<OpId> users_;
  std::vector<uint32_t> users_at_;
  IdVec<ValueId, uint8_t> is_output_, aliased_input_;
  IdVec<OpId, Role> roles_;
  IdVec<OpId, float> instructions_;
  IdVec<OpId, uint8_t> in_place_;
  IdVec<OpId, uint32_t> rank_;
  std::vector<OpId> ordered_;
};

}  // namespace fusec
