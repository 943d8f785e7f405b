// What a kernel does along its rows.
#include <algorithm>

#include "emit/accumulator.h"
#include "emit/row_statements.h"

namespace fusec {

bool RowWriter::overlaps() const {
  return std::any_of(part_.nodes.begin(), part_.nodes.end(), [&](const Node& n) {
    return n.kind == Node::kLoad && (kernel_.buffers[n.buffer].may_overlap || kernel_.buffers[n.buffer].written);
  });
}

void RowWriter::open_positions(const std::string& begin, bool loads, bool stores, bool lanes) {
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
    if (stores || !skewed() || overlaps() || !end_.empty() || !sweep_.ahead.empty())
      line("if (" + (whole > 0 ? "u >= " + number(whole) + " && " : "") + "p >= " + bound + ") break;");
  }
  declare_dims(sweep_.dims, "p");
  if (skewed() && lanes) declare_lanes(known);
}

void RowWriter::declare_lanes(bool known) {
  const int64_t vector = part_.vector, elems = sweep_.skew->elems, inside = (elems / vector - 1) / sweep_.group;
  line("const int at = (int)(" + part_.space[sweep_.dims[0]].name + " * " + number(vector) + ") - (int)shift;  // in the row");
  line(known ? "const bool head = u == 0, tail = u >= " + number(inside) + ";"
             : "const bool head = at < " + number(vector) + ", tail = at > " + number(elems - 2 * vector) + ";");
  line("const unsigned lanes = fs_lanes<" + number(vector) + ">(head ? -at : 0, tail ? " + number(elems) + " - at : " + number(vector) +
       ");");
}

bool RowWriter::is_known(size_t i, int q) const {
  const auto first = first_sweep_.find(i);
  return first != first_sweep_.end() && first->second < q;
}

std::vector<bool> RowWriter::needed_in(int q, const std::vector<const Store*>& stores, bool taking) const {
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

void RowWriter::write_sweep(int q, bool is_last) {
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
                                  std::string(in_rounds(a) ? round_state(k) + ".look(" : state(k) + ".add(") + extreme_of_lanes(a) + ");");
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

void RowWriter::write_sweep_loads(const std::vector<bool>& needed, const std::string& begin) {
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

void RowWriter::declare_staged() {
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

std::string RowWriter::round_state(size_t k) const {
  return names_of_accumulators_[k] + "_round" + state(k).substr(names_of_accumulators_[k].size());
}

void RowWriter::write_round(const Scope& scope, const Scope& taking, const std::string& begin) {
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

NodeId RowWriter::looked_at(const Accumulator& a) const {
  const bool is_extreme = a.kind == Accumulator::kMax || a.kind == Accumulator::kMin || a.kind == Accumulator::kLogsumexp;
  if (!is_extreme || a.dtype != DType::kF32 || sweep_.across || part_.vector % 2 != 0) return a.operand;
  const Node& wide = part_.nodes[a.operand];
  if (wide.kind != Node::kOp || graph_[wide.op].kind != OpKind::kCast) return a.operand;
  const Node& narrow = part_.nodes[wide.in[0]];
  const bool fits = narrow.kind == Node::kLoad && (narrow.dtype == DType::kBF16 || narrow.dtype == DType::kF16);
  return fits && in_lane_[wide.in[0].index] && in_u_[wide.in[0].index] ? wide.in[0] : a.operand;
}

std::string RowWriter::extreme_of_lanes(const Accumulator& a) const {
  const NodeId load = looked_at(a);
  return std::string("fs_extreme_of<fs_pairs_") + (part_.nodes[load].dtype == DType::kF16 ? "f16, " : "bf16, ") +
         (a.kind == Accumulator::kMin ? "false" : "true") + ">(" +
         (skewed() ? "lanes == " + all_lanes() + " ? " + names_[load.index] + "[u] : fs_keep_lanes(" + names_[load.index] + "[u], lanes)"
                   : names_[load.index] + "[u]") +
         ")";
}

void RowWriter::write_values(const Scope& scope, const std::string& begin) {
  for (size_t i = 0; i < part_.nodes.size(); ++i)
    if (in_u_[i] && !is_early(i)) written_.erase(static_cast<uint32_t>(i));
  open_positions(begin, false, !scope.stores.empty());
  for (size_t i = 0; i < part_.nodes.size(); ++i)
    if (part_.nodes[NodeId(i)].late && scope.wanted(i)) write_load(NodeId(i));
  write_scope(scope);
  close();
}

}  // namespace fusec
