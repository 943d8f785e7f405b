// The statements of a part's nodes and stores, for the writers of its schedules.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "emit/names.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

namespace fusec {

// "T4 = add(T2, T3)"
std::string op_comment(const Graph& graph, OpId op);

// The function of the prelude that updates an element.
const char* update_function(const Store& store);
// The function of the prelude that makes one update of two.
const char* join_function(Accumulate how);
// The same as update_function in shared memory, where a look before is cheap.
const char* shared_update_function(Accumulate how);

// Nodes fall in four classes by what they depend on: the repetition (u), the lane, both, or neither.
class NodeWriter {
 protected:
  NodeWriter(const Graph& graph, const Kernel& kernel, const Part& part, const std::vector<std::string>& buffer_names, bool contract,
             NameScope scope, std::string indent);
  ~NodeWriter() = default;
  // Sets in_u_ by what depends on the part's serial variable (on any, where it has none), and in_lane_.
  void classify();
  // To be called when in_u_ and in_lane_ are set, before any text is asked for.
  void prepare();

  // Nodes, but loads, that do (in_u) or do not depend on the repetition, with what is to be done with them.
  struct Scope {
    bool in_u = false;
    std::function<bool(size_t)> wanted;
    std::vector<const Store*> stores;
    std::vector<std::string> statements;   // for every lane, after the nodes
    std::vector<std::string> after_lanes;  // for all lanes at once
  };

  bool wide() const { return part_.wide_index; }
  const char* index_type() const { return wide() ? "long long" : "unsigned"; }
  bool strided_repeat() const { return repeats_ && !part_.serial.valid(); }
  void line(const std::string& text) { out_ += indent_ + text + "\n"; }
  void open(const std::string& text);
  void close(const std::string& after = "");
  // The digits of a number, row-major, as the variables `dims`.
  void declare_dims(const std::vector<AtomId>& dims, const std::string& from);
  // "x_in + i0 * 128 + 64". A difference is computed as an index first: unsigned, it must not meet the wider pointer half done.
  std::string address(BufferId buffer, const Index& index) const;
  void mark_used();
  void name_nodes();
  // Computed for all lanes before the repetition that needs it.
  bool is_array(size_t i) const {
    return !early_[i] && in_lane_[i] && !in_u_[i] && used_later_[i] && (is_statement(i) || part_.nodes[NodeId(i)].kind == Node::kReduce);
  }
  std::string ref(NodeId id) const;
  std::string load_ref(NodeId id) const;
  // What was loaded for all lanes.
  std::string vector_ref(NodeId id) const;
  // Elements that one instruction may move: the lanes lie next to each other and the first is aligned to this many.
  int access_width(const Index& index, const std::vector<Index>& guard) const;
  int access_width(const Store& store) const;
  bool is_streamed(BufferId buffer, int width, int elems) const;
  // "x_out[i0] = v;", or the update that it is.
  virtual std::string element_store(const Store& store) const;
  virtual std::string vector_store(const Store& store, const std::string& vector) const;
  Index without_lane(const Index& index) const;
  // Rows whose first and last vectors have lanes outside them.
  bool skewed() const { return part_.sweep && part_.sweep->skew; }
  std::string all_lanes() const { return std::to_string((int64_t{1} << part_.vector) - 1); }
  std::string skewed_load(const Node& n) const;
  std::string whole_load(const Node& n, int width) const;
  static std::string zero(DType dtype);
  // What leaves every sum as it is, -0 too.
  static std::string no_sum(DType dtype);
  // a + b; integers wrap.
  static std::string sum_text(DType dtype, const std::string& a, const std::string& b) {
    return is_float(dtype) ? a + " + " + b : "fs_join_add(" + a + ", " + b + ")";
  }
  // "Vec<__nv_bfloat16, 8>"
  std::string vector_type(size_t i) const;
  void write_load(NodeId id);
  std::string widened_lane(const Node& n) const;
  std::string value_text(const Node& n);
  // sin and cos of one f32 value share their range reduction.
  void pair_sines();
  void write_value(NodeId id);
  bool store_in_u(const Store& s) const;
  // That of a buffer which has one.
  const BulkStore& bulk_store(BufferId buffer) const;
  std::string stored_value(const Store& s) const;
  void write_scalar_store(const Store& s);
  std::string store_guard(const Store& s) const;
  bool is_statement(size_t i) const;
  // Loads at level n wait for indices that loads at lower levels bring.
  void find_levels();
  bool is_early(size_t i) const { return early_[i]; }
  const char* type_of(size_t i) const;
  // Loads, and what they wait for, level by level, of the nodes that are wanted; `repeat` opens the repetition where in_u.
  // `write` stands in for write_load.
  void write_loads(bool in_u, const std::function<bool(size_t)>& wanted, const std::function<void()>& repeat,
                   const std::function<void(NodeId)>& write = {});
  void write_early(int level, bool in_u, const std::function<bool(size_t)>& wanted);
  void declare_repeated(size_t i);
  // A vector of so many items of a list as are taken at once.
  std::string items_type() const { return "Vec<int, " + std::to_string(part_.list->ahead) + ">"; }
  std::string next_items(const std::string& from) const;
  // Declares the items of such a vector, of which number u `exists` (in place of others the first), and loads what they need: without a
  // condition, so that all loads are in flight together.
  void write_item_loads(const std::string& listed, const std::string& exists);
  void open_each_item();
  void write_scope(const Scope& scope);
  // What the roots need at a position that is declared, in a part that repeats and vectorises nothing; then the stores and statements.
  void write_needed(const std::vector<NodeId>& roots, const std::vector<const Store*>& stores, std::vector<std::string> statements);
  // The same for the part's stores.
  void write_stores();
  void write_lanes(const Scope& scope, const std::vector<const Store*>& stores);

  const Graph& graph_;
  const Kernel& kernel_;
  Part part_;  // with names for the data in its indices
  const std::vector<std::string>& buffers_;
  bool contract_;
  NameScope scope_;
  std::string indent_, out_;
  bool repeats_ = false;
  std::vector<bool> in_u_, in_lane_, used_later_;
  std::vector<std::string> names_;
  std::string list_sum_;                           // of the lane
  std::string sorted_texts_[2];                    // of the results of a sort, at the position
  std::string store_condition_;                    // of every store
  static constexpr double kBoundedAngle = 131072;  // of fs_quarter_turns
  std::vector<double> bounds_;
  std::vector<NodeId> sine_partner_;  // of a sine the cosine of the same value, and the reverse
  std::map<uint32_t, const Tile::Staged*> staged_;
  std::set<uint32_t> written_;
  std::vector<bool> early_;  // an index that a load waits for, or part of one
  std::vector<int> level_;
  int levels_ = 0;
  // f32 values by which much is divided, and whether coarsely: the name of what fs_divide takes, or of an fs_Divisor.
  std::map<std::pair<NodeId, bool>, std::string> divisors_;
  std::set<uint32_t> kept_;  // in the repetition, declared before it: [u], [u][lane]
};

}  // namespace fusec
