#include "emit/row_writer.h"

#include <algorithm>
#include <numeric>

#include "emit/accumulator.h"
#include "emit/row_statements.h"

namespace fusec {

RowWriter::RowWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names,
                     bool contract, NameScope scope, std::string indent, const std::string& first_block)
    : NodeWriter(graph, kernel, part, buffer_names, contract, std::move(scope), std::move(indent)),
      sweep_(*part.sweep),
      block_(first_block.empty() ? "blockIdx.x" : "(blockIdx.x - " + first_block + ")"),
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

std::string RowWriter::write() {
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

bool RowWriter::chunks_fit() const {
  return !skewed() && positions_.is_constant() && positions_.value() > 0 && chunk() * sweep_.split == positions_.value();
}

int RowWriter::count_sweeps() const {
  int last = 0;
  for (const Accumulator& a : sweep_.accumulators) last = std::max(last, sweep_of(a));
  for (const Store& s : part_.stores)
    if (is_along(s)) last = std::max(last, phase_[s.value.index]);
  for (const Column& c : sweep_.columns) last = std::max(last, phase_[c.accumulator.operand.index]);
  return last + 1;
}

void RowWriter::name_accumulators() {
  names_of_accumulators_.resize(sweep_.accumulators.size());
  for (const Node& n : part_.nodes)
    if (n.kind == Node::kReduce && names_of_accumulators_[n.accumulator].empty())
      names_of_accumulators_[n.accumulator] = scope_.take(graph_.name_of(n.op) + "_acc");
}

void RowWriter::write_row_index() {
  const std::string type = index_type(), rows = number(sweep_.rows), group = number(sweep_.group);
  std::string block = kernel_.is_phase ? turn_ : sweep_.split > 1 ? "blockIdx.x / " + number(sweep_.split) : block_;
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

void RowWriter::write_skew() {
  if (!skewed()) return;
  line("const unsigned shift = " + shift_text() + ";  // by which the row starts after an aligned vector");
  write_vectors();
}

void RowWriter::write_vectors() {
  line("const unsigned vectors = (shift + " + number(sweep_.skew->elems + part_.vector - 1) + ") / " + number(part_.vector) + ";");
}

void RowWriter::declare_row(const std::string& number_text) {
  const std::string type = index_type();
  if (rows_fill_blocks(part_)) return line("const " + type + " t = " + number_text + ";");
  // A thread without a row takes part in the last one's, but stores nothing.
  line("const " + type + " t0 = " + number_text + ", t = t0 < " + size(rows_) + " ? t0 : " + size(rows_) + " - 1;");
  row_condition_ = "t0 < " + size(rows_);
}

void RowWriter::write_row_dims() {
  declare_dims(part_.dims, "t");
  for (AtomId a : part_.shared_atoms)
    line("const " + std::string(index_type()) + " " + part_.space[a].name + " = " + atom_definition_text(part_.space, a, wide()) + ";");
}

void RowWriter::write_member() {
  const std::string rows = number(sweep_.rows), group = number(sweep_.group);
  const std::string first = sweep_.group == 1 ? "0"
                            : sweep_.across   ? (sweep_.rows > 1 ? "threadIdx.x / " + rows : "threadIdx.x")
                                              : (sweep_.rows > 1 ? "threadIdx.x % " + group : "threadIdx.x");
  line("const " + std::string(index_type()) + " member = " + first + ";");
}

void RowWriter::write_chunk() {
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

void RowWriter::write_row_values(int q) {
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

NodeId RowWriter::row_divisor(size_t i) const {
  const Node& n = part_.nodes[NodeId(i)];
  if (n.kind != Node::kOp || n.dtype != DType::kF32 || !in_u_[i] || graph_[n.op].kind != OpKind::kDiv) return {};
  const size_t d = n.in[1].index;
  const Node::Kind kind = part_.nodes[n.in[1]].kind;
  return in_u_[d] || in_lane_[d] || kind == Node::kConstant || kind == Node::kScalar ? NodeId() : n.in[1];
}

void RowWriter::write_row_stores() {
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

void RowWriter::for_lanes(const std::string& statement) {
  if (lanes_across()) {
    line("#pragma unroll");
    line("for (int lane = 0; lane < " + number(part_.vector) + "; ++lane) " + statement);
  } else {
    line(statement);
  }
}

void RowWriter::write_initial(size_t k) {
  const Accumulator& a = sweep_.accumulators[k];
  if (!sweep_.across) return line(state_type(a) + " " + names_of_accumulators_[k] + " = " + initial_text(a) + ";");
  line(state_type(a) + " " + names_of_accumulators_[k] + "[" + number(lanes()) + "];");
  for_lanes(state(k) + " = " + initial_text(a) + ";");
}

std::string RowWriter::add_text(const Accumulator& a, const std::string& accumulator) const {
  const std::string x = operand_text(a);
  if (a.kind == Accumulator::kDeviations) return "fs_add_square(" + accumulator + ".value, " + x + " - " + ref(a.mean) + ");";
  if (a.kind == Accumulator::kArgmax || a.kind == Accumulator::kArgmin)
    return accumulator + ".add(" + x + ", " + index_text(part_.space, a.position, wide()) + ");";
  return accumulator + ".add(" + x + ");";
}

void RowWriter::finish_sweep(int q) {
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

void RowWriter::write_merges(const std::vector<size_t>& complete) {
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
        line("__shared__ __align__(16) " + state_type(sweep_.accumulators[k]) + " " + name(k) + "_shared[" +
             number(takes_turns() ? 2 * warps : warps) + "];");
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

void RowWriter::merge_blocks() {
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

void RowWriter::write_result(NodeId id) {
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

std::string emit_rows(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                      const NameScope& scope, bool contract, const std::string& indent, const std::string& first_block) {
  return RowWriter(graph, kernel, part, buffers, contract, scope, indent, first_block).write();
}

std::string emit_tickets(const Kernel& kernel) {
  if (kernel.parts.empty()) return "";
  const Part& part = kernel.parts[0];
  if (!part.sweep || part.sweep->split == 1 || part.sweep->cluster || part.sweep->blocks > 0) return "";
  const int64_t blocks = part.grid.elems.value() / part.sweep->split;
  return "__device__ unsigned " + kernel.name + "_tickets[" + number(blocks) + "];  // blocks that have finished; 0 between launches\n";
}

}  // namespace fusec
