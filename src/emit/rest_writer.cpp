#include "emit/rest_writer.h"

#include "emit/cuda.h"
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
    const std::string type = index_type(), each = scope_.take("each");
    const std::string threads = number(int64_t{kernel_.block} * part_.grid.elems.value());
    const std::string inner = size_text(*iterations(part_).exact_quotient(part_.space.extent(part_.dims[0])), graph_.symbols, wide());
    choose_copy();
    line("const " + type + " " + left_ + " = " + rest() + "[0];");
    line("const " + type + " " + each + " = fs_items_of_thread<" + number(part_.list->ahead) + ">(" + left_ + ", " + inner + ", " +
         threads + ");");
    open("for (" + type + " t = " + (wide() ? "(long long)" : "") + "blockIdx.x * " + number(kernel_.block) + " + threadIdx.x; t < (" +
         left_ + " + " + each + " - 1) / " + each + " * " + inner + "; t += " + threads + ") {");
    declare_dims(part_.dims, "t");
    line(type + " " + row_ + " = 0;");
    line((part_.lane.valid() ? "Vec<" + element() + ", " + number(part_.vector) + "> " : element() + " ") + sum_ +
         ";  // of updates of this row, where there were any");
    line("bool any = false;");
    const std::string first = part_.space[part_.dims[0]].name + " * " + each;
    open("for (" + type + " " + begin_ + " = " + first + "; " + begin_ + " < " + first + " + " + each + " && " + begin_ + " < " + left_ +
         "; " + begin_ + " += " + number(part_.list->ahead) + ") {");
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
    line(element() + " *" + copy_ + " = " + buffers_[store_.buffer.index] + " + blockIdx.x % " + number(part_.list->copies) + " * " +
         number(part_.list->elems) + (part_.list->elems > INT32_MAX / 8 ? "LL;" : ";"));
  }

  void write_items() {
    auto all = [](size_t) { return true; };
    write_loads(false, all, {});
    write_scope({false, all, {}, {}});
    const std::string listed = scope_.take("listed");
    line("const " + items_type() + " " + listed + " = " + next_items(rest() + " + " + number(List::kRestBegin) + " + " + begin_) + ";");
    write_item_loads(listed, begin_ + " + u < " + left_);
    keep_loads();
    open_each_item();
    line("if (" + begin_ + " + u >= " + left_ + ") break;");
    open("if (!any || " + row_ + " != " + ref(part_.list->row) + ") {");
    flush();
    line(row_ + " = " + ref(part_.list->row) + ";");
    clear();
    line("any = true;");
    close();
    write_scope({true, all, {}, {sum_of_lane() + " = " + sum_text(dtype(), sum_of_lane(), ref(store_.value)) + ";"}});
    close();
  }

  // Compilers would move a load to where its value is used, behind the conditions, and none would be in flight with another.
  void keep_loads() {
    std::string kept;
    for (size_t i = 0; i < part_.nodes.size(); ++i)
      if (part_.nodes[NodeId(i)].kind == Node::kLoad && in_u_[i]) kept += " fs_keep(" + names_[i] + "[u]);";
    if (kept.empty()) return;
    line("#pragma unroll");
    line("for (int u = 0; u < " + number(part_.list->ahead) + "; ++u) {" + kept + " }");
  }

  DType dtype() const { return kernel_.buffers[store_.buffer].dtype; }
  std::string element() const { return storage_type(dtype()); }
  std::string sum_of_lane() const { return sum_ + (part_.lane.valid() ? ".at[lane]" : ""); }

  void clear() {
    if (part_.lane.valid()) {
      line("#pragma unroll");
      line("for (int lane = 0; lane < " + number(part_.vector) + "; ++lane) " + sum_of_lane() + " = " + no_sum(dtype()) + ";");
    } else {
      line(sum_ + " = " + no_sum(dtype()) + ";");
    }
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
