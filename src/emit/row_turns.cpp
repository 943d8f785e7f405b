// Blocks that take rows in turns: sums of columns, and loads of the next row ahead.
#include <algorithm>
#include <functional>

#include "emit/accumulator.h"
#include "emit/row_statements.h"

namespace fusec {

void RowWriter::open_rows() {
  const std::string type = index_type(), rows = number(sweep_.rows);
  write_member();
  if (sweep_.split > 1) write_chunk();
  if (skewed()) {
    open("const unsigned shift = [&]() -> unsigned {  // by which each of the block's rows starts after an aligned vector");
    declare_row(block() + " * " + rows);
    write_row_dims();
    line("return " + shift_text() + ";");
    close("();");
    write_vectors();
  }
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

void RowWriter::declare_columns() {
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

void RowWriter::load_for_all_rows() {
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

bool RowWriter::depends_on_row(size_t i) const {
  const Node& n = part_.nodes[NodeId(i)];
  auto of_row = [&](const Index& index) { return fusec::depends_on_row(part_, index); };
  return of_row(n.index) || std::any_of(n.guard.begin(), n.guard.end(), of_row);
}

void RowWriter::declare_ahead() {
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
  close(";");
  line("unsigned slot = 0;  // of two, for this row and the next");
  line("fetch(" + std::string(wide() ? "(long long)" : "") + block() + " * " + number(sweep_.rows) + ", 0);");
}

std::string RowWriter::copy_text(NodeId id) const {
  const Node& n = part_.nodes[id];
  const CacheHint hint = in_lane_[id.index] ? kernel_.buffers[n.buffer].cache : CacheHint::kUsual;
  return "fs_copy_ahead" +
         std::string(hint == CacheHint::kOnce   ? "<fs_once>"
                     : hint == CacheHint::kKept ? "<fs_kept>"
                                                : "") +
         "(&" + ahead_place(id) + ", (const " + loaded_type(id) + " *)(" + address(n.buffer, without_lane(n.index)) + "));";
}

void RowWriter::take_ahead() {
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

std::string RowWriter::ahead_place(NodeId id) const {
  const std::string place = in_u_[id.index] ? "(slot * " + number(sweep_.steps) + " + u) * " + number(kernel_.block) + " + threadIdx.x"
                                            : "slot * " + number(kernel_.block / 32) + " + threadIdx.x / 32";
  return names_of_ahead_.at(id.index) + "[" + place + "]";
}

void RowWriter::declare_load(NodeId id) {
  line(loaded_type(id) + " " + names_[id.index] + "[" + number(sweep_.steps) + "]" + (in_lane_[id.index] ? " = {};" : ";"));
}

void RowWriter::close_rows() {
  if (takes_turns() && !shared_.empty()) line("turn ^= 1;");
  else if (!shared_.empty()) line("__syncthreads();  // before the next row's states");
  close();
  merge_groups();
  open_positions(first_position_, false, true, false);
  for (size_t c = 0; c < sweep_.columns.size(); ++c) write_partial(c);
  close();
}

void RowWriter::write_partial(size_t c) {
  const Column& column = sweep_.columns[c];
  const Buffer& buffer = kernel_.buffers[column.accumulator.partials];
  const Size each = positions_ * Size(part_.lane.valid() ? part_.vector : 1);
  const std::string first = buffers_[column.accumulator.partials.index] + " + " + block() + " * " + size(each) + " + ";
  const std::string value = (buffer.dtype == DType::kI64 ? "(long long)" : "") + column_state(c) + ".value;";
  // (lanes outside the row take their places too)
  const Index index =
      skewed() ? part_.space.variable(sweep_.dims[0]) * Size(part_.vector) + part_.space.variable(part_.lane) : column.index;
  const int width = std::min(access_width(index, {}), 16 / bytes_of(buffer.dtype));
  const std::string lanes = number(part_.vector), states = names_of_columns_[c] + "_y";
  if (width > 1) line("Vec<" + std::string(storage_type(buffer.dtype)) + ", " + lanes + "> " + states + ";");
  if (part_.lane.valid()) line("#pragma unroll");
  line((part_.lane.valid() ? "for (int lane = 0; lane < " + lanes + "; ++lane) " : "") +
       (width > 1 ? states + ".at[lane]" : "*(" + first + index_text(part_.space, index, wide()) + ")") + " = " + value);
  if (width > 1)
    line("fs_store<" + number(width) + ">(" + first + index_text(part_.space, without_lane(index), wide()) + ", " + states + ");");
}

void RowWriter::merge_groups() {
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

}  // namespace fusec
