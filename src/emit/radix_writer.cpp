#include "emit/radix_writer.h"

#include <map>

#include "emit/cuda.h"
#include "emit/expression.h"
#include "emit/node_writer.h"
#include "kernel/visit.h"

namespace fusec {

namespace {

// The largest bits of a float that is no NaN.
const char* infinity_bits(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
      return "0x7eu";
    case DType::kF8E5M2:
      return "0x7cu";
    case DType::kF16:
      return "0x7c00u";
    case DType::kBF16:
      return "0x7f80u";
    case DType::kF32:
      return "0x7f800000u";
    default:
      return "0x7ff0000000000000ull";
  }
}

class RadixWriter : NodeWriter {
 public:
  RadixWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names, bool contract,
              NameScope scope, std::string indent)
      : NodeWriter(graph, kernel, part, buffer_names, contract, std::move(scope), std::move(indent)),
        line_(*part.line),
        radix_(*line_.radix),
        op_(graph[line_.op]),
        attrs_(graph.attrs(op_)),
        dtype_(graph[op_.in[0].value].dtype) {
    in_u_.assign(part.nodes.size(), false);
    in_lane_.assign(part.nodes.size(), false);
    prepare();
    for (const char* name : {"ticket", "taken", "turn", "tile",  "tally", "done",  "flags",     "load",      "staged",    "ordered",  "now",
                             "digit",  "key",   "from", "place", "left",  "tiles", "next_keys", "next_from", "last_keys", "last_from"})
      names_of_[name] = scope_.take(name);
  }

  std::string write() {
    write_start();
    write_functions();
    write_first_turn();
    write_loads_of_turn();
    line("fs_sort_tile<" + block() + ", " + items() + ", " + number(radix_.ahead) + ">(" + at("key") + ", " + at("from") + ", " +
         at("place") + ", " + at("staged") + ", " + at("tally") + " + " + at("now") + ".digit * 256, " + at("flags") + ", " + at("tile") +
         ", " + at("left") + ", " + at("digit") + ");");
    if (radix_.digits > 1) write_stores_between();
    write_results();
    return std::move(out_);
  }

 private:
  const std::string& at(const char* name) const { return names_of_.at(name); }
  std::string block() const { return number(kernel_.block); }
  std::string items() const { return number(radix_.items); }
  std::string tile_keys() const { return number(int64_t{kernel_.block} * radix_.items); }
  std::string tiles() const { return number(radix_.tiles); }
  std::string extent() const { return number(line_.extent.value()); }
  const char* bits() const { return bytes_of(dtype_) == 8 ? "unsigned long long" : "unsigned"; }
  const char* storage() const { return storage_type(dtype_); }
  std::string buffer(BufferId id) const { return buffers_[id.index]; }

  // Which tile of which row, and in which turn.
  void write_start() {
    line("// " + op_comment(graph_, line_.op) + ": " + tiles() + " tiles of a row, in turns: all digits are counted, then the keys go in");
    line("// the order of one after the other of those in which they differ.");
    line("__shared__ unsigned " + at("staged") + "[" + tile_keys() + (bytes_of(dtype_) == 8 ? " * 2" : "") + "];");
    line("const int " + at("tiles") + " = (int)(" + size_text(iterations(part_) * Size(radix_.tiles), graph_.symbols, false) + ");");
    open("for (int " + at("taken") + " = 0; " + at("taken") + " <= " + number(radix_.digits) + "; ++" + at("taken") + ") {");
    line("const int " + at("ticket") + " = fs_take_ticket(" + buffer(radix_.state) + ");");
    line("const int " + at("turn") + " = " + at("ticket") + " / " + at("tiles") + ", " + at("tile") + " = " + at("ticket") + " % " +
         tiles() + ";");
    line("const " + std::string(index_type()) + " t = " + at("ticket") + " % " + at("tiles") + " / " + tiles() + ";");
    declare_dims(part_.dims, "t");
    line("int *const " + at("tally") + " = " + buffer(radix_.state) + " + 1 + " + long_product("t", radix_.state_words()) + ";");
    line("int *const " + at("done") + " = " + at("tally") + " + " + number(radix_.digits * 256) + ";");
    line("int *const " + at("flags") + " = " + buffer(radix_.flags) + " + (" + at("turn") + " % 2 * (long long)" + at("tiles") + " + " +
         long_product("t", radix_.tiles) + ") * 256;");
    line("const int " + at("left") + " = " + extent() + " - " + at("tile") + " * " + tile_keys() + ";");
  }

  static std::string long_product(const std::string& a, int64_t b) { return "(long long)" + a + " * " + number(b); }

  void declare_position(const std::string& p) {
    line("const " + std::string(index_type()) + " " + part_.space[line_.position].name + " = " + p + ";");
  }

  // The operand at a position, as bits, and these as a number in the order wanted.
  void write_functions() {
    open("auto " + at("load") + " = [&](int p) {");
    declare_position("p");
    write_needed({line_.operand}, {}, {"return fs_raw<" + std::string(bits()) + ">((" + storage() + ")" + ref(line_.operand) + ");"});
    close_function();
    const std::string n = number(8 * bytes_of(dtype_));
    std::string value = is_float(dtype_) ? "fs_ordered_float<" + n + ">(bits, " + infinity_bits(dtype_) + ")"
                        : dtype_ == DType::kBool || dtype_ == DType::kU8 ? "bits"
                                                                         : "fs_ordered_integer<" + n + ">(bits)";
    if (op_.kind == OpKind::kTopk ? attrs_.largest : attrs_.descending) value = "~" + value;
    line("auto " + at("ordered") + " = [](" + bits() + " bits) { return " + value + "; };");
  }

  void write_first_turn() {
    open("if (" + at("turn") + " == 0) {");
    line("fs_tally_digits<" + number(radix_.digits) + ", " + block() + ", " + items() + ">(" + at("tally") + ", " + at("staged") + ", " +
         at("tile") + " * " + tile_keys() + ", " + extent() + ", [&](int p) { return " + at("ordered") + "(" + at("load") + "(p)); });");
    write_clear_flags();
    line("fs_finish_tile(" + at("done") + ");");
    line("continue;");
    close();
    line("fs_await_tiles(" + at("done") + ", " + tiles() + ");");
    line("const fs_Turn " + at("now") + " = fs_find_turn<" + number(radix_.digits) + ">(" + at("tally") + ", " + at("turn") + " - 1, " +
         extent() + ");");
    line("if (" + at("now") + ".digit < 0) " + (iterations(part_).is(1) ? "return;" : "continue;") + "  // no digit is left");
    line("auto " + at("digit") + " = [&](" + bits() + " bits) { return (int)(" + at("ordered") + "(bits) >> 8 * " + at("now") +
         ".digit) & 255; };");
  }

  // The tile's flags of the turn after this one.
  void write_clear_flags() {
    line("if (threadIdx.x < 256) " + at("flags") + "[(" + at("turn") + " % 2 == 0 ? 256LL : -256LL) * " + at("tiles") + " + " + at("tile") +
         " * 256 + (int)threadIdx.x] = 0;");
  }

  void write_loads_of_turn() {
    line(std::string(bits()) + " " + at("key") + "[" + items() + "];");
    line("int " + at("from") + "[" + items() + "], " + at("place") + "[" + items() + "];");
    const std::string first =
        at("tile") + " * " + tile_keys() + " + threadIdx.x / 32 * " + number(32 * radix_.items) + " + threadIdx.x % 32";
    const std::string loop = "for (int k = 0; k < " + items() + "; ++k) {";
    const bool several = radix_.digits > 1;
    if (several) open("if (" + at("turn") + " == 1) {");
    line("#pragma unroll");
    open(loop);
    line("const int p = " + first + " + 32 * k;");
    line(at("from") + "[k] = p;");
    line(at("key") + "[k] = p < " + extent() + " ? " + at("load") + "(p) : 0;");
    close();
    if (!several) return;
    indent_.resize(indent_.size() - 2);
    open("} else {");
    line("fs_await_tiles(" + at("done") + " + " + at("turn") + " - 1, " + tiles() + ");");
    declare_buffers("last_keys", "last_from", "const ", at("turn") + " % 2 == 0");
    line("#pragma unroll");
    open(loop);
    line("const int p = " + first + " + 32 * k;");
    line(at("from") + "[k] = p < " + extent() + " ? " + at("last_from") + "[p] : 0;");
    line(at("key") + "[k] = p < " + extent() + " ? fs_raw<" + bits() + ">(" + at("last_keys") + "[p]) : 0;");
    close();
    close();
  }

  // The row in the buffers between turns: the first ones where `first` holds.
  void declare_buffers(const char* keys, const char* from, const std::string& constness, const std::string& first) {
    auto declare = [&](const char* name, const std::string& type, const BufferId buffers[2]) {
      const std::string chosen =
          buffers[1].valid() ? "(" + first + " ? " + buffer(buffers[0]) + " : " + buffer(buffers[1]) + ")" : buffer(buffers[0]);
      line(constness + type + " *const " + at(name) + " = " + chosen + " + " + long_product("t", line_.extent.value()) + ";");
    };
    declare(keys, storage(), radix_.keys);
    declare(from, "int", radix_.from);
  }

  void write_stores_between() {
    open("if (!" + at("now") + ".last) {");
    declare_buffers("next_keys", "next_from", "", at("turn") + " % 2 == 1");
    line("#pragma unroll");
    open("for (int k = 0; k < " + items() + "; ++k) {");
    line("if (k * " + block() + " + (int)threadIdx.x >= " + at("left") + ") break;");
    line(at("next_keys") + "[" + at("place") + "[k]] = fs_value<" + storage() + ">(" + at("key") + "[k]);");
    line(at("next_from") + "[" + at("place") + "[k]] = " + at("from") + "[k];");
    close();
    write_clear_flags();
    line("fs_finish_tile(" + at("done") + " + " + at("turn") + ");");
    line("continue;");
    close();
  }

  void write_results() {
    const bool topk = op_.kind == OpKind::kTopk;
    line("#pragma unroll");
    open("for (int k = 0; k < " + items() + "; ++k) {");
    line("if (k * " + block() + " + (int)threadIdx.x >= " + at("left") + ") break;");
    if (topk) line("if (" + at("place") + "[k] >= " + size_text(attrs_.k, graph_.symbols, true) + ") continue;");
    sorted_texts_[0] = dtype_ == DType::kBool ? at("key") + "[k] != 0" : "fs_value<" + std::string(storage()) + ">(" + at("key") + "[k])";
    sorted_texts_[1] = "(long long)" + at("from") + "[k]";
    if (op_.kind == OpKind::kArgsort) sorted_texts_[0] = sorted_texts_[1];
    declare_position(at("place") + "[k]");
    write_stores();
    close();
    close();
  }

  void close_function() {
    indent_.resize(indent_.size() - 2);
    line("};");
  }

  const Line& line_;
  const Radix& radix_;
  const Op& op_;
  const Attrs& attrs_;
  DType dtype_;
  std::map<std::string, std::string> names_of_;
};

}  // namespace

std::string emit_radix(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                       const NameScope& scope, bool contract, const std::string& indent) {
  return RadixWriter(graph, kernel, part, buffers, contract, scope, indent).write();
}

}  // namespace fusec
