// The statements of a part with a sweep. Methods stand in row_writer.cpp (indices, values and accumulators of rows), row_sweeps.cpp (what
// is done along a row) and row_turns.cpp (blocks that take rows in turns).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "emit/cuda.h"
#include "emit/expression.h"
#include "emit/node_writer.h"
#include "kernel/visit.h"

namespace fusec {

// A thread's repetition (u) runs over the positions of its row that it takes.
class RowWriter : NodeWriter {
 public:
  RowWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names, bool contract,
            NameScope scope, std::string indent, const std::string& first_block);
  std::string write();

 private:
  int64_t round() const { return int64_t{sweep_.group} * sweep_.steps; }  // positions that the threads of a row have in flight
  // Positions of a row that one block takes; not for run-time sizes.
  int64_t chunk() const { return positions_of_block(sweep_, positions_.value()); }
  bool chunks_fit() const;
  bool lanes_across() const { return sweep_.across && part_.lane.valid(); }
  bool whole_rounds() const { return chunks_fit() && chunk() % round() == 0; }
  // The positions of this row: `positions_` at most.
  std::string row_positions() const { return skewed() ? "vectors" : size(positions_); }
  bool loops() const { return !positions_.is_constant() || chunk() > round(); }
  std::string size(const Size& s) const { return size_text(s, graph_.symbols, wide()); }
  int sweep_of(const Accumulator& a) const { return fusec::sweep_of(a, phase_); }
  bool is_along(const Store& s) const { return fusec::is_along(part_, in_u_, s); }
  int count_sweeps() const;
  void name_accumulators();

  // --- indices

  void write_row_index();
  void write_skew();
  std::string shift_text() const { return index_text(part_.space, sweep_.skew->shift, wide()); }
  void write_vectors();

  // The row of a thread, its number being `number_text`.
  void declare_row(const std::string& number_text);
  void write_row_dims();
  void write_member();

  // The part of the row's positions that is this block's.
  void write_chunk();

  // --- rows in turns

  // A block takes rows in turns. The states of columns live longer than a row.
  void open_rows();
  void declare_columns();

  // What is the same for all rows is loaded once.
  void load_for_all_rows();

  // The number of a block among those that take the same positions.
  std::string block() const { return sweep_.split > 1 ? "(blockIdx.x / " + number(sweep_.split) + ")" : "blockIdx.x"; }
  std::string row_in_block() const { return " + threadIdx.x / " + number(sweep_.group); }
  bool depends_on_row(size_t i) const;

  // The next row's loads are on the way to shared memory while this row is computed.
  void declare_ahead();
  std::string copy_text(NodeId id) const;
  void take_ahead();
  std::string ahead_place(NodeId id) const;
  std::string loaded_type(NodeId id) const { return in_lane_[id.index] ? vector_type(id.index) : storage_type(part_.nodes[id].dtype); }

  // Of a load along the row.
  void declare_load(NodeId id);
  void close_rows();

  // What a position's thread found goes to the states that a later kernel merges: in whole vectors, where its lanes lie side by side.
  void write_partial(size_t c);

  // Of a block's groups, the first takes in the states of the others.
  void merge_groups();
  std::string column_state(size_t c) const { return names_of_columns_[c] + "[u]" + (part_.lane.valid() ? "[lane]" : ""); }

  // --- sweeps

  // What is loaded may be written by another thread.
  bool overlaps() const;

  // Opens the repetition over the positions `begin` + u · reach, up to the last one. To load: beyond it that one again, so that all loads
  // are in flight together.
  void open_positions(const std::string& begin, bool loads = false, bool stores = true, bool lanes = true);

  // The lanes of a vector that lie in its row. `head`: it may start before the row, `tail`: it may end close to the row's end or after.
  void declare_lanes(bool known);

  // Kept in registers since an earlier sweep.
  bool is_known(size_t i, int q) const;

  // The nodes along the row that a sweep computes, to look at elements or to take them.
  std::vector<bool> needed_in(int q, const std::vector<const Store*>& stores, bool taking = false) const;
  void write_sweep(int q, bool is_last);

  // All loads of a round come first, to be in flight together.
  void write_sweep_loads(const std::vector<bool>& needed, const std::string& begin);

  // What stays in shared memory from sweep to sweep: every thread reads only what it wrote.
  void declare_staged();
  std::string round_state(size_t k) const;

  // Moments, and sums of exp(x - greatest): what a thread has in flight is looked at first, for its mean or its greatest, and then taken.
  static bool in_rounds(const Accumulator& a) { return a.kind == Accumulator::kMoments || a.kind == Accumulator::kLogsumexp; }
  void write_round(const Scope& scope, const Scope& taking, const std::string& begin);

  // What an accumulator looks at: its operand, or where that is a 16-bit float made wider, the vector that was loaded, in pairs.
  NodeId looked_at(const Accumulator& a) const;
  std::string extreme_of_lanes(const Accumulator& a) const;
  void write_values(const Scope& scope, const std::string& begin);

  // --- rows

  // What is the same along the row and known before sweep q.
  void write_row_values(int q);

  // What a node along the row divides by, where that is one f32 value for the row.
  NodeId row_divisor(size_t i) const;
  void write_row_stores();

  // --- accumulators

  std::string state(size_t k) const { return names_of_accumulators_[k] + (sweep_.across ? (lanes_across() ? "[lane]" : "[0]") : ""); }
  int lanes() const { return lanes_across() ? part_.vector : 1; }
  void for_lanes(const std::string& statement);
  void write_initial(size_t k);
  std::string operand_text(const Accumulator& a) const { return cast_text(ref(a.operand), part_.nodes[a.operand].dtype, a.dtype); }
  std::string add_text(const Accumulator& a, const std::string& accumulator) const;

  // Merges what the threads of a row have found, and takes the results from it.
  void finish_sweep(int q);
  void write_merges(const std::vector<size_t>& complete);

  // A block's rows use two sets of shared states in turns: one barrier a row is enough.
  bool takes_turns() const { return !sweep_.columns.empty() && sweep_.group > 32 && !sweep_.across; }

  // Blocks that share a row leave their states; the last of them merges all, always in the same order.
  void merge_blocks();
  void write_result(NodeId id);

  const Sweep& sweep_;
  const std::string block_;  // the number of the block within the part
  std::vector<int> phase_;
  Size rows_, positions_;
  std::vector<std::string> names_of_accumulators_, names_of_columns_;
  std::string row_condition_, first_position_ = "member", end_, turn_;
  std::map<size_t, int> first_sweep_;  // of kept values: the one that computes them
  std::vector<size_t> in_rounds_;      // accumulators of the sweep that is being written
  std::set<size_t> held_, shared_;
  std::map<uint32_t, std::string> names_of_ahead_;
};

}  // namespace fusec
