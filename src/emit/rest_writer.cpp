#include "emit/rest_writer.h"

#include "emit/expression.h"
#include "emit/node_writer.h"
#include "kernel/visit.h"

namespace fusec {

namespace {

class RestWriter : NodeWriter {
 public:
  RestWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names, bool contract,
             NameScope scope, std::string indent)
      : NodeWriter(graph, kernel, part, buffer_names, contract, std::move(scope), std::move(indent)), store_(part_.stores[0]) {
    repeats_ = true;
    classify();
    prepare();
    for (size_t i = 0; i < in_u_.size(); ++i) used_later_[i] = used_later_[i] || !in_u_[i];
    row_ = scope_.take("row"), sum_ = scope_.take("sum"), left_ = scope_.take("left"), begin_ = scope_.take("begin");
    for (size_t i = 0; i < part_.space.size(); ++i)  // (the store alone is at this index)
      if (const Atom& a = part_.space[AtomId(i)]; a.kind == Atom::kData && a.node == part_.list->row) part_.space.set_name(AtomId(i), row_);
  }

  std::string write() {
    const std::string type = index_type(), each = number(List::kRest);
    const Size inner = *iterations(part_).exact_quotient(part_.space.extent(part_.dims[0]));
    choose_copy();
    line("const " + type + " " + left_ + " = " + rest() + "[0];");
    open("for (" + type + " t = " + (wide() ? "(long long)" : "") + "blockIdx.x * " + number(kernel_.block) + " + threadIdx.x; t < (" +
         left_ + " + " + number(List::kRest - 1) + ") / " + each + " * " + size_text(inner, graph_.symbols, wide()) +
         "; t += " + number(int64_t{kernel_.block} * part_.grid.elems.value()) + ") {");
    declare_dims(part_.dims, "t");
    line(type + " " + row_ + " = 0;");
    line((part_.lane.valid() ? "Vec<float, " + number(part_.vector) + "> " : "float ") + sum_ +
         ";  // of updates of this row, where there were any");
    line("bool any = false;");
    const std::string first = part_.space[part_.dims[0]].name + " * " + each;
    open("for (" + type + " " + begin_ + " = " + first + "; " + begin_ + " < " + first + " + " + each + "; " + begin_ +
         " += " + number(part_.list->ahead) + ") {");
    write_items();
    close();
    flush();
    close();
    return std::move(out_);
  }

 private:
  std::string rest() const { return buffers_[part_.list->rest.index]; }

  // Blocks add to different copies of the sums.
  void choose_copy() {
    if (part_.list->copies == 1) return;
    copy_ = scope_.take("copy");
    line("float *" + copy_ + " = " + buffers_[store_.buffer.index] + " + blockIdx.x % " + number(part_.list->copies) + " * " +
         number(part_.list->elems) + (part_.list->elems > INT32_MAX / 8 ? "LL;" : ";"));
  }

  void write_items() {
    auto all = [](size_t) { return true; };
    write_loads(false, all, {});
    write_scope({false, all, {}, {}});
    write_item_loads(begin_, left_, rest() + "[1");
    open_items();
    open("if (!any || " + row_ + " != " + ref(part_.list->row) + ") {");
    flush();
    line(row_ + " = " + ref(part_.list->row) + ";");
    clear();
    line("any = true;");
    close();
    write_scope({true, all, {}, {sum_ + (part_.lane.valid() ? ".at[lane]" : "") + " += " + ref(store_.value) + ";"}});
    close();
  }

  void clear() {
    if (!part_.lane.valid()) return line(sum_ + " = -0.0f;");
    line("#pragma unroll");
    line("for (int lane = 0; lane < " + number(part_.vector) + "; ++lane) " + sum_ + ".at[lane] = -0.0f;");
  }

  std::string target(const Index& index) const {
    return copy_.empty() ? address(store_.buffer, index) : copy_ + " + (" + index_text(part_.space, index, wide()) + ")";
  }

  void flush() {
    if (!part_.lane.valid()) return line("if (any) fs_atomic_add(" + target(store_.index) + ", " + sum_ + ");");
    const int width = std::max(1, access_width(store_.index, {}));
    line("if (any) fs_atomic_add_all<" + number(width) + ">(" + target(without_lane(store_.index)) + ", " + sum_ + ");");
  }

  const Store& store_;
  std::string row_, sum_, left_, begin_, copy_;
};

}  // namespace

std::string emit_rest(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffers,
                      const NameScope& scope, bool contract, const std::string& indent) {
  return RestWriter(graph, kernel, part, buffers, contract, scope, indent).write();
}

}  // namespace fusec
