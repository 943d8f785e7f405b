#include "emit/part_writer.h"

#include <algorithm>
#include <map>
#include <set>

#include "emit/cuda.h"
#include "emit/expression.h"
#include "graph/literal.h"
#include "kernel/magnitude.h"
#include "kernel/visit.h"
#include "support/check.h"

namespace fusec {

namespace {

// "T4: f32[1024] = add(T2, T3)"
std::string op_comment(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  std::string text = graph.name_of(id) + " = " + std::string(name_of(op.kind)) + "(";
  for (size_t i = 0; i < op.in.size(); ++i) {
    if (i > 0) text += ", ";
    if (op.in[i].is_value()) text += graph[op.in[i].value].name;
    else text += to_string(*op.in[i].literal);
  }
  return text + ")";
}

// Writes the body of one part. Nodes fall in four classes by what they depend on: the repetition (u), the lane, both, or neither.
// What does not depend on u is computed once, before the loop over u.
class PartWriter {
 public:
  PartWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names, bool contract,
             NameScope scope, std::string indent)
      : graph_(graph),
        kernel_(kernel),
        part_(part),
        buffers_(buffer_names),
        contract_(contract),
        scope_(std::move(scope)),
        indent_(std::move(indent)) {
    const size_t n = part.nodes.size();
    repeats_ = part.unroll > 1;
    const std::vector<bool> free_u = repeats_ ? independent_nodes(part, part.serial) : std::vector<bool>(n, true);
    const std::vector<bool> free_lane = part.lane.valid() ? independent_nodes(part, part.lane) : std::vector<bool>(n, true);
    for (size_t i = 0; i < n; ++i) {
      in_u_.push_back(!free_u[i]);
      in_lane_.push_back(!free_lane[i]);
    }
    if (part.tile)
      for (const Tile::Staged& s : part.tile->staged) staged_[s.load.index] = &s;
    bounds_ = magnitude_bounds(graph, part);
    sine_partner_.resize(n);
    pair_sines();
    mark_used();
    name_nodes();
  }

  std::string write(const std::string& first_block) {
    if (part_.tile) write_tile_indices(first_block);
    else write_indices(first_block);
    // All loads come first, so that they are in flight together and while the first results are computed.
    for (size_t i = 0; i < part_.nodes.size(); ++i)
      if (part_.nodes[NodeId(i)].kind == Node::kLoad && !in_u_[i] && !staged_.contains(static_cast<uint32_t>(i))) write_load(NodeId(i));
    if (repeats_) write_repeated_loads();
    write_scope(false);
    if (repeats_) {
      open_repetition();
      write_scope(true);
      close();
    }
    return std::move(out_);
  }

 private:
  bool wide() const { return part_.wide_index; }
  const char* index_type() const { return wide() ? "long long" : "unsigned"; }
  bool strided_repeat() const { return repeats_ && !part_.serial.valid(); }
  void line(const std::string& text) { out_ += indent_ + text + "\n"; }
  void open(const std::string& text) {
    line(text);
    indent_ += "  ";
  }
  void close() {
    indent_.resize(indent_.size() - 2);
    line("}");
  }

  // --- indices

  void declare_dims(const std::string& from) {
    if (part_.dims.empty()) return;
    // Row-major digits of the thread (or block) number.
    std::string text;
    Size stride = 1;
    for (size_t d = part_.dims.size(); d-- > 0;) {
      const AtomId v = part_.dims[d];
      const Size extent = part_.space.extent(v);
      std::string value = from;
      if (!stride.is(1)) value += " / " + size_text(stride, graph_.symbols, wide());
      if (d > 0) value += " % " + size_text(extent, graph_.symbols, wide());
      text = part_.space[v].name + " = " + value + (text.empty() ? "" : ", ") + text;
      stride *= extent;
    }
    line("const " + std::string(index_type()) + " " + text + ";");
  }

  std::string threads_text() const { return size_text(part_.grid.elems, graph_.symbols, wide()); }
  // The grid covers the elements exactly: no thread is idle.
  bool covers_exactly() const { return part_.grid.elems.is_constant() && part_.grid.elems.value() % part_.grid.per_block == 0; }
  std::string bounds() const {
    return part_.has_tail ? "t * " + std::to_string(part_.vector) + " < " + threads_text() : "t < " + threads_text();
  }

  void write_indices(const std::string& first_block) {
    if (part_.dims.empty()) {
      line("if (blockIdx.x != " + (first_block.empty() ? "0" : first_block) + " || threadIdx.x != 0) return;");
      return;
    }
    const std::string block = first_block.empty() ? "blockIdx.x" : "(blockIdx.x - " + first_block + ")";
    const std::string cast = wide() ? "(long long)" : "";
    const int per_block = kernel_.block * (strided_repeat() ? part_.unroll : 1);
    line("const " + std::string(index_type()) + (strided_repeat() ? " t0 = " : " t = ") + cast + block + " * " + std::to_string(per_block) +
         " + threadIdx.x;");
    if (!strided_repeat()) write_thread_indices("return;");
  }

  void write_thread_indices(const std::string& leave) {
    if (!covers_exactly()) line("if (!(" + bounds() + ")) " + leave);
    declare_dims("t");
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
      declare_dims("block_index");
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

  // "x_in + i0 * 128 + 64". A difference is computed as an index first: unsigned, it must not meet the wider pointer half done.
  std::string address(BufferId buffer, const Index& index) const {
    const std::string text = index_text(part_.space, index, wide());
    return buffers_[buffer.index] + " + " + (text.find('-') == std::string::npos ? text : "(" + text + ")");
  }

  // --- names

  void mark_used() {
    used_later_.assign(part_.nodes.size(), false);  // computed before the loop over u, needed inside it
    for (size_t i = 0; i < part_.nodes.size(); ++i)
      for (NodeId in : part_.nodes[NodeId(i)].in)
        if (in_u_[i] && !in_u_[in.index]) used_later_[in.index] = true;
    for (const Store& s : part_.stores)
      if (store_in_u(s) && !in_u_[s.value.index]) used_later_[s.value.index] = true;
  }

  void name_nodes() {
    names_.resize(part_.nodes.size());
    for (size_t i = 0; i < part_.nodes.size(); ++i) {
      const Node& n = part_.nodes[NodeId(i)];
      if (n.kind == Node::kConstant) names_[i] = literal_text(n.constant, n.dtype);
      else if (n.kind == Node::kScalar)
        names_[i] = n.dtype == DType::kBool ? "(" + buffers_[n.buffer.index] + " != 0)" : buffers_[n.buffer.index];
      else if (n.kind == Node::kLoad)
        names_[i] = scope_.take(kernel_.buffers[n.buffer].value + (staged_.contains(static_cast<uint32_t>(i)) ? "_tile" : "_x"));
      else names_[i] = scope_.take(graph_.name_of(n.op));
    }
  }

  // Computed for all lanes before the repetition that needs it.
  bool is_array(size_t i) const { return in_lane_[i] && !in_u_[i] && used_later_[i] && is_statement(i); }

  std::string ref(NodeId id) const {
    const size_t i = id.index;
    const Node& n = part_.nodes[id];
    if (n.kind == Node::kConstant || n.kind == Node::kScalar) return names_[i];
    if (n.kind == Node::kLoad) return load_ref(id);
    return is_array(i) ? names_[i] + "[lane]" : names_[i];
  }

  std::string load_ref(NodeId id) const {
    const size_t i = id.index;
    const Node& n = part_.nodes[id];
    std::string text = names_[i];
    if (auto it = staged_.find(id.index); it != staged_.end()) {
      const Tile& tile = *part_.tile;
      const std::string column = part_.space[tile.column_vector].name;
      const std::string row =
          part_.space[tile.row].name + (part_.serial.valid() ? " + " + part_.space[part_.serial].name + " * " +
                                                                   size_text(part_.space.extent(tile.row), graph_.symbols, false)
                                                             : "");
      text += "[" + (part_.vector > 1 ? column + " * " + std::to_string(part_.vector) + " + lane" : column) + "][" + row + "]";
    } else {
      if (in_u_[i]) text += "[u]";
      if (in_lane_[i]) text += ".at[lane]";
    }
    return n.dtype == DType::kBool ? "(" + text + " != 0)" : text;
  }

  // --- loads

  // Elements that one instruction may move: the lanes lie next to each other and the first is aligned to this many.
  int access_width(const Index& index) const {
    if (!part_.lane.valid() || !index.coefficient(part_.lane).is(1) || inside_atom(part_.space, index, part_.lane)) return 0;
    return static_cast<int>(part_.space.alignment(index, part_.lane, part_.vector));
  }

  Index without_lane(const Index& index) const {
    Index out = index;
    std::erase_if(out.terms, [&](const auto& t) { return t.first == part_.lane; });
    return out;
  }

  static std::string zero(DType dtype) {
    if (dtype == DType::kBool || is_f8(dtype)) return "(unsigned char)0";
    return literal_text(Literal{int64_t{0}}, dtype);
  }

  void write_load(NodeId id) {
    const Node& n = part_.nodes[id];
    const size_t i = id.index;
    const std::string type = storage_type(n.dtype), pointer = buffers_[n.buffer.index];
    const std::string guard = guard_text(part_.space, n.guard, wide());
    const std::string target = names_[i] + (in_u_[i] ? "[u]" : "");
    if (!in_lane_[i]) {
      const std::string value = pointer + "[" + index_text(part_.space, n.index, wide()) + "]";
      const std::string text = guard.empty() ? value : guard + " ? " + value + " : " + zero(n.dtype);
      line((in_u_[i] ? "" : "const " + type + " ") + target + " = " + text + ";");
      return;
    }
    const std::string lanes = std::to_string(part_.vector), vec = "Vec<" + type + ", " + lanes + "> ";
    if (const int width = access_width(n.index); width > 0) {
      const std::string from = address(n.buffer, without_lane(n.index));
      std::string text = "fs_load<" + lanes + ", " + std::to_string(width) + ">(" + from + ")";
      if (part_.has_tail) text = "whole ? " + text + " : fs_load_some<" + lanes + ">(" + from + ", count)";
      if (!in_u_[i] && guard.empty()) {
        line("const " + vec + target + " = " + text + ";");
        return;
      }
      if (!in_u_[i]) line(vec + target + " = {};");
      line((guard.empty() ? "" : "if (" + guard + ") ") + target + " = " + text + ";");
    } else {
      if (!in_u_[i]) line(vec + target + " = {};");
      std::string condition = guard;
      if (part_.has_tail) condition += (condition.empty() ? "" : " && ") + std::string("lane < count");
      line("#pragma unroll");
      line("for (int lane = 0; lane < " + lanes + "; ++lane) " + (condition.empty() ? "" : "if (" + condition + ") ") + target +
           ".at[lane] = " + pointer + "[" + index_text(part_.space, n.index, wide()) + "];");
    }
  }

  // --- values

  std::string value_text(const Node& n) {
    std::vector<std::string> operands;
    std::vector<DType> dtypes;
    for (NodeId in : n.in) {
      operands.push_back(ref(in));
      dtypes.push_back(part_.nodes[in].dtype);
    }
    switch (n.kind) {
      case Node::kOp:
        return op_text(graph_, graph_[n.op], operands, dtypes, contract_);
      case Node::kSelect:
        return guard_text(part_.space, n.guard, wide()) + " ? " + operands[0] + " : " + operands[1];
      case Node::kIndex:
        return iota_text(graph_.attrs(graph_[n.op]), n.dtype, index_text(part_.space, n.index, wide()));
      case Node::kRandom:
        return random_text(graph_[n.op].kind, graph_.attrs(graph_[n.op]), n.dtype, index_text(part_.space, n.index, wide()));
      default:
        FUSEC_CHECK(false, "no value text");
    }
    return "";
  }

  // sin and cos of one f32 value share their range reduction.
  void pair_sines() {
    std::map<std::pair<NodeId, OpKind>, NodeId> by_operand;
    for (size_t i = 0; i < part_.nodes.size(); ++i) {
      const Node& n = part_.nodes[NodeId(i)];
      if (n.kind != Node::kOp || n.dtype != DType::kF32) continue;
      const OpKind kind = graph_[n.op].kind;
      if (kind != OpKind::kSin && kind != OpKind::kCos) continue;
      by_operand[{n.in[0], kind}] = NodeId(i);
      const OpKind other = kind == OpKind::kSin ? OpKind::kCos : OpKind::kSin;
      if (auto it = by_operand.find({n.in[0], other}); it != by_operand.end())
        sine_partner_[i] = it->second, sine_partner_[it->second.index] = NodeId(i);
    }
  }

  void write_value(NodeId id) {
    const Node& n = part_.nodes[id];
    if (written_.contains(id.index)) return;
    const std::string comment = n.op.valid() ? "  // " + op_comment(graph_, n.op) : "";
    if (const NodeId partner = sine_partner_[id.index]; partner.valid()) {
      const bool sine_first = graph_[n.op].kind == OpKind::kSin;
      const NodeId sine = sine_first ? id : partner, cosine = sine_first ? partner : id;
      std::string args;
      for (NodeId one : {sine, cosine}) {
        if (!is_array(one.index)) line("float " + names_[one.index] + ";");
        args += ", &" + ref(one);
        written_.insert(one.index);
      }
      line((bounds_[n.in[0].index] <= kBoundedAngle ? "fs_sincos_bounded(" : "fs_sincos(") + ref(n.in[0]) + args + ");" + comment + ", " +
           op_comment(graph_, part_.nodes[partner].op));
      return;
    }
    std::string text = value_text(n);
    if (n.kind == Node::kOp && n.dtype == DType::kF32 && bounds_[n.in[0].index] <= kBoundedAngle) {
      if (graph_[n.op].kind == OpKind::kSin) text = "fs_sin_bounded(" + ref(n.in[0]) + ")";
      if (graph_[n.op].kind == OpKind::kCos) text = "fs_cos_bounded(" + ref(n.in[0]) + ")";
    }
    line((is_array(id.index) ? "" : "const " + std::string(register_type(n.dtype)) + " ") + ref(id) + " = " + text + ";" + comment);
    written_.insert(id.index);
  }

  // --- stores

  bool store_in_u(const Store& s) const {
    if (!repeats_) return false;
    if (in_u_[s.value.index]) return true;
    auto free = [&](const Index& i) { return part_.serial.valid() ? !part_.space.depends_on(i, part_.serial) : i.is_constant(); };
    return !free(s.index) || !std::all_of(s.guard.begin(), s.guard.end(), free);
  }

  std::string stored_value(const Store& s) const {
    const std::string value = ref(s.value);
    return part_.nodes[s.value].dtype == DType::kBool ? "(unsigned char)" + value : value;
  }

  void write_scalar_store(const Store& s) {
    const std::string guard = guard_text(part_.space, s.guard, wide());
    line((guard.empty() ? "" : "if (" + guard + ") ") + buffers_[s.buffer.index] + "[" + index_text(part_.space, s.index, wide()) +
         "] = " + stored_value(s) + ";");
  }

  // --- scopes

  bool is_statement(size_t i) const {
    const Node::Kind k = part_.nodes[NodeId(i)].kind;
    return k != Node::kConstant && k != Node::kScalar && k != Node::kLoad;
  }

  // Everything but loads that does (in_u) or does not depend on the repetition.
  void write_scope(bool in_u) {
    const size_t n = part_.nodes.size();
    for (size_t i = 0; i < n; ++i) {
      const NodeId id(i);
      if (in_u_[i] == in_u && is_statement(i) && !in_lane_[i]) write_value(id);
    }
    std::vector<const Store*> stores;
    for (const Store& s : part_.stores)
      if (store_in_u(s) == in_u) stores.push_back(&s);
    if (!part_.lane.valid()) {
      for (const Store* s : stores) write_scalar_store(*s);
      return;
    }
    write_lanes(in_u, stores);
  }

  void write_lanes(bool in_u, const std::vector<const Store*>& stores) {
    const size_t n = part_.nodes.size();
    const std::string lanes = std::to_string(part_.vector);
    bool any = !stores.empty();
    for (size_t i = 0; i < n; ++i) {
      if (in_u_[i] != in_u || !in_lane_[i] || !is_statement(i)) continue;
      any = true;
      if (!in_u && used_later_[i]) line(std::string(register_type(part_.nodes[NodeId(i)].dtype)) + " " + names_[i] + "[" + lanes + "];");
    }
    if (!any) return;
    std::vector<std::string> results;
    for (const Store* s : stores) {
      results.push_back(access_width(s->index) > 0 ? scope_.take(kernel_.buffers[s->buffer].value + "_y") : "");
      if (!results.back().empty())
        line("Vec<" + std::string(storage_type(kernel_.buffers[s->buffer].dtype)) + ", " + lanes + "> " + results.back() + ";");
    }
    line("#pragma unroll");
    open("for (int lane = 0; lane < " + lanes + "; ++lane) {");
    for (size_t i = 0; i < n; ++i)
      if (in_u_[i] == in_u && in_lane_[i] && is_statement(i)) write_value(NodeId(i));
    for (size_t k = 0; k < stores.size(); ++k) {
      const Store& s = *stores[k];
      const std::string value = stored_value(s);
      if (!results[k].empty()) {
        line(results[k] + ".at[lane] = " + value + ";");
        continue;
      }
      std::string guard = guard_text(part_.space, s.guard, wide());
      if (part_.has_tail) guard += (guard.empty() ? "" : " && ") + std::string("lane < count");
      line((guard.empty() ? "" : "if (" + guard + ") ") + buffers_[s.buffer.index] + "[" + index_text(part_.space, s.index, wide()) +
           "] = " + value + ";");
    }
    close();
    for (size_t k = 0; k < stores.size(); ++k) {
      if (results[k].empty()) continue;
      const Store& s = *stores[k];
      const std::string to = address(s.buffer, without_lane(s.index));
      const std::string store = "fs_store<" + std::to_string(access_width(s.index)) + ">(" + to + ", " + results[k] + ");";
      const std::string guard = guard_text(part_.space, s.guard, wide());
      const std::string prefix = guard.empty() ? "" : "if (" + guard + ") ";
      if (!part_.has_tail) {
        line(prefix + store);
      } else {
        open(prefix + "{");
        line("if (whole) " + store);
        line("else fs_store_some(" + to + ", " + results[k] + ", count);");
        close();
      }
    }
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

  void write_repeated_loads() {
    bool loads = false;
    for (size_t i = 0; i < part_.nodes.size(); ++i) {
      const Node& n = part_.nodes[NodeId(i)];
      if (n.kind != Node::kLoad || !in_u_[i] || staged_.contains(static_cast<uint32_t>(i))) continue;
      loads = true;
      const std::string type = storage_type(n.dtype), count = "[" + std::to_string(part_.unroll) + "]";
      if (in_lane_[i]) line("Vec<" + type + ", " + std::to_string(part_.vector) + "> " + names_[i] + count + " = {};");
      else line(type + " " + names_[i] + count + ";");
    }
    if (loads) {
      open_repetition();
      for (size_t i = 0; i < part_.nodes.size(); ++i)
        if (part_.nodes[NodeId(i)].kind == Node::kLoad && in_u_[i] && !staged_.contains(static_cast<uint32_t>(i))) write_load(NodeId(i));
      close();
    }
  }

  const Graph& graph_;
  const Kernel& kernel_;
  const Part& part_;
  const std::vector<std::string>& buffers_;
  bool contract_;
  NameScope scope_;
  std::string indent_, out_;
  bool repeats_ = false;
  std::vector<bool> in_u_, in_lane_, used_later_;
  std::vector<std::string> names_;
  static constexpr double kBoundedAngle = 131072;  // of fs_quarter_turns
  std::vector<double> bounds_;
  std::vector<NodeId> sine_partner_;  // of a sine the cosine of the same value, and the reverse
  std::map<uint32_t, const Tile::Staged*> staged_;
  std::set<uint32_t> written_;
};

}  // namespace

std::string emit_part(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                      const NameScope& scope, bool contract, const std::string& indent, const std::string& first_block) {
  return PartWriter(graph, kernel, part, buffers, contract, scope, indent).write(first_block);
}

}  // namespace fusec
