#include "emit/line_writer.h"

#include <algorithm>
#include <limits>

#include "emit/accumulator.h"
#include "emit/cuda.h"
#include "emit/expression.h"
#include "emit/node_writer.h"

namespace fusec {

namespace {

Accumulator accumulator_of(OpKind kind, DType dtype) {
  Accumulator a;
  switch (kind) {
    case OpKind::kCumprod:
      a.kind = Accumulator::kProd;
      break;
    case OpKind::kCummax:
      a.kind = Accumulator::kMax;
      break;
    case OpKind::kCummin:
      a.kind = Accumulator::kMin;
      break;
    default:
      a.kind = Accumulator::kSum;
  }
  a.dtype = scan_dtype(dtype);
  return a;
}

// What a scan starts with: an exclusive one shows it, so that it is the dtype's own least or greatest value.
std::string start_text(const Accumulator& a, DType dtype) {
  if (a.kind == Accumulator::kSum || a.kind == Accumulator::kProd) return initial_text(a);
  const bool least = a.kind == Accumulator::kMax;
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return "{" + literal_text(Literal{least ? -infinity : infinity}, a.dtype) + "}";
  }
  int64_t value = 0;
  if (dtype == DType::kBool) value = least ? 0 : 1;
  else if (dtype == DType::kU8) value = least ? 0 : 255;
  else {
    const int64_t lowest = std::numeric_limits<int64_t>::min() >> (64 - 8 * bytes_of(dtype));
    value = least ? lowest : ~lowest;
  }
  return "{" + literal_text(Literal{value}, a.dtype) + "}";
}

// The type in which a sort compares values.
const char* key_type(DType dtype) {
  if (is_float(dtype)) return dtype == DType::kF64 ? "double" : "float";
  return dtype == DType::kI64 ? "long long" : "int";
}

// That publish a value of a scan: half of each says of which launch it is.
int words_of(DType dtype) { return bytes_of(dtype) / 4; }

class LineWriter : NodeWriter {
 public:
  LineWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names, bool contract,
             NameScope scope, std::string indent)
      : NodeWriter(graph, kernel, part, buffer_names, contract, std::move(scope), std::move(indent)),
        line_(*part.line),
        op_(graph[line_.op]),
        attrs_(graph.attrs(op_)),
        dtype_(graph[op_.in[0].value].dtype) {
    in_u_.assign(part.nodes.size(), false);
    in_lane_.assign(part.nodes.size(), false);
    prepare();
    mine_ = scope_.take("mine"), total_ = scope_.take("total"), shared_ = scope_.take("shared"), result_ = scope_.take("result");
    keys_ = scope_.take("keys"), order_ = scope_.take("order"), spare_ = scope_.take("spare"), sorted_ = scope_.take("sorted"),
    values_ = scope_.take("values");
  }

  std::string write() {
    if (kernel_.is_phase) open("{");
    if (info(op_.kind).category == OpCategory::kScan) write_scan();
    else write_sort();
    if (kernel_.is_phase) close(), close();
    return std::move(out_);
  }

  // The steps of a scan in one turn: operands on their way, the warps' states, and after a barrier the results.
  struct Steps {
    std::string load, share, collect;
  };
  Steps write_steps() {
    const Accumulator a = accumulator_of(op_.kind, dtype_);
    const std::string state = state_type(a), warps = number(line_.group / 32), condition = "if (p < " + extent() + ") {";
    Steps steps;
    line("__shared__ " + state + " " + shared_ + "[" + warps + "];");
    line(state + " " + mine_ + " = " + start_text(a, dtype_) + ", " + total_ + " = " + mine_ + ";  // " + op_comment(graph_, line_.op));
    open(condition);
    write_operand({mine_ + ".value = " + accumulated(a) + ";"});
    close();
    std::swap(steps.load, out_);
    line(mine_ + " = fs_scan_share(" + mine_ + ", " + shared_ + ");");
    std::swap(steps.share, out_);
    line("const " + state + " " + result_ + " = fs_scan_collect<" + (attrs_.exclusive ? "true" : "false") + ", " + warps + ">(" + mine_ +
         ", " + total_ + ", " + shared_ + ");");
    open(condition);
    declare_position();
    write_results(a, result_);
    close();
    std::swap(steps.collect, out_);
    return steps;
  }
  const NameScope& scope() const { return scope_; }

 private:
  std::string type() const { return index_type(); }
  std::string extent() const { return size_text(line_.extent, graph_.symbols, wide()); }

  // Rows in turns, by the one block of a kernel of phases.
  void open_turns() {
    const int64_t rows = part_.grid.elems.value(), side_by_side = part_.grid.per_block;
    const std::string first = line_.group == 1 ? "threadIdx.x" : line_.group < kernel_.block ? "threadIdx.x / " + number(line_.group) : "0";
    const std::string row = type() + " t = " + first, some = "t < " + number(rows);
    loops_ = rows > side_by_side;
    if (loops_) open("for (" + row + "; " + some + "; t += " + number(side_by_side) + ") {");
    else if (rows < side_by_side) open("if (const " + row + "; " + some + ") {");
    else open("{"), line("const " + row + ";");
    declare_dims(part_.dims, "t");
  }

  void write_row(const std::string& row, bool may_miss) {
    if (kernel_.is_phase) return open_turns();
    line("const " + type() + " t = " + (wide() ? "(long long)" : "") + row + ";");
    if (may_miss) line("if (t >= " + size_text(part_.grid.elems, graph_.symbols, wide()) + ") return;");
    declare_dims(part_.dims, "t");
  }

  // Declares the position whose number in the op's order is p.
  void declare_position() {
    if (!line_.position.valid()) return;
    const bool from_end = info(op_.kind).category == OpCategory::kScan && attrs_.reverse;
    const std::string from = from_end ? extent() + " - 1 - " : "";
    line("const " + type() + " " + part_.space[line_.position].name + " = " + from + "p;");
  }

  void write_operand(std::vector<std::string> statements) {
    declare_position();
    write_needed({line_.operand}, {}, std::move(statements));
  }

  // True where results are stored as they are.
  bool stores_results() const {
    return std::all_of(part_.stores.begin(), part_.stores.end(),
                       [&](const Store& s) { return part_.nodes[s.value].kind == Node::kSorted; });
  }

  // In a scope of its own where the operand's names stand in the same one.
  void write_made_of_results() {
    if (line_.group == 1) open("{");
    write_stores();
    if (line_.group == 1) close();
  }

  std::string place(const Store& s) const { return buffers_[s.buffer.index] + "[" + index_text(part_.space, s.index, wide()) + "]"; }

  // --- scans

  void write_scan() {
    if (line_.looks_back) return write_look_back();
    if (line_.chunks > 1) return write_shared_scan();
    const Accumulator a = accumulator_of(op_.kind, dtype_);
    const std::string state = state_type(a), start = start_text(a, dtype_), block = number(kernel_.block);
    const int group = line_.group;
    const std::string member = group == 1 ? "" : group < kernel_.block ? "threadIdx.x % " + number(group) : "threadIdx.x";
    const std::string row = group == 1              ? "blockIdx.x * " + block + " + threadIdx.x"
                            : group < kernel_.block ? "blockIdx.x * " + number(part_.grid.per_block) + " + threadIdx.x / " + number(group)
                                                    : "blockIdx.x";
    write_row(row, group < kernel_.block);
    if (group > 32) line("__shared__ " + state + " " + shared_ + "[" + number(group / 32) + "];");
    line(state + " " + total_ + " = " + start + ";  // " + op_comment(graph_, line_.op));
    if (group == 1) {
      open("for (" + type() + " p = 0; p < " + extent() + "; ++p) {");
      write_operand({state + " " + mine_ + ";", mine_ + ".value = " + accumulated(a) + ";"});
      if (attrs_.exclusive) write_results(a, total_);
      line(total_ + ".merge(" + mine_ + ");");
      if (!attrs_.exclusive) write_results(a, total_);
    } else {
      open("for (" + type() + " first = 0; first < " + extent() + "; first += " + number(group) + ") {");
      line("const " + type() + " p = first + " + member + ";");
      line(state + " " + mine_ + " = " + start + ";");
      open("if (p < " + extent() + ") {");
      write_operand({mine_ + ".value = " + accumulated(a) + ";"});
      close();
      const std::string exclusive = attrs_.exclusive ? "true" : "false";
      line("const " + state + " " + result_ + " = " +
           (group == 32 ? "fs_scan_warp<" + exclusive + ">(" + mine_ + ", " + total_ + ");"
                        : "fs_scan_block<" + exclusive + ", " + number(group / 32) + ">(" + mine_ + ", " + total_ + ", " + shared_ + ");"));
      open("if (p < " + extent() + ") {");
      declare_position();
      write_results(a, result_);
      close();
    }
    close();
  }

  // A block takes a chunk of a row. What comes before it the chunks' totals say, added up in one order whatever the timing.
  void write_shared_scan() {
    const Accumulator a = accumulator_of(op_.kind, dtype_);
    const std::string state = state_type(a), start = start_text(a, dtype_), block = number(kernel_.block), warps = number(line_.group / 32);
    const std::string chunk = scope_.take("chunk"), from = scope_.take("from"), to = scope_.take("to"), sum = scope_.take("sum");
    const std::string totals = buffers_[line_.totals.index] + "[t * " + number(line_.chunks) + " + ";
    write_row("blockIdx.x / " + number(line_.chunks), false);
    line("const " + type() + " " + chunk + " = blockIdx.x % " + number(line_.chunks) + ", " + from + " = " + chunk + " * " +
         number(line_.chunk) + ";");
    line("const " + type() + " " + to + " = " + extent() + " - " + from + " < " + number(line_.chunk) + " ? " + extent() + " : " + from +
         " + " + number(line_.chunk) + ";");
    line("__shared__ " + state + " " + shared_ + "[" + warps + "];");
    line(state + " " + total_ + " = " + start + ", " + sum + " = " + start + ";  // " + op_comment(graph_, line_.op));
    const std::string merge = "fs_scan_block<true, " + warps + ">(" + sum + ", " + total_ + ", " + shared_ + ");";
    if (line_.sums_chunks) {
      open("for (" + type() + " p = " + from + " + threadIdx.x; p < " + to + "; p += " + block + ") {");
      line(state + " " + mine_ + ";");
      write_operand({mine_ + ".value = " + accumulated(a) + ";"});
      line(sum + ".merge(" + mine_ + ");");
      close();
      line(merge);
      line("if (threadIdx.x == 0) " + totals + chunk + "] = " + total_ + ".value;");
      return;
    }
    open("for (" + type() + " i = threadIdx.x; i < " + chunk + "; i += " + block + ") {");
    line(state + " " + mine_ + ";");
    line(mine_ + ".value = " + totals + "i];");
    line(sum + ".merge(" + mine_ + ");");
    close();
    line(merge);
    write_turns(a, state, start, from, to);
  }

  // Blocks take the chunks by tickets. Each keeps its chunk in registers, publishes what that gives by itself, and looks back at what the
  // chunks before it have published.
  void write_look_back() {
    const Accumulator a = accumulator_of(op_.kind, dtype_);
    const std::string state = state_type(a), start = start_text(a, dtype_), warps = number(line_.group / 32), chunks = number(line_.chunks);
    const std::string each = number(kEach), block = number(kernel_.block), blocks = number(part_.grid.elems.value());
    const int turns = static_cast<int>(line_.chunk / (int64_t{kernel_.block} * kEach));
    const std::string ticket = scope_.take("ticket"), launch = scope_.take("launch"), chunk = scope_.take("chunk"),
                      from = scope_.take("from"), sum = scope_.take("sum"), published = scope_.take("published");
    line("const unsigned long long " + ticket + " = fs_take_number(&" + kernel_.name + "_next);");
    line("const unsigned " + launch + " = (unsigned)(" + ticket + " / " + blocks + "), " + chunk + " = (unsigned)(" + ticket + " % " +
         chunks + ");");
    line("const " + type() + " t = (" + type() + ")(" + ticket + " % " + blocks + " / " + chunks + ");");
    declare_dims(part_.dims, "t");
    line("const " + type() + " " + from + " = " + (wide() ? "(long long)" : "") + chunk + " * " + number(line_.chunk) + ";");
    line("unsigned long long *const " + published + " = " + kernel_.name + "_published + (t * " + chunks + " + " + chunk + ") * " +
         number(words_of(a.dtype)) + ";");
    line("__shared__ " + state + " " + shared_ + "[" + warps + "];");
    line(state + " " + mine_ + "[" + number(turns) + "][" + each + "], " + sum + " = " + start + ", " + total_ + " = " + start + ";  // " +
         op_comment(graph_, line_.op));
    auto open_position = [&](bool loads) {
      open("for (int k = 0; k < " + each + "; ++k) {");
      line("const " + type() + " p = " + from + " + (u * " + block + " + threadIdx.x) * " + each + " + k;");
      if (loads) line(mine_ + "[u][k] = " + start + ";");
    };
    const std::string turn = "for (int u = 0; u < " + number(turns) + "; ++u) {", inside = "if (p < " + extent() + ") {";
    line("#pragma unroll");
    open(turn);
    line("#pragma unroll");
    open_position(true);
    open(inside);
    write_operand({mine_ + "[u][k].value = " + accumulated(a) + ";"});
    close();
    line(sum + ".merge(" + mine_ + "[u][k]);");
    close(), close();
    line("fs_scan_block<true, " + warps + ">(" + sum + ", " + total_ + ", " + shared_ + ");");
    line(total_ + " = fs_look_back_scan<" + number(words_of(a.dtype)) + ">(" + published + ", " + chunk + ", " + launch + ", " + total_ +
         ", " + state + start + ");");
    line("#pragma unroll");
    open(turn);
    line(sum + " = " + mine_ + "[u][0];");
    line("#pragma unroll");
    line("for (int k = 1; k < " + each + "; ++k) " + sum + ".merge(" + mine_ + "[u][k]);");
    line(state + " " + result_ + " = fs_scan_block<true, " + warps + ">(" + sum + ", " + total_ + ", " + shared_ + ");");
    line("#pragma unroll");
    open_position(false);
    if (!attrs_.exclusive) line(result_ + ".merge(" + mine_ + "[u][k]);");
    open(inside);
    declare_position();
    write_results(a, result_);
    close();
    if (attrs_.exclusive) line(result_ + ".merge(" + mine_ + "[u][k]);");
    close(), close();
  }

  // Neighbouring positions for each thread, several at a time.
  void write_turns(const Accumulator& a, const std::string& state, const std::string& start, const std::string& from,
                   const std::string& to) {
    const std::string each = number(kEach), step = number(int64_t{kernel_.block} * kEach), sum = scope_.take("sum");
    const std::string loop = "for (int k = 0; k < " + each + "; ++k) {";
    open("for (" + type() + " first = " + from + "; first < " + to + "; first += " + step + ") {");
    line(state + " " + mine_ + "[" + each + "], " + sum + " = " + start + ";");
    line("#pragma unroll");
    open(loop);
    line("const " + type() + " p = first + threadIdx.x * " + each + " + k;");
    line(mine_ + "[k] = " + start + ";");
    open("if (p < " + to + ") {");
    write_operand({mine_ + "[k].value = " + accumulated(a) + ";"});
    close();
    line(sum + ".merge(" + mine_ + "[k]);");
    close();
    line(state + " " + result_ + " = fs_scan_block<true, " + number(line_.group / 32) + ">(" + sum + ", " + total_ + ", " + shared_ + ");");
    line("#pragma unroll");
    open(loop);
    line("const " + type() + " p = first + threadIdx.x * " + each + " + k;");
    if (!attrs_.exclusive) line(result_ + ".merge(" + mine_ + "[k]);");
    open("if (p < " + to + ") {");
    declare_position();
    write_results(a, result_);
    close();
    if (attrs_.exclusive) line(result_ + ".merge(" + mine_ + "[k]);");
    close();
    close();
  }

  std::string accumulated(const Accumulator& a) const {
    const std::string x = ref(line_.operand);
    return a.dtype == dtype_ ? x : is_float(dtype_) ? widen_text(x, dtype_) : "(" + std::string(register_type(a.dtype)) + ")" + x;
  }

  void write_results(const Accumulator& a, const std::string& state) {
    const bool wraps = !is_float(a.dtype) && a.kind <= Accumulator::kProd;
    std::string value = (wraps ? "(" + std::string(register_type(a.dtype)) + ")" : "") + state + ".value";
    if (a.dtype != dtype_) value = cast_text(wraps ? "(" + value + ")" : value, a.dtype, dtype_);
    if (!stores_results()) {
      sorted_texts_[0] = value;
      return write_made_of_results();
    }
    if (dtype_ == DType::kBool) value = "(unsigned char)(" + value + ")";
    for (const Store& s : part_.stores) line(place(s) + " = " + value + ";");
  }

  // --- sorts

  void write_sort() {
    const std::string key = key_type(dtype_), capacity = number(line_.capacity), group = number(line_.group);
    const bool by_warps = line_.counts() && line_.group == 32;  // a row each
    const int rows = by_warps ? kernel_.block / 32 : 1;
    const bool wants_values = std::any_of(part_.nodes.begin(), part_.nodes.end(), [&](const Node& n) { return is_value(n); });
    // Values that are compared in another type are kept as they are too.
    const bool keeps = wants_values && key != storage_type(dtype_);
    line("// " + op_comment(graph_, line_.op) + ": a row in shared memory");
    auto declare = [&](const std::string& type, const std::string& name) {
      if (rows == 1) return line("__shared__ " + type + " " + name + "[" + capacity + "];");
      const std::string all = scope_.take(name + "_of_rows");
      line("__shared__ " + type + " " + all + "[" + number(int64_t{rows} * line_.capacity) + "];");
      line(type + " *const " + name + " = " + all + " + threadIdx.x / 32 * " + capacity + ";");
    };
    declare(key, keys_);
    declare("unsigned short", order_);
    if (line_.merges()) declare("unsigned short", spare_);
    if (keeps) declare(storage_type(dtype_), values_);
    std::vector<std::string> statements{keys_ + "[p] = " + key_text(ref(line_.operand)) + ";"};
    if (keeps) statements.push_back(values_ + "[p] = " + (dtype_ == DType::kBool ? "(unsigned char)" : "") + ref(line_.operand) + ";");
    const std::string barrier = by_warps ? "__syncwarp();" : "__syncthreads();", member = rows > 1 ? "threadIdx.x % 32" : "threadIdx.x";
    write_row(rows > 1 ? "blockIdx.x * " + number(rows) + " + threadIdx.x / 32" : "blockIdx.x", rows > 1);
    open("for (" + type() + " p = " + member + "; p < " + extent() + "; p += " + group + ") {");
    write_operand(std::move(statements));
    close();
    line(barrier);
    const std::string how = "<" + capacity + ", " + group + ", " + descending() + ">(" + keys_ + ", " + order_;
    if (line_.counts()) {
      line("fs_sort_by_counting" + how + ", (int)(" + extent() + "));");
    } else {
      line("const unsigned short *" + sorted_ + " = fs_sort_by_merging" + how + ", " + spare_ + ", (int)(" + extent() + "));");
    }
    open("for (" + type() + " p = " + member + "; p < " + kept() + "; p += " + group + ") {");
    declare_position();
    const std::string from = (line_.counts() ? order_ : sorted_) + "[p]", value = (keeps ? values_ : keys_) + "[" + from + "]";
    if (stores_results()) {
      for (const Store& s : part_.stores) line(place(s) + " = " + (is_value(part_.nodes[s.value]) ? value : from) + ";");
    } else {
      sorted_texts_[1] = "(long long)" + from;
      sorted_texts_[0] = op_.kind == OpKind::kArgsort ? sorted_texts_[1] : value + (dtype_ == DType::kBool ? " != 0" : "");
      write_made_of_results();
    }
    close();
    if (loops_) line(barrier + "  // before the next row");
  }

  bool is_topk() const { return op_.kind == OpKind::kTopk; }
  std::string descending() const { return (is_topk() ? attrs_.largest : attrs_.descending) ? "true" : "false"; }
  std::string kept() const { return is_topk() ? size_text(attrs_.k, graph_.symbols, wide()) : extent(); }
  bool is_value(const Node& n) const { return n.kind == Node::kSorted && op_.kind != OpKind::kArgsort && n.result == 0; }
  std::string key_text(const std::string& x) const {
    return is_float(dtype_) ? widen_text(x, dtype_) : "(" + std::string(key_type(dtype_)) + ")" + x;
  }

  static constexpr int kEach = 4;  // neighbouring positions of a thread
  bool loops_ = false;             // over rows
  const Line& line_;
  const Op& op_;
  const Attrs& attrs_;
  DType dtype_;
  std::string mine_, total_, shared_, result_, keys_, order_, spare_, sorted_, values_;
};

}  // namespace

std::string emit_published(const Kernel& kernel) {
  if (kernel.parts.empty() || !kernel.parts[0].line || !kernel.parts[0].line->looks_back) return "";
  const Part& part = kernel.parts[0];
  const int64_t words = part.grid.elems.value() * words_of(scan_dtype(part.nodes[part.line->operand].dtype));
  return "__device__ unsigned long long " + kernel.name + "_next;  // chunk, counted over all launches\n__device__ unsigned long long " +
         kernel.name + "_published[" + number(words) + "];  // what each chunk has told the others, and in which launch\n";
}

bool is_one_turn(const Graph& graph, const Kernel& phase, const Part& part) {
  return part.line && info(graph[part.line->op].kind).category == OpCategory::kScan && part.line->group == phase.block &&
         phase.block > 32 && part.grid.elems.is(1) && part.line->extent.is_constant() && part.line->extent.value() <= phase.block;
}

std::string emit_scans(const Graph& graph, const std::vector<const Kernel*>& phases, const std::vector<std::vector<std::string>>& buffers,
                       NameScope scope, bool contract, const std::string& indent) {
  LineWriter::Steps all;
  for (size_t k = 0; k < phases.size(); ++k) {
    LineWriter writer(graph, *phases[k], phases[k]->parts[0], buffers[k], contract, scope, indent + "  ");
    const LineWriter::Steps steps = writer.write_steps();
    all.load += steps.load, all.share += steps.share, all.collect += steps.collect;
    scope = writer.scope();
  }
  return indent + "{\n" + indent + "  const unsigned p = threadIdx.x;\n" + all.load + all.share + indent + "  __syncthreads();\n" +
         all.collect + indent + "}\n";
}

std::string emit_line(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                      const NameScope& scope, bool contract, const std::string& indent) {
  return LineWriter(graph, kernel, part, buffers, contract, scope, indent).write();
}

}  // namespace fusec
