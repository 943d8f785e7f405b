#include "emit/node_writer.h"

#include <algorithm>

#include "emit/cuda.h"
#include "emit/expression.h"
#include "graph/literal.h"
#include "kernel/magnitude.h"
#include "kernel/visit.h"
#include "support/check.h"

namespace fusec {

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

NodeWriter::NodeWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names,
                       bool contract, NameScope scope, std::string indent)
    : graph_(graph),
      kernel_(kernel),
      part_(part),
      buffers_(buffer_names),
      contract_(contract),
      scope_(std::move(scope)),
      indent_(std::move(indent)) {
  if (part_.tile)
    for (const Tile::Staged& s : part_.tile->staged) staged_[s.load.index] = &s;
}

void NodeWriter::classify() {
  const size_t n = part_.nodes.size();
  const std::vector<bool> free_u = repeats_ ? independent_nodes(part_, part_.serial) : std::vector<bool>(n, true);
  const std::vector<bool> free_lane = part_.lane.valid() ? independent_nodes(part_, part_.lane) : std::vector<bool>(n, true);
  for (size_t i = 0; i < n; ++i) {
    in_u_.push_back(!free_u[i]);
    in_lane_.push_back(!free_lane[i]);
  }
}

void NodeWriter::prepare() {
  bounds_ = magnitude_bounds(graph_, part_);
  sine_partner_.resize(part_.nodes.size());
  find_levels();
  pair_sines();
  mark_used();
  name_nodes();
  for (size_t i = 0; i < part_.space.size(); ++i)
    if (const Atom& a = part_.space[AtomId(i)]; a.kind == Atom::kData) part_.space.set_name(AtomId(i), ref(a.node));
}

void NodeWriter::find_levels() {
  const size_t n = part_.nodes.size();
  early_.assign(n, false);
  level_.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    const Node& node = part_.nodes[NodeId(i)];
    for (NodeId in : node.in) level_[i] = std::max(level_[i], level_[in.index] + (node.kind == Node::kLoad ? 1 : 0));
    levels_ = std::max(levels_, level_[i] + 1);
  }
  for (size_t i = n; i-- > 0;) {
    early_[i] = early_[i] || part_.nodes[NodeId(i)].kind == Node::kChecked;
    if (early_[i])
      for (NodeId in : part_.nodes[NodeId(i)].in) early_[in.index] = early_[in.index] || is_statement(in.index);
  }
}

void NodeWriter::open(const std::string& text) {
  line(text);
  indent_ += "  ";
}

void NodeWriter::close(const std::string& after) {
  indent_.resize(indent_.size() - 2);
  line("}" + after);
}

void NodeWriter::declare_dims(const std::vector<AtomId>& dims, const std::string& from) {
  if (dims.empty()) return;
  // Row-major digits of the thread (or block) number.
  std::string text;
  Size stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    const AtomId v = dims[d];
    const Size extent = part_.space.extent(v);
    std::string value = from;
    if (!stride.is(1)) value += " / " + size_text(stride, graph_.symbols, wide());
    if (d > 0) value += " % " + size_text(extent, graph_.symbols, wide());
    text = part_.space[v].name + " = " + value + (text.empty() ? "" : ", ") + text;
    stride *= extent;
  }
  line("const " + std::string(index_type()) + " " + text + ";");
}

std::string NodeWriter::address(BufferId buffer, const Index& index) const {
  const std::string text = index_text(part_.space, index, wide());
  const std::string sign = wide() || part_.space.is_nonnegative(index) ? "" : "(int)";  // (of guarded accesses)
  if (text.find('-') != std::string::npos) return buffers_[buffer.index] + " + " + sign + "(" + text + ")";
  // The items of a list differ in 32 bits, which are added first.
  return buffers_[buffer.index] + " + " + (part_.list && text.find(" + ") != std::string::npos ? "(" + text + ")" : text);
}

void NodeWriter::mark_used() {
  used_later_.assign(part_.nodes.size(), false);  // computed before the loop over u, needed inside it
  for (size_t i = 0; i < part_.nodes.size(); ++i)
    for (NodeId in : part_.nodes[NodeId(i)].in)
      if (in_u_[i] && !in_u_[in.index]) used_later_[in.index] = true;
  for (const Store& s : part_.stores)
    if (store_in_u(s) && !in_u_[s.value.index]) used_later_[s.value.index] = true;
}

void NodeWriter::name_nodes() {
  names_.resize(part_.nodes.size());
  for (size_t i = 0; i < part_.nodes.size(); ++i) {
    const Node& n = part_.nodes[NodeId(i)];
    if (n.kind == Node::kConstant) names_[i] = literal_text(n.constant, n.dtype);
    else if (n.kind == Node::kScalar)
      names_[i] = n.dtype == DType::kBool ? "(" + buffers_[n.buffer.index] + " != 0)" : buffers_[n.buffer.index];
    else if (n.kind == Node::kLoad)
      names_[i] = scope_.take(kernel_.buffers[n.buffer].value + (staged_.contains(static_cast<uint32_t>(i)) ? "_tile" : "_x"));
    else names_[i] = scope_.take(graph_.name_of(n.op) + (n.kind == Node::kChecked ? "_at" : n.kind == Node::kItem ? "_from" : ""));
  }
}

std::string NodeWriter::ref(NodeId id) const {
  const size_t i = id.index;
  const Node& n = part_.nodes[id];
  if (n.kind == Node::kConstant || n.kind == Node::kScalar) return names_[i];
  if (n.kind == Node::kItem) return names_[i] + "[u]";
  if (n.kind == Node::kLoad) return load_ref(id);
  if (early_[i]) return names_[i] + (in_u_[i] ? "[u]" : "") + (in_lane_[i] ? "[lane]" : "");
  if (kept_.contains(id.index)) return names_[i] + "[u]" + (in_lane_[i] ? "[lane]" : "");
  return is_array(i) ? names_[i] + "[lane]" : names_[i];
}

std::string NodeWriter::vector_ref(NodeId id) const { return names_[id.index] + (in_u_[id.index] && !part_.nodes[id].late ? "[u]" : ""); }

std::string NodeWriter::load_ref(NodeId id) const {
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
    text = vector_ref(id);
    if (in_lane_[i]) text += ".at[lane]";
  }
  return n.dtype == DType::kBool ? "(" + text + " != 0)" : text;
}

// Elements that one instruction may move: the lanes lie next to each other and the first is aligned to this many.
int NodeWriter::access_width(const Index& index, const std::vector<Index>& guard) const {
  if (std::any_of(guard.begin(), guard.end(), [&](const Index& g) { return part_.lane.valid() && part_.space.depends_on(g, part_.lane); }))
    return 0;
  if (!part_.lane.valid() || !index.coefficient(part_.lane).is(1) || inside_atom(part_.space, index, part_.lane)) return 0;
  return static_cast<int>(part_.space.alignment(index, part_.lane, part_.vector));
}

// True for whole pieces of 16 bytes of what passes through once; beside updates for all that one instruction loads.
bool NodeWriter::is_streamed(BufferId id, int width, int elems) const {
  const Buffer& buffer = kernel_.buffers[id];
  const bool updates = !part_.stores.empty() && part_.stores[0].update;
  return buffer.cache == CacheHint::kOnce && (width * bytes_of(buffer.dtype) >= 16 || (updates && width == elems));
}

// Vector updates are additions of f32.
int NodeWriter::access_width(const Store& s) const {
  if (s.claim || s.joins) return 0;
  if (s.accumulates() &&
      ((part_.table && part_.table->lanes == 1) || s.accumulate != Accumulate::kAdd || kernel_.buffers[s.buffer].dtype != DType::kF32))
    return 0;
  return access_width(s.index, s.guard);
}

Index NodeWriter::without_lane(const Index& index) const {
  Index out = index;
  std::erase_if(out.terms, [&](const auto& t) { return t.first == part_.lane; });
  return out;
}

std::string NodeWriter::zero(DType dtype) {
  if (dtype == DType::kBool || is_f8(dtype)) return "(unsigned char)0";
  return literal_text(Literal{int64_t{0}}, dtype);
}

std::string NodeWriter::no_sum(DType dtype) { return literal_text(neutral_update(Accumulate::kAdd, dtype), dtype); }

std::string NodeWriter::vector_type(size_t i) const {
  return "Vec<" + std::string(storage_type(part_.nodes[NodeId(i)].dtype)) + ", " + std::to_string(part_.vector) + ">";
}

// All lanes, in pieces of `width`.
std::string NodeWriter::whole_load(const Node& n, int width) const {
  const std::string lanes = std::to_string(part_.vector), from = address(n.buffer, without_lane(n.index));
  if (is_streamed(n.buffer, width, part_.vector)) return "fs_load_once<" + lanes + ">(" + from + ")";
  const Buffer& buffer = kernel_.buffers[n.buffer];
  // (a compiler predicates its own loads, but not those in assembly)
  const bool always = n.guard.empty() && !part_.has_tail && (!skewed() || n.reads_past_row);
  const bool kept = always && buffer.cache == CacheHint::kKept && width * bytes_of(buffer.dtype) >= 8;
  return (kept ? "fs_load_kept<" : "fs_load<") + lanes + ", " + std::to_string(width) + ">(" + from + ")";
}

// A vector of a row whose vectors keep to memory's alignment.
std::string NodeWriter::skewed_load(const Node& n) const {
  const std::string lanes = std::to_string(part_.vector);
  if (n.shifted) {
    const Skew& skew = *part_.sweep->skew;
    const Index row = without_lane(n.index) - part_.space.variable(part_.sweep->dims[0]) * Size(part_.vector) + skew.shift;
    return "fs_load_shifted<" + lanes + ">(" + (row == Index() ? buffers_[n.buffer.index] : address(n.buffer, row)) + ", at, shift, " +
           std::to_string(skew.elems) + ", head, tail)";
  }
  const std::string from = address(n.buffer, without_lane(n.index)), whole = whole_load(n, part_.vector);
  return n.reads_past_row ? whole : "lanes == " + all_lanes() + " ? " + whole + " : fs_load_lanes<" + lanes + ">(" + from + ", lanes)";
}

void NodeWriter::write_load(NodeId id) {
  const Node& n = part_.nodes[id];
  const size_t i = id.index;
  const std::string type = storage_type(n.dtype), pointer = buffers_[n.buffer.index];
  const std::string guard = guard_text(part_.space, n.guard, wide());
  const std::string target = vector_ref(id);
  if (!in_lane_[i]) {
    const std::string at = index_text(part_.space, n.index, wide());
    const std::string value =
        is_streamed(n.buffer, 1, 1) ? "fs_load_once<1>(" + address(n.buffer, n.index) + ").at[0]" : pointer + "[" + at + "]";
    const std::string text = guard.empty() ? value : guard + " ? " + value + " : " + zero(n.dtype);
    line((in_u_[i] ? "" : "const " + type + " ") + target + " = " + text + ";");
    return;
  }
  const std::string lanes = std::to_string(part_.vector), vec = vector_type(i) + " ";
  if (skewed()) {
    if (n.late && guard.empty()) return line("const " + vec + target + " = " + skewed_load(n) + ";");
    if (n.late) line(vec + target + " = {};");
    line((guard.empty() ? "" : "if (" + guard + ") ") + target + " = " + skewed_load(n) + ";");
  } else if (const int width = access_width(n.index, n.guard); width > 0) {
    const std::string from = address(n.buffer, without_lane(n.index));
    std::string text = whole_load(n, width);
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
    const std::string element = pointer + "[" + index_text(part_.space, n.index, wide()) + "]";
    line("for (int lane = 0; lane < " + lanes + "; ++lane) " + (condition.empty() ? "" : "if (" + condition + ") ") + target +
         ".at[lane] = " + element + ";");
  }
}

// A bfloat16 of a vector that is already in registers, made wider; "" for other values.
std::string NodeWriter::widened_lane(const Node& n) const {
  if (!skewed() || graph_[n.op].kind != OpKind::kCast || n.dtype != DType::kF32) return "";
  const NodeId narrow = n.in[0];
  if (part_.nodes[narrow].kind != Node::kLoad || part_.nodes[narrow].dtype != DType::kBF16 || !in_lane_[narrow.index]) return "";
  return "fs_widen(" + vector_ref(narrow) + ", lane)";
}

std::string NodeWriter::value_text(const Node& n) {
  std::vector<std::string> operands;
  std::vector<DType> dtypes;
  for (NodeId in : n.in) {
    operands.push_back(ref(in));
    dtypes.push_back(part_.nodes[in].dtype);
  }
  switch (n.kind) {
    case Node::kOp:
      if (graph_[n.op].kind == OpKind::kDiv && n.dtype == DType::kF32) {
        const auto known = divisors_.find({n.in[1], n.coarse});
        if (n.coarse)
          return (known != divisors_.end() ? known->second : "fs_divisor(" + operands[1] + ")") + ".divide(" + operands[0] + ")";
        if (known != divisors_.end()) return "fs_divide(" + operands[0] + ", " + operands[1] + ", " + known->second + ")";
      }
      if (const std::string text = widened_lane(n); !text.empty()) return text;
      if (n.coarse && graph_[n.op].kind == OpKind::kExp) return "fs_exp_coarse(" + operands[0] + ")";
      if (n.coarse && graph_[n.op].kind == OpKind::kErf) return "fs_erf_coarse(" + operands[0] + ")";
      return op_text(graph_, graph_[n.op], operands, dtypes, contract_);
    case Node::kSelect:
      return guard_text(part_.space, n.guard, wide()) + " ? " + operands[0] + " : " + operands[1];
    case Node::kIndex:
      return iota_text(graph_.attrs(graph_[n.op]), n.dtype, index_text(part_.space, n.index, wide()));
    case Node::kRandom:
      return random_text(graph_[n.op].kind, graph_.attrs(graph_[n.op]), n.dtype, index_text(part_.space, n.index, wide()));
    case Node::kListed:
      return sum_text(n.dtype, operands[0], list_sum_);
    case Node::kSorted:
      return sorted_texts_[n.result];
    case Node::kJoined: {
      std::string joined = operands[0];
      for (size_t i = 1; i < operands.size(); ++i)
        joined = std::string(join_function(n.accumulate)) + "(" + joined + ", " + operands[i] + ")";
      return joined;
    }
    case Node::kChecked: {
      const std::string value = operands[0];
      if (!n.buffer.valid()) return "(" + std::string(index_type()) + ")" + value;
      std::string condition = guard_text(part_.space, n.guard, wide());
      const bool in_lane = std::any_of(n.in.begin(), n.in.end(), [&](NodeId in) { return in_lane_[in.index]; });
      if (part_.has_tail && in_lane) condition += (condition.empty() ? "" : " && ") + std::string("lane < count");
      const std::string at = "fs_index(" + value + ", " + size_text(n.extent, graph_.symbols, true) + ", " + buffers_[n.buffer.index] +
                             ", " + std::to_string(n.check) + ", " + index_text(part_.space, n.index, wide()) + ")";
      return condition.empty() ? at : condition + " ? " + at + " : " + size_text(n.extent, graph_.symbols, true);
    }
    default:
      FUSEC_CHECK(false, "no value text");
  }
  return "";
}

// sin and cos of one f32 value share their range reduction.
void NodeWriter::pair_sines() {
  std::map<std::pair<NodeId, OpKind>, NodeId> by_operand;
  for (size_t i = 0; i < part_.nodes.size(); ++i) {
    const Node& n = part_.nodes[NodeId(i)];
    if (n.kind != Node::kOp || n.dtype != DType::kF32) continue;
    const OpKind kind = graph_[n.op].kind;
    if (early_[i]) continue;
    if (kind != OpKind::kSin && kind != OpKind::kCos) continue;
    by_operand[{n.in[0], kind}] = NodeId(i);
    const OpKind other = kind == OpKind::kSin ? OpKind::kCos : OpKind::kSin;
    if (auto it = by_operand.find({n.in[0], other}); it != by_operand.end())
      sine_partner_[i] = it->second, sine_partner_[it->second.index] = NodeId(i);
  }
}

void NodeWriter::write_value(NodeId id) {
  const Node& n = part_.nodes[id];
  if (written_.contains(id.index)) return;
  const std::string comment = n.op.valid() ? "  // " + op_comment(graph_, n.op) : "";
  if (const NodeId partner = sine_partner_[id.index]; partner.valid()) {
    const bool sine_first = graph_[n.op].kind == OpKind::kSin;
    const NodeId sine = sine_first ? id : partner, cosine = sine_first ? partner : id;
    std::string args;
    for (NodeId one : {sine, cosine}) {
      if (!is_array(one.index) && !kept_.contains(one.index)) line("float " + names_[one.index] + ";");
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
  const bool declared = is_array(id.index) || kept_.contains(id.index) || ref(id) != names_[id.index];
  line((declared ? "" : "const " + std::string(type_of(id.index)) + " ") + ref(id) + " = " + text + ";" + comment);
  written_.insert(id.index);
}

bool NodeWriter::store_in_u(const Store& s) const {
  if (!repeats_) return false;
  if (in_u_[s.value.index]) return true;
  if (s.gathered) return bulk_store(s.buffer).stretches > 1;
  auto free = [&](const Index& i) { return part_.serial.valid() ? !part_.space.depends_on(i, part_.serial) : i.is_constant(); };
  return !free(s.index) || !std::all_of(s.guard.begin(), s.guard.end(), free);
}

const BulkStore& NodeWriter::bulk_store(BufferId buffer) const {
  return *std::find_if(part_.bulk_stores.begin(), part_.bulk_stores.end(), [&](const BulkStore& b) { return b.buffer == buffer; });
}

std::string NodeWriter::stored_value(const Store& s) const {
  const std::string value = ref(s.value);
  return part_.nodes[s.value].dtype == DType::kBool ? "(unsigned char)" + value : value;
}

const char* join_function(Accumulate how) {
  constexpr const char* kNames[] = {"", "fs_join_add", "fs_join_mul", "fs_join_max", "fs_join_min"};
  return kNames[static_cast<size_t>(how)];
}

const char* shared_update_function(Accumulate how) {
  constexpr const char* kNames[] = {"fs_store_one", "fs_add_shared", "fs_atomic_mul", "fs_look_max", "fs_look_min"};
  return kNames[static_cast<size_t>(how)];
}

const char* update_function(const Store& s) {
  constexpr const char* kNames[] = {"fs_store_one", "fs_atomic_add", "fs_atomic_mul", "fs_atomic_max", "fs_atomic_min"};
  const bool selects = s.accumulate == Accumulate::kMax || s.accumulate == Accumulate::kMin;
  return selects && s.looks ? shared_update_function(s.accumulate) : kNames[static_cast<size_t>(s.accumulate)];
}

std::string NodeWriter::element_store(const Store& s) const {
  const std::string index = index_text(part_.space, s.index, wide()), value = stored_value(s);
  if (!s.update) return buffers_[s.buffer.index] + "[" + index + "] = " + value + ";";
  const std::string element = "&" + buffers_[s.buffer.index] + "[" + index + "]";
  const bool adds_shared = s.accumulate == Accumulate::kAdd && kernel_.buffers[s.buffer].shared_elems > 0;
  if (s.joins) {
    const std::string type = storage_type(kernel_.buffers[s.buffer].dtype), t = "(" + type + " ";
    return "fs_update_joined<" + type + ">((" + (wide() ? "long long" : "unsigned") + ")(" + index + "), " + value + ", []" + t + "fs_a, " +
           type + " fs_b) { return " + join_function(s.accumulate) + "(fs_a, fs_b); }, [&]" + t + "fs_x) { " +
           (adds_shared ? "fs_atomic_add" : update_function(s)) + "(" + element + ", fs_x); });";
  }
  if (adds_shared) return "fs_add_shared(" + element + ", " + value + ", (unsigned)(" + index + "), true);";
  return update_function(s) + ("(" + element) + ", " + value + ");";
}

void NodeWriter::write_scalar_store(const Store& s) {
  const std::string guard = store_guard(s);
  line((guard.empty() ? "" : "if (" + guard + ") ") + element_store(s));
}

std::string NodeWriter::store_guard(const Store& s) const {
  const std::string guard = guard_text(part_.space, s.guard, wide());
  return store_condition_.empty() || guard.empty() ? store_condition_ + guard : store_condition_ + " && " + guard;
}

bool NodeWriter::is_statement(size_t i) const {
  const Node::Kind k = part_.nodes[NodeId(i)].kind;
  return k != Node::kConstant && k != Node::kScalar && k != Node::kLoad && k != Node::kReduce && k != Node::kItem;
}

const char* NodeWriter::type_of(size_t i) const {
  const Node& n = part_.nodes[NodeId(i)];
  return n.kind == Node::kChecked ? index_type() : register_type(n.dtype);
}

// A load, or an index that loads wait for, of all repetitions.
void NodeWriter::declare_repeated(size_t i) {
  const Node& n = part_.nodes[NodeId(i)];
  const std::string count = "[" + std::to_string(part_.sweep ? part_.sweep->steps : part_.unroll) + "]",
                    lanes = std::to_string(part_.vector);
  if (n.kind == Node::kLoad) {
    const std::string type = storage_type(n.dtype);
    line((in_lane_[i] ? vector_type(i) : type) + " " + names_[i] + count + (in_lane_[i] ? " = {};" : ";"));
  } else {
    line(type_of(i) + (" " + names_[i]) + count + (in_lane_[i] ? "[" + lanes + "];" : ";"));
  }
}

std::string NodeWriter::next_items(const std::string& from) const {
  return "fs_load<" + std::to_string(part_.list->ahead) + ", " + std::to_string(std::min(part_.list->ahead, 4)) + ">(" + from + ")";
}

void NodeWriter::write_item_loads(const std::string& listed, const std::string& exists) {
  const std::string item = names_[part_.list->item.index], ahead = std::to_string(part_.list->ahead);
  line("int " + item + "[" + ahead + "];");
  line("#pragma unroll");
  line("for (int u = 0; u < " + ahead + "; ++u) " + item + "[u] = " + exists + " ? " + listed + ".at[u] : " + listed + ".at[0];");
  write_loads(true, [](size_t) { return true; }, [&] { open_each_item(); });
}

void NodeWriter::open_each_item() {
  line("#pragma unroll");
  open("for (int u = 0; u < " + std::to_string(part_.list->ahead) + "; ++u) {");
}

// Each level's loads in a repetition of their own: they are in flight together.
void NodeWriter::write_loads(bool in_u, const std::function<bool(size_t)>& wanted, const std::function<void()>& repeat,
                             const std::function<void(NodeId)>& write) {
  auto mine = [&](size_t i) { return in_u_[i] == in_u && wanted(i) && !written_.contains(static_cast<uint32_t>(i)); };
  auto is_load = [&](size_t i) { return part_.nodes[NodeId(i)].kind == Node::kLoad && !staged_.contains(static_cast<uint32_t>(i)); };
  std::vector<size_t> nodes;
  for (size_t i = 0; i < part_.nodes.size(); ++i)
    if (mine(i) && (is_load(i) || early_[i])) nodes.push_back(i);
  if (in_u)
    for (size_t i : nodes) declare_repeated(i);
  for (int level = 0; level <= levels_; ++level) {
    std::vector<size_t> loads;
    bool waits = false;
    for (size_t i : nodes) {
      if (is_load(i) && level_[i] == level) loads.push_back(i);
      waits = waits || (early_[i] && level_[i] == level - 1);
    }
    if (loads.empty() && !waits) continue;
    if (in_u) repeat();
    if (waits) write_early(level - 1, in_u, wanted);
    for (size_t i : loads) write ? write(NodeId(i)) : write_load(NodeId(i));
    if (in_u) close();
  }
}

void NodeWriter::write_early(int level, bool in_u, const std::function<bool(size_t)>& wanted) {
  auto mine = [&](size_t i) {
    return early_[i] && level_[i] == level && in_u_[i] == in_u && wanted(i) && !written_.contains(static_cast<uint32_t>(i));
  };
  bool lanes = false;
  for (size_t i = 0; i < part_.nodes.size(); ++i) {
    if (!mine(i)) continue;
    if (!in_lane_[i]) write_value(NodeId(i));
    else if (!in_u) line(type_of(i) + (" " + names_[i]) + "[" + std::to_string(part_.vector) + "];");
    lanes = lanes || in_lane_[i];
  }
  if (!lanes) return;
  line("#pragma unroll");
  open("for (int lane = 0; lane < " + std::to_string(part_.vector) + "; ++lane) {");
  for (size_t i = 0; i < part_.nodes.size(); ++i)
    if (in_lane_[i] && mine(i)) write_value(NodeId(i));
  close();
}

void NodeWriter::write_scope(const Scope& scope) {
  for (size_t i = 0; i < part_.nodes.size(); ++i)
    if (in_u_[i] == scope.in_u && is_statement(i) && !early_[i] && !in_lane_[i] && scope.wanted(i)) write_value(NodeId(i));
  std::vector<const Store*> in_lanes;
  for (const Store* s : scope.stores) {
    auto varies = [&](const Index& index) { return part_.space.depends_on(index, part_.lane); };
    const bool lanes =
        part_.lane.valid() && (in_lane_[s->value.index] || varies(s->index) || std::any_of(s->guard.begin(), s->guard.end(), varies));
    if (lanes) in_lanes.push_back(s);
    else write_scalar_store(*s);
  }
  if (part_.lane.valid()) write_lanes(scope, in_lanes);
  else
    for (const std::string& statement : scope.statements) line(statement);
  for (const std::string& statement : scope.after_lanes) line(statement);
}

void NodeWriter::write_needed(const std::vector<NodeId>& roots, const std::vector<const Store*>& stores,
                              std::vector<std::string> statements) {
  const std::vector<bool> needed = needed_nodes(part_, roots);
  written_.clear();
  auto wanted = [&](size_t i) { return needed[i]; };
  write_loads(false, wanted, {});
  write_scope({false, wanted, stores, std::move(statements), {}});
}

void NodeWriter::write_stores() {
  std::vector<NodeId> roots;
  std::vector<const Store*> stores;
  for (const Store& s : part_.stores) {
    stores.push_back(&s);
    roots.push_back(s.value);
    for (NodeId n : part_.space.data_of(s.index)) roots.push_back(n);
  }
  write_needed(roots, stores, {});
}

std::string NodeWriter::vector_store(const Store& s, const std::string& vector) const {
  // (the assembly of fs_put keeps loads of later rows behind it)
  const bool put = !part_.sweep && kernel_.buffers[s.buffer].shared_elems == 0;
  const std::string name = s.accumulates() ? "fs_atomic_add_all" : s.update ? "fs_store_one_of" : put ? "fs_put" : "fs_store";
  const int width = access_width(s);
  const bool once = !s.update && is_streamed(s.buffer, width, part_.vector);
  return (once ? "fs_store_once(" : name + "<" + std::to_string(width) + ">(") + address(s.buffer, without_lane(s.index)) + ", " + vector +
         ");";
}

void NodeWriter::write_lanes(const Scope& scope, const std::vector<const Store*>& stores) {
  const size_t n = part_.nodes.size();
  const std::string lanes = std::to_string(part_.vector);
  bool any = !stores.empty() || !scope.statements.empty();
  for (size_t i = 0; i < n; ++i) {
    if (in_u_[i] != scope.in_u || !in_lane_[i] || !is_statement(i) || early_[i] || !scope.wanted(i)) continue;
    any = true;
    if (!scope.in_u && used_later_[i])
      line(std::string(register_type(part_.nodes[NodeId(i)].dtype)) + " " + names_[i] + "[" + lanes + "];");
  }
  if (!any) return;
  std::vector<std::string> results;
  for (const Store* s : stores) {
    results.push_back(access_width(*s) > 0 ? scope_.take(kernel_.buffers[s->buffer].value + "_y") : "");
    if (!results.back().empty())
      line("Vec<" + std::string(storage_type(kernel_.buffers[s->buffer].dtype)) + ", " + lanes + "> " + results.back() + ";");
  }
  line("#pragma unroll");
  open("for (int lane = 0; lane < " + lanes + "; ++lane) {");
  for (size_t i = 0; i < n; ++i)
    if (in_u_[i] == scope.in_u && in_lane_[i] && is_statement(i) && !early_[i] && scope.wanted(i)) write_value(NodeId(i));
  for (const std::string& statement : scope.statements) line(statement);
  for (size_t k = 0; k < stores.size(); ++k) {
    const Store& s = *stores[k];
    const std::string value = stored_value(s);
    if (!results[k].empty()) {
      line(results[k] + ".at[lane] = " + value + ";");
      continue;
    }
    std::string guard = store_guard(s);
    if (part_.has_tail) guard += (guard.empty() ? "" : " && ") + std::string("lane < count");
    line((guard.empty() ? "" : "if (" + guard + ") ") + element_store(s));
  }
  close();
  for (size_t k = 0; k < stores.size(); ++k) {
    if (results[k].empty()) continue;
    const Store& s = *stores[k];
    const std::string to = address(s.buffer, without_lane(s.index)), store = vector_store(s, results[k]);
    const std::string guard = store_guard(s);
    const std::string prefix = guard.empty() ? "" : "if (" + guard + ") ";
    if (skewed()) {
      if (!prefix.empty()) open(prefix + "{");
      line("if (lanes == " + all_lanes() + ") " + store);
      line("else fs_store_lanes(" + to + ", " + results[k] + ", lanes);");
      if (!prefix.empty()) close();
    } else if (!part_.has_tail) {
      line(prefix + store);
    } else {
      open(prefix + "{");
      line("if (whole) " + store);
      line(std::string(s.accumulates() ? "else fs_atomic_add_some(" : "else fs_store_some(") + to + ", " +
           results[k] + ", count);");
      close();
    }
  }
}

}  // namespace fusec
