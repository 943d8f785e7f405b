#include "emit/part_writer.h"

#include "emit/cuda.h"
#include "emit/expression.h"
#include "emit/line_writer.h"
#include "emit/node_writer.h"
#include "emit/radix_writer.h"
#include "emit/rest_writer.h"
#include "emit/row_writer.h"
#include "emit/table.h"
#include "kernel/visit.h"

namespace fusec {

namespace {

// Writes the body of one part without reductions. What does not depend on u is computed once, before the loop over u.
class PartWriter : NodeWriter {
 public:
  PartWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names, bool contract,
             NameScope scope, std::string indent)
      : NodeWriter(graph, kernel, part, buffer_names, contract, std::move(scope), std::move(indent)) {
    repeats_ = part.unroll > 1 || part.list;  // (a list has its u also where it is one)
    classify();
    prepare();
    if (part_.table) {
      const Store& store = part_.stores[0];
      table_.emplace(kernel_, part_, buffers_[store.buffer.index], part_.table->counts ? ref(store.value) : "", scope_);
    }
  }

  std::string write(const std::string& first_block) {
    if (table_) {
      for (const std::string& statement : table_->declare()) line(statement);
      const std::string shares = table_->shares();
      if (!shares.empty()) open(shares);
      for (const std::string& statement : table_->start()) line(statement);
      const std::string per = std::to_string(grid().per_block);
      const Size& elems = grid().elems;
      const std::string turns =
          elems.is_constant() ? std::to_string(grid().blocks()) : "(" + threads_text() + " + " + per + " - 1) / " + per;
      open(table_->loop(index_type(), turns));
      for (const std::string& statement : table_->start_of_turn()) line(statement);
      write_body("");
      close();
      for (const std::string& statement : table_->finish()) line(statement);
      if (!shares.empty()) close();
    } else if (!part_.stores.empty() && part_.stores[0].claim) {
      write_claims(first_block);
    } else if (kernel_.is_phase) {
      open_turns();
      write_loads_and_values();
      close();
    } else {
      write_body(first_block);
    }
    return std::move(out_);
  }

 private:
  void write_body(const std::string& first_block) {
    declare_stretches();
    if (part_.tile) write_tile_indices(first_block);
    else write_indices(first_block);
    if (part_.list) return write_listed();
    write_loads_and_values();
  }

  void write_loads_and_values() {
    // All loads come first, so that they are in flight together and while the first results are computed.
    auto all = [](size_t) { return true; };
    write_loads(false, all, {});
    if (repeats_) write_loads(true, all, [&] { open_repetition(); });
    write_scope(scope(false));
    if (repeats_) {
      open_repetition();
      write_scope(scope(true));
      close();
    }
    write_bulk_stores();
  }

  // --- stores that shared memory gathers

  void declare_stretches() {
    for (const BulkStore& b : part_.bulk_stores) {
      std::string& name = gathered_names_[b.buffer.index] = scope_.take(kernel_.buffers[b.buffer].value + "_gathered");
      line("__shared__ alignas(128) " + std::string(storage_type(kernel_.buffers[b.buffer].dtype)) + " " + name +
           (b.stretches > 1 ? "[" + number(b.stretches) + "]" : "") + "[" + number(b.elems) + "];");
    }
  }

  // The stretch of this repetition.
  std::string stretch(const BulkStore& b) const { return gathered_names_.at(b.buffer.index) + (b.stretches > 1 ? "[u]" : ""); }

  // Places in shared memory are seen by the copy engine, after all threads have filled them.
  void write_bulk_stores() {
    if (part_.bulk_stores.empty()) return;
    line("fs_begin_bulk_stores();");
    if (repeats_) open_repetition();
    for (const BulkStore& b : part_.bulk_stores)
      line("fs_store_bulk<" + number(b.elems) + ", " + number(kernel_.block) + ">(" + address(b.buffer, b.begin) + ", " + stretch(b) +
           ");");
    if (repeats_) close();
    line("fs_end_bulk_stores();");
  }

  std::string vector_store(const Store& s, const std::string& vector) const override {
    if (s.gathered)
      return "fs_store<" + number(part_.space.alignment(*s.gathered, {}, part_.vector)) + ">(" + stretch(bulk_store(s.buffer)) + " + " +
             index_text(part_.space, *s.gathered, wide()) + ", " + vector + ");";
    if (!table_) return NodeWriter::vector_store(s, vector);
    return table_->update_all(index_text(part_.space, without_lane(s.index), wide()), vector);
  }

  std::string element_store(const Store& s) const override {
    if (s.claim) return element_claim(s);
    if (!table_) return NodeWriter::element_store(s);
    return table_->update(index_text(part_.space, s.index, wide()), stored_value(s));
  }

  // All threads of a block claim slots together, those without updates too.
  void write_claims(const std::string& first_block) {
    const Store& store = part_.stores[0];
    const Claim& claim = *store.claim;
    claimed_row_ = scope_.take("claimed_row"), claimed_item_ = scope_.take("claimed_item");
    const std::string n = number(part_.unroll * part_.vector), find = scope_.take("find");
    line("int " + claimed_row_ + "[" + n + "], " + claimed_item_ + "[" + n + "];");
    line("#pragma unroll");
    line("for (int k = 0; k < " + n + "; ++k) " + claimed_row_ + "[k] = -1;");
    open("auto " + find + " = [&] {");
    write_body(first_block);
    close(";");
    line(find + "();");
    line("fs_claim_slots<" + number(claim.slots) + ", " + number(claim.apart) + ", " + number(List::kRestBegin) + ", " +
         number(kernel_.block) + ">(" + buffers_[store.buffer.index] + ", " + buffers_[claim.places.index] + ", " +
         buffers_[claim.rest.index] + ", " + buffers_[claim.sums.index] + ", " + number(claim.row_elems) + ", " + number(claim.elems) +
         ", " + number(claim.copies) + ", " + claimed_row_ + ", " + claimed_item_ + ");");
  }

  std::string element_claim(const Store& s) const {
    std::string at = part_.lane.valid() ? "lane" : "";
    if (part_.unroll > 1) at = at.empty() ? "u" : "u * " + number(part_.vector) + " + " + at;
    if (at.empty()) at = "0";
    return claimed_item_ + "[" + at + "] = (int)(" + index_text(part_.space, s.claim->item, wide()) + "), " + claimed_row_ + "[" + at +
           "] = (int)(" + index_text(part_.space, s.index, wide()) + ");";
  }

  // The blocks that cover the iterations.
  const GridTerm& grid() const { return part_.table ? part_.table->updates : part_.grid; }

  // What the items need is computed before them, what needs their sum after.
  void write_listed() {
    const std::vector<bool> before = needed_by_items();
    for (size_t i = 0; i < before.size(); ++i) used_later_[i] = used_later_[i] || before[i];
    auto is_before = [&](size_t i) { return before[i]; };
    auto is_after = [&](size_t i) { return !before[i]; };
    const std::string total = scope_.take(names_[part_.list->sum.index] + "_sum");
    list_sum_ = total + (sums_lanes() ? "[lane]" : "");
    write_loads(false, is_before, {});
    write_scope({false, is_before, {}, {}, {}});
    const DType dtype = part_.nodes[part_.list->sum].dtype;
    line(storage_type(dtype) + (" " + total) + (sums_lanes() ? "[" + std::to_string(part_.vector) + "];" : " = " + no_sum(dtype) + ";"));
    if (sums_lanes()) {
      line("#pragma unroll");
      line("for (int lane = 0; lane < " + std::to_string(part_.vector) + "; ++lane) " + list_sum_ + " = " + no_sum(dtype) + ";");
    }
    write_items();
    write_rest_of_sum();
    write_loads(false, is_after, {});
    write_scope({false, is_after, scope(false).stores, {}, {}});
  }

  // Each lane has a sum of its own.
  bool sums_lanes() const { return part_.lane.valid() && in_lane_[part_.list->sum.index]; }

  std::vector<bool> needed_by_items() const {
    const Node& sum = part_.nodes[part_.list->sum];
    std::vector<bool> before(part_.nodes.size(), false);
    for (size_t i = before.size(); i-- > 0;) {
      if (i == sum.in[2].index || (i == sum.in[1].index && !in_u_[i])) before[i] = true;
      if (!before[i] && !in_u_[i]) continue;
      for (NodeId in : part_.nodes[NodeId(i)].in) before[in.index] = before[in.index] || !in_u_[in.index];
    }
    return before;
  }

  // Those that fill a vector of items are added without conditions.
  void write_items() {
    const Node& sum = part_.nodes[part_.list->sum];
    const std::string ahead = std::to_string(part_.list->ahead), slots = std::to_string(part_.list->slots), count = ref(sum.in[2]);
    const std::string filled = scope_.take("filled"), add = scope_.take("add"), many = scope_.take("many"), next = scope_.take("next"),
                      listed = scope_.take("listed"), following = scope_.take("following");
    line("// The updates of this row, " + ahead + " at a time.");
    line("const int " + filled + " = " + count + " < " + slots + " ? " + count + " : " + slots + ";");
    open("auto " + add + " = [&](const " + items_type() + " &" + listed + ", int " + many + ") {");
    const std::string exists = "u < " + many;
    write_item_loads(listed, exists);
    open_each_item();
    Scope adding{true, [](size_t) { return true; }, {}, {}, {}};
    (sums_lanes() || !part_.lane.valid() ? adding.statements : adding.after_lanes)
        .push_back(list_sum_ + " = " + exists + " ? " + sum_text(sum.dtype, list_sum_, ref(sum.in[1])) + " : " + list_sum_ + ";");
    write_scope(adding);
    close();
    close(";");
    const std::string from = buffers_[sum.buffer.index] + " + " + index_text(part_.space, sum.index, wide()), here = from + " + " + next;
    const bool reads_ahead = part_.list->reads_far_ahead();
    if (reads_ahead) line(items_type() + " " + listed + " = " + next_items(from) + ";");
    line("int " + next + " = 0;");
    open("for (; " + next + " + " + ahead + " <= " + filled + "; " + next + " += " + ahead + ") {");
    if (reads_ahead)
      line("const " + items_type() + " " + following + " = " + next + " + " + ahead + " < " + filled + " ? " +
           next_items(here + " + " + ahead) + " : " + listed + ";");
    const std::string items = reads_ahead ? listed : next_items(here);
    line(add + "(" + items + ", " + ahead + ");");
    if (reads_ahead) line(listed + " = " + following + ";");
    close();
    line("if (" + next + " < " + filled + ") " + add + "(" + items + ", " + filled + " - " + next + ");");
  }

  void write_rest_of_sum() {
    const List& list = *part_.list;
    open("if (" + ref(part_.nodes[list.sum].in[2]) + " > " + std::to_string(list.slots) + ") {  // the rest");
    const std::string guard = part_.has_tail && sums_lanes() ? "if (lane < count) " : "";
    const std::string element = index_text(part_.space, list.element, wide()), copy = scope_.take("copy");
    line("for (int " + copy + " = 0; " + copy + " < " + std::to_string(list.copies) + "; ++" + copy + ")");
    if (sums_lanes()) line("  for (int lane = 0; lane < " + std::to_string(part_.vector) + "; ++lane)");
    const std::string more = buffers_[list.sums.index] + "[" + copy + " * " + std::to_string(list.elems) + "LL + " + element + "]";
    line("    " + guard + list_sum_ + " = " + sum_text(part_.nodes[list.sum].dtype, list_sum_, more) + ";");
    close();
  }

  Scope scope(bool in_u) const {
    Scope s{in_u, [](size_t) { return true; }, {}, {}, {}};
    for (const Store& store : part_.stores)
      if (store_in_u(store) == in_u) s.stores.push_back(&store);
    return s;
  }

  // --- indices

  std::string threads_text() const { return size_text(grid().elems, graph_.symbols, wide()); }
  // The grid covers the elements exactly: no thread is idle.
  bool covers_exactly() const { return grid().elems.is_constant() && grid().elems.value() % grid().per_block == 0; }
  std::string bounds() const {
    return part_.has_tail ? "t * " + std::to_string(part_.vector) + " < " + threads_text() : "t < " + threads_text();
  }

  void write_indices(const std::string& first_block) {
    if (part_.dims.empty()) {
      line("if (blockIdx.x != " + (first_block.empty() ? "0" : first_block) + " || threadIdx.x != 0) return;");
      return;
    }
    const std::string block = table_ ? table_->turn() : first_block.empty() ? "blockIdx.x" : "(blockIdx.x - " + first_block + ")";
    const std::string cast = wide() ? "(long long)" : "";
    const int per_block = kernel_.block * (strided_repeat() ? part_.unroll : 1);
    line("const " + std::string(index_type()) + (strided_repeat() ? " t0 = " : " t = ") + cast + block + " * " + std::to_string(per_block) +
         " + threadIdx.x;");
    if (!strided_repeat()) write_thread_indices(table_ ? "continue;" : "return;");
  }

  // A block of phases: its threads take all iterations, a block of them in each turn.
  void open_turns() {
    if (part_.dims.empty()) return open("if (threadIdx.x == 0) {");
    const std::string t = std::string(index_type()) + " t = threadIdx.x";
    const int64_t elems = grid().elems.value();
    if (elems > grid().per_block) open("for (" + t + "; " + bounds() + "; t += " + std::to_string(kernel_.block) + ") {");
    else if (!covers_exactly()) open("if (const " + t + "; " + bounds() + ") {");
    else {
      open("{");
      line("const " + t + ";");
    }
    declare_thread_indices();
  }

  void write_thread_indices(const std::string& leave) {
    if (!covers_exactly()) line("if (!(" + bounds() + ")) " + leave);
    declare_thread_indices();
  }

  void declare_thread_indices() {
    declare_dims(part_.dims, "t");
    for (AtomId a : part_.shared_atoms)
      line("const " + std::string(index_type()) + " " + part_.space[a].name + " = " + atom_definition_text(part_.space, a, wide()) + ";");
    if (part_.has_tail) {
      // Lanes past the end exist in the last vector only.
      const std::string left = threads_text() + " - t * " + std::to_string(part_.vector);
      line("const int count = " + left + " < " + std::to_string(part_.vector) + " ? (int)(" + left + ") : " + std::to_string(part_.vector) +
           ";");
      line("const bool whole = count == " + std::to_string(part_.vector) + ";");
    }
  }

  void write_tile_indices(const std::string& first_block) {
    const Tile& tile = *part_.tile;
    const std::string block = first_block.empty() ? "blockIdx.x" : "(blockIdx.x - " + first_block + ")";
    if (part_.dims.size() > 0) {
      line("const " + std::string(index_type()) + " block_index = " + (wide() ? "(long long)" : "") + block + ";");
      declare_dims(part_.dims, "block_index");
    }
    for (const Tile::Staged& s : tile.staged) {
      const Node& load = part_.nodes[s.load];
      const std::string type = storage_type(load.dtype), name = names_[s.load.index];
      const int passes = static_cast<int>(part_.space.extent(s.pass).value());
      line("// " + name + ": a tile of " + std::to_string(tile.rows) + " by " + std::to_string(tile.columns) +
           " through shared memory, read along its own rows");
      line("__shared__ " + type + " " + name + "[" + std::to_string(tile.columns) + "][" + std::to_string(tile.rows + 1) + "];");
      open("{");
      line("const " + std::string(index_type()) + " " + part_.space[s.vector].name + " = threadIdx.x % " +
           size_text(part_.space.extent(s.vector), graph_.symbols, false) + ", " + part_.space[s.column].name + " = threadIdx.x / " +
           size_text(part_.space.extent(s.vector), graph_.symbols, false) + ";");
      const std::string vec = "Vec<" + type + ", " + std::to_string(s.width) + ">";
      const std::string each = "for (int pass = 0; pass < " + std::to_string(passes) + "; ++pass) ";
      line(vec + " piece[" + std::to_string(passes) + "] = {};");
      line("#pragma unroll");
      const std::string guard = guard_text(part_.space, s.guard, wide());
      line(each + (guard.empty() ? "" : "if (" + guard + ") ") + "piece[pass] = fs_load<" + std::to_string(s.width) + ", " +
           std::to_string(s.width) + ">(" + address(load.buffer, s.index) + ");");
      line("#pragma unroll");
      open(each + "{");
      line("#pragma unroll");
      line("for (int k = 0; k < " + std::to_string(s.width) + "; ++k) " + name + "[pass * " +
           size_text(part_.space.extent(s.column), graph_.symbols, false) + " + " + part_.space[s.column].name + "][" +
           part_.space[s.vector].name + " * " + std::to_string(s.width) + " + k] = piece[pass].at[k];");
      close();
      close();
    }
    line("__syncthreads();");
    const std::string vectors = std::to_string(tile.columns / part_.vector);
    line("const " + std::string(index_type()) + " " + part_.space[tile.column_vector].name + " = threadIdx.x % " + vectors + ", " +
         part_.space[tile.row].name + " = threadIdx.x / " + vectors + ";");
  }

  void open_repetition() {
    line("#pragma unroll");
    const std::string u = part_.serial.valid() ? part_.space[part_.serial].name : "u";
    open("for (int u = 0; u < " + std::to_string(part_.unroll) + "; ++u) {");
    if (part_.serial.valid() && u != "u") line("const " + std::string(index_type()) + " " + u + " = u;");
    if (strided_repeat()) {
      line("const " + std::string(index_type()) + " t = t0 + u * " + std::to_string(kernel_.block) + ";");
      write_thread_indices("continue;");
    }
  }

  std::optional<TableText> table_;
  std::map<uint32_t, std::string> gathered_names_;  // of arrays, by buffer
  std::string claimed_row_, claimed_item_;
};

// Updates of one of the copies, by the block's number.
std::string emit_replicated(const Graph& graph, const Kernel& kernel, const Part& part, std::vector<std::string> buffers, NameScope scope,
                            bool contract, const std::string& indent) {
  const BufferId target = part.stores[0].buffer;
  std::string& name = buffers[target.index];
  const std::string copies = name, type = storage_type(kernel.buffers[target].dtype);
  name = scope.take("copy");
  return indent + type + " *const " + name + " = " + copies + " + blockIdx.x % " + std::to_string(part.replicas->copies) + " * " +
         std::to_string(part.replicas->elems) + ";\n" + PartWriter(graph, kernel, part, buffers, contract, scope, indent).write("");
}

}  // namespace

std::string emit_part(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                      const NameScope& scope, bool contract, const std::string& indent, const std::string& first_block) {
  if (part.line && part.line->radix) return emit_radix(graph, kernel, part, buffers, scope, contract, indent);
  if (part.line) return emit_line(graph, kernel, part, buffers, scope, contract, indent);
  if (part.list && part.list->rest.valid()) return emit_rest(graph, kernel, part, buffers, scope, contract, indent);
  if (part.replicas) return emit_replicated(graph, kernel, part, buffers, scope, contract, indent);
  if (part.sweep) return emit_rows(graph, kernel, part, buffers, scope, contract, indent, first_block);
  return PartWriter(graph, kernel, part, buffers, contract, scope, indent).write(first_block);
}

}  // namespace fusec
