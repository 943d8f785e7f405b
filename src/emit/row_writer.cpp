#include "emit/row_writer.h"

#include <algorithm>
#include <numeric>

#include "emit/accumulator.h"
#include "emit/cuda.h"
#include "emit/expression.h"
#include "emit/node_writer.h"
#include "kernel/visit.h"

namespace fusec {

namespace {

// A thread's repetition (u) runs over the positions of its row that it takes.
class RowWriter : NodeWriter {
 public:
  RowWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names, bool contract,
            NameScope scope, std::string indent)
      : NodeWriter(graph, kernel, part, buffer_names, contract, std::move(scope), std::move(indent)),
        sweep_(*part.sweep),
        phase_(phases(part)),
        rows_(iterations(part)),
        positions_(iterations(part, sweep_.dims)) {
    in_u_ = along_row(part);
    const std::vector<bool> free_lane = part.lane.valid() ? independent_nodes(part, part.lane) : std::vector<bool>(in_u_.size(), true);
    for (bool free : free_lane) in_lane_.push_back(!free);
    repeats_ = true;
    prepare();
    used_later_.assign(in_u_.size(), true);  // row values serve every sweep after theirs
    name_accumulators();
    for (NodeId id : sweep_.kept) kept_.insert(id.index);
  }

  std::string write() {
    const int64_t turns = kernel_.is_phase ? (rows_.value() + sweep_.rows - 1) / sweep_.rows : 1;
    if (kernel_.is_phase) {
      turn_ = turns > 1 ? scope_.take("turn") : "0";
      open(turns > 1 ? "for (unsigned " + turn_ + " = 0; " + turn_ + " < " + number(turns) + "; ++" + turn_ + ") {" : "{");
    }
    if (sweep_.blocks > 0) open_rows();
    else write_row_index();
    declare_staged();
    const int sweeps = count_sweeps();
    for (int q = 0; q < sweeps; ++q) {
      write_row_values(q);
      write_sweep(q, q + 1 == sweeps);
      finish_sweep(q);
    }
    write_row_values(sweeps);
    write_row_stores();
    if (sweep_.blocks > 0) close_rows();
    if (turns > 1 && !shared_.empty()) line("__syncthreads();  // before the next rows' states");
    if (kernel_.is_phase) close();
    if (sweep_.cluster) line("fs_cluster_barrier();  // a block's shared memory lives until all have read it");
    return std::move(out_);
  }

 private:
  int64_t round() const { return int64_t{sweep_.group} * sweep_.steps; }  // positions that the threads of a row have in flight
  // Positions of a row that one block takes; not for run-time sizes.
  int64_t chunk() const { return positions_of_block(sweep_, positions_.value()); }
  bool chunks_fit() const {
    return !skewed() && positions_.is_constant() && positions_.value() > 0 && chunk() * sweep_.split == positions_.value();
  }
  bool lanes_across() const { return sweep_.across && part_.lane.valid(); }
  bool whole_rounds() const { return chunks_fit() && chunk() % round() == 0; }
  // The positions of this row: `positions_` at most.
  std::string row_positions() const { return skewed() ? "vectors" : size(positions_); }
  bool loops() const { return !positions_.is_constant() || chunk() > round(); }
  std::string size(const Size& s) const { return size_text(s, graph_.symbols, wide()); }

  int sweep_of(const Accumulator& a) const { return fusec::sweep_of(a, phase_); }
  bool is_along(const Store& s) const { return fusec::is_along(part_, in_u_, s); }
  int count_sweeps() const {
    int last = 0;
    for (const Accumulator& a : sweep_.accumulators) last = std::max(last, sweep_of(a));
    for (const Store& s : part_.stores)
      if (is_along(s)) last = std::max(last, phase_[s.value.index]);
    for (const Column& c : sweep_.columns) last = std::max(last, phase_[c.accumulator.operand.index]);
    return last + 1;
  }

  void name_accumulators() {
    names_of_accumulators_.resize(sweep_.accumulators.size());
    for (const Node& n : part_.nodes)
      if (n.kind == Node::kReduce && names_of_accumulators_[n.accumulator].empty())
        names_of_accumulators_[n.accumulator] = scope_.take(graph_.name_of(n.op) + "_acc");
  }

  // --- indices

  void write_row_index() {
    const std::string type = index_type(), rows = number(sweep_.rows), group = number(sweep_.group);
    std::string block = kernel_.is_phase ? turn_ : sweep_.split > 1 ? "blockIdx.x / " + number(sweep_.split) : "blockIdx.x";
    if (wide() && block != "0") block = "(long long)" + block;
    const std::string row_of_block = sweep_.rows == 1    ? ""
                                     : sweep_.across     ? "threadIdx.x % " + rows
                                     : sweep_.group == 1 ? "threadIdx.x"
                                                         : "threadIdx.x / " + group;
    const bool one = block == "0" && sweep_.rows > 1;
    declare_row(one ? row_of_block : block + (sweep_.rows > 1 ? " * " + rows + " + " + row_of_block : ""));
    write_row_dims();
    write_skew();
    write_member();
    if (sweep_.split > 1) write_chunk();
  }

  void write_skew() {
    if (!skewed()) return;
    const Skew& skew = *sweep_.skew;
    line("const unsigned shift = " + index_text(part_.space, skew.shift, wide()) + ";  // by which the row starts after an aligned vector");
    line("const unsigned vectors = (shift + " + number(skew.elems + part_.vector - 1) + ") / " + number(part_.vector) + ";");
  }

  // The row of a thread, its number being `number_text`.
  void declare_row(const std::string& number_text) {
    const std::string type = index_type();
    if (rows_fill_blocks(part_)) return line("const " + type + " t = " + number_text + ";");
    // A thread without a row takes part in the last one's, but stores nothing.
    line("const " + type + " t0 = " + number_text + ", t = t0 < " + size(rows_) + " ? t0 : " + size(rows_) + " - 1;");
    row_condition_ = "t0 < " + size(rows_);
  }

  void write_row_dims() {
    declare_dims(part_.dims, "t");
    for (AtomId a : part_.shared_atoms)
      line("const " + std::string(index_type()) + " " + part_.space[a].name + " = " + atom_definition_text(part_.space, a, wide()) + ";");
  }

  void write_member() {
    const std::string rows = number(sweep_.rows), group = number(sweep_.group);
    const std::string first = sweep_.group == 1 ? "0"
                              : sweep_.across   ? (sweep_.rows > 1 ? "threadIdx.x / " + rows : "threadIdx.x")
                                                : (sweep_.rows > 1 ? "threadIdx.x % " + group : "threadIdx.x");
    line("const " + std::string(index_type()) + " member = " + first + ";");
  }

  // A block takes rows in turns. The states of columns live longer than a row.
  void open_rows() {
    const std::string type = index_type(), rows = number(sweep_.rows);
    write_member();
    if (sweep_.split > 1) write_chunk();
    declare_columns();
    if (takes_turns() && !sweep_.accumulators.empty()) line("unsigned turn = 0;  // of two sets of shared states");
    load_for_all_rows();
    declare_ahead();
    const std::string cast = wide() ? "(long long)" : "";
    open("for (" + type + " begin_row = " + cast + block() + " * " + rows + "; begin_row < " + size(rows_) +
         "; begin_row += " + number(int64_t{sweep_.blocks} * sweep_.rows) + ") {");
    declare_row(sweep_.rows == 1 ? "begin_row" : "begin_row" + row_in_block());
    write_row_dims();
    take_ahead();
  }

  void declare_columns() {
    for (const Column& c : sweep_.columns) {
      names_of_columns_.push_back(scope_.take(graph_.name_of(c.op) + "_acc"));
      line(state_type(c.accumulator) + " " + names_of_columns_.back() + "[" + number(sweep_.steps) + "]" +
           (part_.lane.valid() ? "[" + number(part_.vector) + "]" : "") + ";");
    }
    line("#pragma unroll");
    open("for (int u = 0; u < " + number(sweep_.steps) + "; ++u) {");
    for (size_t c = 0; c < sweep_.columns.size(); ++c) {
      if (part_.lane.valid()) line("#pragma unroll");
      line((part_.lane.valid() ? "for (int lane = 0; lane < " + number(part_.vector) + "; ++lane) " : "") + column_state(c) + " = " +
           initial_text(sweep_.columns[c].accumulator) + ";");
    }
    close();
  }

  // What is the same for all rows is loaded once.
  void load_for_all_rows() {
    std::vector<NodeId> loads;
    for (size_t i = 0; i < part_.nodes.size(); ++i)
      if (sweep_.held && part_.nodes[NodeId(i)].kind == Node::kLoad && in_u_[i] && part_.nodes[NodeId(i)].in.empty() && !depends_on_row(i))
        loads.push_back(NodeId(i));
    if (loads.empty()) return;
    for (NodeId id : loads) declare_load(id), held_.insert(id.index);
    open_positions(first_position_, true);
    for (NodeId id : loads) write_load(id);
    close();
  }

  // The number of a block among those that take the same positions.
  std::string block() const { return sweep_.split > 1 ? "(blockIdx.x / " + number(sweep_.split) + ")" : "blockIdx.x"; }
  std::string row_in_block() const { return " + threadIdx.x / " + number(sweep_.group); }

  bool depends_on_row(size_t i) const {
    const Node& n = part_.nodes[NodeId(i)];
    auto of_row = [&](const Index& index) {
      return std::any_of(part_.dims.begin(), part_.dims.end(), [&](AtomId v) { return part_.space.depends_on(index, v); });
    };
    return of_row(n.index) || std::any_of(n.guard.begin(), n.guard.end(), of_row);
  }

  // The next row's loads are on the way to shared memory while this row is computed.
  void declare_ahead() {
    if (sweep_.ahead.empty()) return;
    line("extern __shared__ __align__(16) unsigned char fs_ahead[];");
    const std::vector<int64_t> places = places_ahead(part_, kernel_.block);
    for (size_t k = 0; k < sweep_.ahead.size(); ++k) {
      const NodeId id = sweep_.ahead[k];
      const std::string type = loaded_type(id), name = scope_.take(names_[id.index] + "_ahead");
      line(type + " *" + name + " = (" + type + " *)(fs_ahead" + (k > 0 ? " + " + number(places[k]) : "") + ");" +
           (in_u_[id.index] ? "" : "  // of each warp"));
      names_of_ahead_[id.index] = name;
    }
    open("auto fetch = [&](const " + std::string(index_type()) + " begin, unsigned slot) {");
    open("if (begin < " + size(rows_) + ") {");
    declare_row(sweep_.rows == 1 ? "begin" : "begin" + row_in_block());
    write_row_dims();
    open_positions(first_position_, true);
    for (NodeId id : sweep_.ahead)
      if (in_u_[id.index]) line(copy_text(id));
    close();
    for (NodeId id : sweep_.ahead)
      if (!in_u_[id.index]) line("if (threadIdx.x % 32 == 0) " + copy_text(id));
    close();
    line("fs_commit_copies();");
    indent_.resize(indent_.size() - 2);
    line("};");
    line("unsigned slot = 0;  // of two, for this row and the next");
    line("fetch(" + std::string(wide() ? "(long long)" : "") + block() + " * " + number(sweep_.rows) + ", 0);");
  }

  std::string copy_text(NodeId id) const {
    const Node& n = part_.nodes[id];
    const CacheHint hint = in_lane_[id.index] ? kernel_.buffers[n.buffer].cache : CacheHint::kUsual;
    return "fs_copy_ahead" +
           std::string(hint == CacheHint::kOnce   ? "<fs_once>"
                       : hint == CacheHint::kKept ? "<fs_kept>"
                                                  : "") +
           "(&" + ahead_place(id) + ", (const " + loaded_type(id) + " *)(" + address(n.buffer, without_lane(n.index)) + "));";
  }

  void take_ahead() {
    if (sweep_.ahead.empty()) return;
    if (sweep_.group == 32) line("__syncwarp();  // all have read what is overwritten");
    line("fetch(begin_row + " + number(int64_t{sweep_.blocks} * sweep_.rows) + ", slot ^ 1);");
    line("fs_wait_for_copies<1>();  // all but the last: this row is here");
    line("__syncwarp();");
    for (NodeId id : sweep_.ahead) {
      held_.insert(id.index);
      if (in_u_[id.index]) declare_load(id);
      else line("const " + loaded_type(id) + " " + names_[id.index] + " = " + ahead_place(id) + ";");
    }
    line("#pragma unroll");
    open("for (int u = 0; u < " + number(sweep_.steps) + "; ++u) {");
    for (NodeId id : sweep_.ahead)
      if (in_u_[id.index]) line(names_[id.index] + "[u] = " + ahead_place(id) + ";");
    close();
    line("slot ^= 1;");
  }

  std::string ahead_place(NodeId id) const {
    const std::string place = in_u_[id.index] ? "(slot * " + number(sweep_.steps) + " + u) * " + number(kernel_.block) + " + threadIdx.x"
                                              : "slot * " + number(kernel_.block / 32) + " + threadIdx.x / 32";
    return names_of_ahead_.at(id.index) + "[" + place + "]";
  }

  std::string loaded_type(NodeId id) const { return in_lane_[id.index] ? vector_type(id.index) : storage_type(part_.nodes[id].dtype); }

  // Of a load along the row.
  void declare_load(NodeId id) {
    line(loaded_type(id) + " " + names_[id.index] + "[" + number(sweep_.steps) + "]" + (in_lane_[id.index] ? " = {};" : ";"));
  }

  void close_rows() {
    if (takes_turns() && !shared_.empty()) line("turn ^= 1;");
    else if (!shared_.empty()) line("__syncthreads();  // before the next row's states");
    close();
    merge_groups();
    open_positions(first_position_);
    for (size_t c = 0; c < sweep_.columns.size(); ++c) write_partial(c);
    close();
  }

  // What a position's thread found goes to the states that a later kernel merges: in whole vectors, where its lanes lie side by side.
  void write_partial(size_t c) {
    const Column& column = sweep_.columns[c];
    const Buffer& buffer = kernel_.buffers[column.accumulator.partials];
    const Size each = positions_ * Size(part_.lane.valid() ? part_.vector : 1);
    const std::string first = buffers_[column.accumulator.partials.index] + " + " + block() + " * " + size(each) + " + ";
    const std::string value = (buffer.dtype == DType::kI64 ? "(long long)" : "") + column_state(c) + ".value;";
    const int width = std::min(access_width(column.index, {}), 16 / bytes_of(buffer.dtype));
    const std::string lanes = number(part_.vector), states = names_of_columns_[c] + "_y";
    if (width > 1) line("Vec<" + std::string(storage_type(buffer.dtype)) + ", " + lanes + "> " + states + ";");
    if (part_.lane.valid()) line("#pragma unroll");
    line((part_.lane.valid() ? "for (int lane = 0; lane < " + lanes + "; ++lane) " : "") +
         (width > 1 ? states + ".at[lane]" : "*(" + first + index_text(part_.space, column.index, wide()) + ")") + " = " + value);
    if (width > 1)
      line("fs_store<" + number(width) + ">(" + first + index_text(part_.space, without_lane(column.index), wide()) + ", " + states + ");");
  }

  // Of a block's groups, the first takes in the states of the others.
  void merge_groups() {
    if (sweep_.rows == 1) return;
    const std::string threads = number(kernel_.block), group = number(sweep_.group);
    const std::string lanes = number(part_.lane.valid() ? part_.vector : 1), place = part_.lane.valid() ? "u * " + lanes + " + lane" : "u";
    auto other = [&](size_t c) { return names_of_columns_[c] + "_of_group[" + place + "]"; };
    auto for_states = [&](const std::function<std::string(size_t)>& statement) {
      line("#pragma unroll");
      open("for (int u = 0; u < " + number(sweep_.steps) + "; ++u) {");
      if (part_.lane.valid()) line("#pragma unroll"), open("for (int lane = 0; lane < " + lanes + "; ++lane) {");
      for (size_t c = 0; c < sweep_.columns.size(); ++c) line(statement(c));
      if (part_.lane.valid()) close();
      close();
    };
    for (size_t c = 0; c < sweep_.columns.size(); ++c)
      line("__shared__ " + state_type(sweep_.columns[c].accumulator) + " " + names_of_columns_[c] + "_of_group[" + number(sweep_.steps) +
           " * " + lanes + "][" + threads + "];");
    for_states([&](size_t c) { return other(c) + "[threadIdx.x] = " + column_state(c) + ";"; });
    line("__syncthreads();");
    line("if (threadIdx.x >= " + group + ") return;");
    for_states([&](size_t c) {
      return "for (int g = " + group + "; g < " + threads + "; g += " + group + ") " + column_state(c) + ".merge(" + other(c) +
             "[threadIdx.x + g]);";
    });
  }

  std::string column_state(size_t c) const { return names_of_columns_[c] + "[u]" + (part_.lane.valid() ? "[lane]" : ""); }

  // The part of the row's positions that is this block's.
  void write_chunk() {
    const std::string type = index_type(), split = number(sweep_.split), all = number(sweep_.split * round());
    const std::string chunk_text = positions_.is_constant() ? number(chunk()) : "chunk";
    if (!positions_.is_constant())
      line("const " + type + " chunk = (" + size(positions_) + " + " + all + " - 1) / " + all + " * " + number(round()) + ";");
    line("const " + type + " first = blockIdx.x % " + split + " * " + chunk_text + " + member;");
    first_position_ = "first";
    if (positions_.is_constant() && chunk() == round()) return;
    line("const " + type + " end = first - member + " + chunk_text +
         (chunks_fit() ? "" : " < " + row_positions() + " ? first - member + " + chunk_text + " : " + row_positions()) + ";");
    end_ = "end";
  }

  // What is loaded may be written by another thread.
  bool overlaps() const {
    return std::any_of(part_.nodes.begin(), part_.nodes.end(), [&](const Node& n) {
      return n.kind == Node::kLoad && (kernel_.buffers[n.buffer].may_overlap || kernel_.buffers[n.buffer].written);
    });
  }

  // Opens the repetition over the positions `begin` + u · reach, up to the last one. To load: beyond it that one again, so that all loads
  // are in flight together.
  void open_positions(const std::string& begin, bool loads = false, bool stores = true, bool lanes = true) {
    line("#pragma unroll");
    open("for (int u = 0; u < " + number(sweep_.steps) + "; ++u) {");
    const std::string at = begin + " + " + (sweep_.group == 1 ? "u" : "u * " + number(sweep_.group)), type = index_type();
    const std::string bound = end_.empty() ? row_positions() : end_;
    const bool known = !loops() && sweep_.split == 1;
    const int64_t least = skewed() ? sweep_.skew->elems / part_.vector : positions_.is_constant() ? positions_.value() : 0;
    const int64_t whole = known ? least / sweep_.group : 0;  // repetitions of all threads
    if (whole_rounds()) {
      line("const " + type + " p = " + at + ";");
    } else if (loads && !overlaps()) {
      line("const " + type + " q = " + at + ", p = " + (whole > 0 ? "u < " + number(whole) + " || " : "") + "q < " + bound +
           " ? q : " + bound + " - 1;");
    } else {
      line("const " + type + " p = " + at + ";");
      // (a vector beyond its row has no lanes, and to skip it would delay its load; one beyond its block's share does have lanes)
      if (stores || !skewed() || overlaps() || !end_.empty())
        line("if (" + (whole > 0 ? "u >= " + number(whole) + " && " : "") + "p >= " + bound + ") break;");
    }
    declare_dims(sweep_.dims, "p");
    if (skewed() && lanes) declare_lanes(known);
  }

  // The lanes of a vector that lie in its row. `head`: it may start before the row, `tail`: it may end close to the row's end or after.
  void declare_lanes(bool known) {
    const int64_t vector = part_.vector, elems = sweep_.skew->elems, inside = (elems / vector - 1) / sweep_.group;
    line("const int at = (int)(" + part_.space[sweep_.dims[0]].name + " * " + number(vector) + ") - (int)shift;  // in the row");
    line(known ? "const bool head = u == 0, tail = u >= " + number(inside) + ";"
               : "const bool head = at < " + number(vector) + ", tail = at > " + number(elems - 2 * vector) + ";");
    line("const unsigned lanes = fs_lanes<" + number(vector) + ">(head ? -at : 0, tail ? " + number(elems) + " - at : " + number(vector) +
         ");");
  }

  // --- sweeps

  // Kept in registers since an earlier sweep.
  bool is_known(size_t i, int q) const {
    const auto first = first_sweep_.find(i);
    return first != first_sweep_.end() && first->second < q;
  }

  // The nodes along the row that a sweep computes, to look at elements or to take them.
  std::vector<bool> needed_in(int q, const std::vector<const Store*>& stores, bool taking = false) const {
    std::vector<bool> needed(part_.nodes.size());
    for (const Accumulator& a : sweep_.accumulators)
      if (sweep_of(a) == q && (!taking || in_rounds(a))) needed[(taking ? a.operand : looked_at(a)).index] = true;
    for (const Column& c : sweep_.columns)
      if (phase_[c.accumulator.operand.index] == q && !taking) needed[c.accumulator.operand.index] = true;
    for (const Store* s : stores) needed[s->value.index] = true;
    for (size_t i = needed.size(); i-- > 0;)
      if (needed[i] && in_u_[i])
        if (!is_known(i, q))
          for (NodeId in : part_.nodes[NodeId(i)].in) needed[in.index] = true;
    return needed;
  }

  void write_sweep(int q, bool is_last) {
    std::vector<const Store*> stores;
    for (const Store& s : part_.stores)
      if (is_along(s) && (s.last ? is_last : phase_[s.value.index] == q)) stores.push_back(&s);
    const std::vector<bool> needed = needed_in(q, stores);
    for (NodeId id : sweep_.kept)
      if (!is_early(id.index) && needed[id.index] && first_sweep_.try_emplace(id.index, q).second) {
        const std::string lanes = in_lane_[id.index] ? "[" + number(part_.vector) + "]" : "";
        line(std::string(register_type(part_.nodes[id].dtype)) + " " + names_[id.index] + "[" + number(sweep_.steps) + "]" + lanes + ";");
      }
    const std::vector<bool> taken = needed_in(q, {}, true);
    Scope scope{true, [&](size_t i) { return needed[i] && !is_known(i, q); }, std::move(stores), {}, {}};
    Scope taking{true, [&](size_t i) { return taken[i] && !is_known(i, q); }, {}, {}, {}};
    const std::string counts = skewed() ? "if (lanes >> lane & 1) " : "";
    in_rounds_.clear();
    for (size_t k = 0; k < sweep_.accumulators.size(); ++k) {
      const Accumulator& a = sweep_.accumulators[k];
      if (sweep_of(a) != q) continue;
      write_initial(k);
      if (in_rounds(a)) in_rounds_.push_back(k);
      if (looked_at(a) != a.operand) {
        scope.after_lanes.push_back((skewed() ? "if (lanes != 0) " : "") +
                                    std::string(in_rounds(a) ? round_state(k) + ".look(" : state(k) + ".add(") + extreme_of_lanes(a) +
                                    ");");
      } else {
        scope.statements.push_back(counts + (in_rounds(a) ? round_state(k) + ".look(" + operand_text(a) + ");" : add_text(a, state(k))));
      }
      if (in_rounds(a)) taking.statements.push_back(counts + round_state(k) + ".take(" + operand_text(a) + ");");
    }
    for (size_t c = 0; c < sweep_.columns.size(); ++c) {
      const Accumulator& a = sweep_.columns[c].accumulator;
      if (phase_[a.operand.index] != q) continue;
      scope.statements.push_back((row_condition_.empty() ? "" : "if (" + row_condition_ + ") ") + add_text(a, column_state(c)));
    }
    if (scope.stores.empty() && scope.statements.empty() && scope.after_lanes.empty()) return;
    store_condition_ = row_condition_;
    if (sweep_.held) {
      write_sweep_loads(needed, first_position_);
      write_round(scope, taking, first_position_);
    } else if (loops()) {
      open("for (" + std::string(index_type()) + " begin = " + first_position_ + "; begin < " + (end_.empty() ? row_positions() : end_) +
           "; begin += " + number(round()) + ") {");
      write_sweep_loads(needed, "begin");
      write_round(scope, taking, "begin");
      close();
    } else {
      open("{");
      write_sweep_loads(needed, first_position_);
      write_round(scope, taking, first_position_);
      close();
    }
  }

  // All loads of a round come first, to be in flight together.
  void write_sweep_loads(const std::vector<bool>& needed, const std::string& begin) {
    if (!sweep_.held)
      for (size_t i = 0; i < part_.nodes.size(); ++i)
        if (in_u_[i] && is_early(i)) written_.erase(static_cast<uint32_t>(i));
    auto is_staged = [&](NodeId id) { return std::find(sweep_.staged.begin(), sweep_.staged.end(), id) != sweep_.staged.end(); };
    auto wanted = [&](size_t i) { return needed[i] && !(sweep_.held && held_.contains(i)) && !part_.nodes[NodeId(i)].late; };
    auto write = [&](NodeId id) {
      const std::string place =
          names_[id.index] + "_held[p" + (end_.empty() && first_position_ == "member" ? "" : " - (first - member)") + "]";
      const std::string condition = whole_rounds() || overlaps() ? "" : "if (q == p) ";
      if (is_staged(id) && held_.contains(id.index)) return line(condition + names_[id.index] + "[u] = " + place + ";");
      write_load(id);
      if (is_staged(id)) line(condition + place + " = " + names_[id.index] + "[u];"), held_.insert(id.index);
    };
    bool lanes = false;
    for (size_t i = 0; i < part_.nodes.size(); ++i)
      if (const Node& n = part_.nodes[NodeId(i)]; n.kind == Node::kLoad && in_lane_[i] && wanted(i)) lanes = lanes || !n.reads_past_row;
    write_loads(true, wanted, [&] { open_positions(begin, true, false, lanes); }, write);
    if (sweep_.held)
      for (size_t i = 0; i < part_.nodes.size(); ++i)
        if (needed[i] && in_u_[i] && part_.nodes[NodeId(i)].kind == Node::kLoad && !part_.nodes[NodeId(i)].late) held_.insert(i);
  }

  // What stays in shared memory from sweep to sweep: every thread reads only what it wrote.
  void declare_staged() {
    if (sweep_.staged.empty()) return;
    line("extern __shared__ __align__(16) unsigned char fs_held[];");
    const int64_t places = chunk();
    int64_t offset = 0;
    for (NodeId id : sweep_.staged) {
      const Node& n = part_.nodes[id];
      const bool lanes = in_lane_[id.index];
      const std::string type = lanes ? vector_type(id.index) : storage_type(n.dtype);
      line(type + " *" + names_[id.index] + "_held = (" + type + " *)(fs_held" + (offset > 0 ? " + " + number(offset) : "") + ");");
      offset += places * bytes_of(n.dtype) * (lanes ? part_.vector : 1);
    }
  }

  std::string round_state(size_t k) const {
    return names_of_accumulators_[k] + "_round" + state(k).substr(names_of_accumulators_[k].size());
  }

  // Moments, and sums of exp(x - greatest): what a thread has in flight is looked at first, for its mean or its greatest, and then taken.
  static bool in_rounds(const Accumulator& a) { return a.kind == Accumulator::kMoments || a.kind == Accumulator::kLogsumexp; }

  void write_round(const Scope& scope, const Scope& taking, const std::string& begin) {
    for (size_t k : in_rounds_) {
      const std::string name = names_of_accumulators_[k] + "_round", type = state_type(sweep_.accumulators[k]) + "::Round ";
      if (!sweep_.across) {
        line(type + name + " = " + state(k) + ".begin();");
        continue;
      }
      line(type + name + "[" + number(lanes()) + "];");
      for_lanes(round_state(k) + " = " + state(k) + ".begin();");
    }
    write_values(scope, begin);
    if (in_rounds_.empty()) return;
    for (size_t k : in_rounds_) for_lanes(state(k) + ".settle(" + round_state(k) + ");");
    write_values(taking, begin);
    for (size_t k : in_rounds_) for_lanes(state(k) + ".end(" + round_state(k) + ");");
  }

  // What an accumulator looks at: its operand, or where that is a 16-bit float made wider, the vector that was loaded, in pairs.
  NodeId looked_at(const Accumulator& a) const {
    const bool is_extreme = a.kind == Accumulator::kMax || a.kind == Accumulator::kMin || a.kind == Accumulator::kLogsumexp;
    if (!is_extreme || a.dtype != DType::kF32 || sweep_.across || part_.vector % 2 != 0) return a.operand;
    const Node& wide = part_.nodes[a.operand];
    if (wide.kind != Node::kOp || graph_[wide.op].kind != OpKind::kCast) return a.operand;
    const Node& narrow = part_.nodes[wide.in[0]];
    const bool fits = narrow.kind == Node::kLoad && (narrow.dtype == DType::kBF16 || narrow.dtype == DType::kF16);
    return fits && in_lane_[wide.in[0].index] && in_u_[wide.in[0].index] ? wide.in[0] : a.operand;
  }

  std::string extreme_of_lanes(const Accumulator& a) const {
    const NodeId load = looked_at(a);
    return std::string("fs_extreme_of<fs_pairs_") + (part_.nodes[load].dtype == DType::kF16 ? "f16, " : "bf16, ") +
           (a.kind == Accumulator::kMin ? "false" : "true") + ">(" +
           (skewed() ? "lanes == " + all_lanes() + " ? " + names_[load.index] + "[u] : fs_keep_lanes(" + names_[load.index] + "[u], lanes)"
                     : names_[load.index] + "[u]") +
           ")";
  }

  void write_values(const Scope& scope, const std::string& begin) {
    for (size_t i = 0; i < part_.nodes.size(); ++i)
      if (in_u_[i] && !is_early(i)) written_.erase(static_cast<uint32_t>(i));
    open_positions(begin, false, !scope.stores.empty());
    for (size_t i = 0; i < part_.nodes.size(); ++i)
      if (part_.nodes[NodeId(i)].late && scope.wanted(i)) write_load(NodeId(i));
    write_scope(scope);
    close();
  }

  // --- rows

  // What is the same along the row and known before sweep q.
  void write_row_values(int q) {
    write_loads(false, [&](size_t i) { return phase_[i] == q && !held_.contains(i); }, {});
    write_scope({false, [&](size_t i) { return phase_[i] == q; }, {}, {}, {}});
    for (size_t i = 0; i < part_.nodes.size(); ++i)
      if (const NodeId divisor = row_divisor(i); divisor.valid() && phase_[divisor.index] == q) {
        const bool coarse = part_.nodes[NodeId(i)].coarse;
        std::string& name = divisors_[{divisor, coarse}];
        if (!name.empty()) continue;
        name = scope_.take(names_[divisor.index] + (coarse ? "_divisor" : "_inverse"));
        line(coarse ? "const fs_Divisor " + name + " = fs_divisor(" + ref(divisor) + ");"
                    : "const float " + name + " = fs_inverse(" + ref(divisor) + ");");
      }
  }

  // What a node along the row divides by, where that is one f32 value for the row.
  NodeId row_divisor(size_t i) const {
    const Node& n = part_.nodes[NodeId(i)];
    if (n.kind != Node::kOp || n.dtype != DType::kF32 || !in_u_[i] || graph_[n.op].kind != OpKind::kDiv) return {};
    const size_t d = n.in[1].index;
    const Node::Kind kind = part_.nodes[n.in[1]].kind;
    return in_u_[d] || in_lane_[d] || kind == Node::kConstant || kind == Node::kScalar ? NodeId() : n.in[1];
  }

  void write_row_stores() {
    Scope scope{false, [](size_t) { return false; }, {}, {}, {}};
    for (const Store& s : part_.stores)
      if (!is_along(s)) scope.stores.push_back(&s);
    if (scope.stores.empty()) return;
    store_condition_ = row_condition_;
    // (of several blocks all but one have returned, or they form a cluster, or take rows in turns)
    const bool all_blocks = sweep_.cluster || (sweep_.split > 1 && sweep_.blocks > 0);
    if (sweep_.group > 1)
      store_condition_ = std::string(all_blocks ? "first == 0" : "member == 0") + (row_condition_.empty() ? "" : " && " + row_condition_);
    write_scope(scope);
  }

  // --- accumulators

  std::string state(size_t k) const { return names_of_accumulators_[k] + (sweep_.across ? (lanes_across() ? "[lane]" : "[0]") : ""); }
  int lanes() const { return lanes_across() ? part_.vector : 1; }

  void for_lanes(const std::string& statement) {
    if (lanes_across()) {
      line("#pragma unroll");
      line("for (int lane = 0; lane < " + number(part_.vector) + "; ++lane) " + statement);
    } else {
      line(statement);
    }
  }

  void write_initial(size_t k) {
    const Accumulator& a = sweep_.accumulators[k];
    if (!sweep_.across) return line(state_type(a) + " " + names_of_accumulators_[k] + " = " + initial_text(a) + ";");
    line(state_type(a) + " " + names_of_accumulators_[k] + "[" + number(lanes()) + "];");
    for_lanes(state(k) + " = " + initial_text(a) + ";");
  }

  std::string operand_text(const Accumulator& a) const { return cast_text(ref(a.operand), part_.nodes[a.operand].dtype, a.dtype); }

  std::string add_text(const Accumulator& a, const std::string& accumulator) const {
    const std::string x = operand_text(a);
    if (a.kind == Accumulator::kDeviations) return "fs_add_square(" + accumulator + ".value, " + x + " - " + ref(a.mean) + ");";
    if (a.kind == Accumulator::kArgmax || a.kind == Accumulator::kArgmin)
      return accumulator + ".add(" + x + ", " + index_text(part_.space, a.position, wide()) + ");";
    return accumulator + ".add(" + x + ");";
  }

  // Merges what the threads of a row have found, and takes the results from it.
  void finish_sweep(int q) {
    std::vector<size_t> complete;
    for (size_t k = 0; k < sweep_.accumulators.size(); ++k)
      if (sweep_of(sweep_.accumulators[k]) == q) complete.push_back(k);
    write_merges(complete);
    if (sweep_.split > 1 && !sweep_.cluster && sweep_.columns.empty()) merge_blocks();
    for (size_t i = 0; i < part_.nodes.size(); ++i) {
      const Node& n = part_.nodes[NodeId(i)];
      if (n.kind == Node::kReduce && phase_[i] == q + 1) write_result(NodeId(i));
    }
  }

  void write_merges(const std::vector<size_t>& complete) {
    if (sweep_.group == 1 || complete.empty()) return;  // (a cluster's blocks have more threads)
    const std::string group = number(sweep_.group);
    auto name = [&](size_t k) { return names_of_accumulators_[k]; };
    if (sweep_.across) {
      for (size_t k : complete) line("fs_merge_column<" + group + ", " + number(sweep_.rows) + ">(" + name(k) + ");");
    } else if (sweep_.group <= 32) {
      for (size_t k : complete) line(name(k) + " = fs_merge_lanes<" + group + ">(" + name(k) + ");");
    } else {
      const int warps = kernel_.block / 32;
      auto shared = [&](size_t k) { return name(k) + "_shared" + (takes_turns() ? " + turn * " + number(warps) : ""); };
      for (size_t k : complete) {
        if (shared_.insert(k).second)
          line("__shared__ " + state_type(sweep_.accumulators[k]) + " " + name(k) + "_shared[" + number(takes_turns() ? 2 * warps : warps) +
               "];");
        line("fs_share_row(" + name(k) + ", " + shared(k) + ");");
      }
      line("__syncthreads();");
      for (size_t k : complete) line(name(k) + " = fs_collect_row<" + group + ">(" + shared(k) + ");");
    }
    if (!sweep_.cluster) return;
    for (size_t k : complete) {
      line("__shared__ " + state_type(sweep_.accumulators[k]) + " " + name(k) + "_of_block;");
      line(name(k) + " = fs_merge_cluster<" + number(sweep_.split) + ">(" + name(k) + ", &" + name(k) + "_of_block);");
    }
  }

  // A block's rows use two sets of shared states in turns: one barrier a row is enough.
  bool takes_turns() const { return !sweep_.columns.empty() && sweep_.group > 32 && !sweep_.across; }

  // Blocks that share a row leave their states; the last of them merges all, always in the same order.
  void merge_blocks() {
    const std::string split = number(sweep_.split), row = lanes_across() ? "(t * " + number(part_.vector) + " + lane)" : "t";
    const std::string states = lanes_across() ? "(" + size(rows_) + " * " + number(part_.vector) + ")" : size(rows_);
    auto place = [&](size_t k, const std::string& block) {
      const Accumulator& a = sweep_.accumulators[k];
      return "((" + state_type(a) + " *)" + buffers_[a.partials.index] + ")[" + block + " * " + states + " + " + row + "]";
    };
    open("if (" + std::string(sweep_.group > 1 ? "member == 0" : "true") + (row_condition_.empty() ? "" : " && " + row_condition_) + ") {");
    for (size_t k = 0; k < sweep_.accumulators.size(); ++k) for_lanes(place(k, "(blockIdx.x % " + split + ")") + " = " + state(k) + ";");
    close();
    line("if (!fs_last_block(&" + kernel_.name + "_tickets[blockIdx.x / " + split + "], " + split + ")) return;");
    for (size_t k = 0; k < sweep_.accumulators.size(); ++k) for_lanes(state(k) + " = " + initial_text(sweep_.accumulators[k]) + ";");
    line("#pragma unroll 8");
    open("for (int block = member; block < " + split + "; block += " + number(sweep_.group) + ") {");
    for (size_t k = 0; k < sweep_.accumulators.size(); ++k) for_lanes(state(k) + ".merge(" + place(k, "block") + ");");
    close();
    std::vector<size_t> all(sweep_.accumulators.size());
    std::iota(all.begin(), all.end(), size_t{0});
    write_merges(all);
  }

  void write_result(NodeId id) {
    const size_t i = id.index;
    const Node& n = part_.nodes[id];
    const Accumulator& a = sweep_.accumulators[n.accumulator];
    const std::string type = register_type(n.dtype), comment = "  // " + op_comment(graph_, n.op);
    const std::string from = sweep_.across && !is_array(i) ? names_of_accumulators_[n.accumulator] + "[0]" : state(n.accumulator);
    const std::string value = result_text(graph_, n, a, from, wide());
    if (!is_array(i)) return line("const " + type + " " + names_[i] + " = " + value + ";" + comment);
    line(type + " " + names_[i] + "[" + number(part_.vector) + "];" + comment);
    for_lanes(ref(id) + " = " + value + ";");
  }

  const Sweep& sweep_;
  std::vector<int> phase_;
  Size rows_, positions_;
  std::vector<std::string> names_of_accumulators_, names_of_columns_;
  std::string row_condition_, first_position_ = "member", end_, turn_;
  std::map<size_t, int> first_sweep_;  // of kept values: the one that computes them
  std::vector<size_t> in_rounds_;      // accumulators of the sweep that is being written
  std::set<size_t> held_, shared_;
  std::map<uint32_t, std::string> names_of_ahead_;
};

}  // namespace

std::string emit_rows(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                      const NameScope& scope, bool contract, const std::string& indent) {
  return RowWriter(graph, kernel, part, buffers, contract, scope, indent).write();
}

std::string emit_tickets(const Kernel& kernel) {
  if (kernel.parts.empty()) return "";
  const Part& part = kernel.parts[0];
  if (!part.sweep || part.sweep->split == 1 || part.sweep->cluster || part.sweep->blocks > 0) return "";
  const int64_t blocks = part.grid.elems.value() / part.sweep->split;
  return "__device__ unsigned " + kernel.name + "_tickets[" + number(blocks) + "];  // blocks that have finished; 0 between launches\n";
}

}  // namespace fusec
