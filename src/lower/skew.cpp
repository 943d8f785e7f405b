#include "lower/skew.h"

#include <algorithm>

#include "kernel/visit.h"

namespace fusec {

namespace {

constexpr int64_t kLeastVectors = 8;              // in a row
constexpr int64_t kMostElems = int64_t{1} << 30;  // places in a row are counted in 32 bits
constexpr int kPieceBytes = 8;                    // of fs_load_shifted

class Skewing {
 public:
  Skewing(const Graph& graph, Part& part, const Kernel& kernel, int width)
      : graph_(graph), part_(part), kernel_(kernel), width_(width), x_(part.sweep->dims.back()) {}

  bool possible() {
    const Sweep& sweep = *part_.sweep;
    if (sweep.dims.size() != 1 || !part_.space.extent(x_).is_constant()) return false;
    const int64_t elems = part_.space.extent(x_).value();
    if (elems < kLeastVectors * width_ || elems > kMostElems || !only_plain_nodes() || !only_plain_indices()) return false;
    if (!choose_start() || (!sweep.columns.empty() && !starts_evenly())) return false;
    const bool loads = std::all_of(part_.nodes.begin(), part_.nodes.end(), [&](const Node& n) {
      return n.kind != Node::kLoad || !along(n.index) || is_aligned(n.index) || can_be_shifted(n);
    });
    return loads &&
           std::all_of(part_.stores.begin(), part_.stores.end(), [&](const Store& s) { return !along(s.index) || is_aligned(s.index); });
  }

  void apply() {
    IndexSpace& space = part_.space;
    Sweep& sweep = *part_.sweep;
    Skew skew;
    skew.elems = space.extent(x_).value();
    skew.shift = space.remainder(start_, width_);
    auto within_vector = [&](int64_t n) { return (n % width_ + width_) % width_; };
    if (!sweep.columns.empty()) {
      skew.first = within_vector(start_.constant.value());
      skew.each = within_vector(start_.coefficient(part_.dims[0]).value());
    }
    const Index before = space.quotient(start_, width_) * Size(width_);
    for (Node& n : part_.nodes) {
      if (n.kind != Node::kLoad || !along(n.index)) continue;
      n.shifted = !is_aligned(n.index);
      n.reads_past_row = !n.shifted && is_whole(kernel_.buffers[n.buffer]);
    }
    part_.vector = width_;
    sweep.dims[0] = space.add_variable(space[x_].name + "v", (skew.elems + space.highest(skew.shift) + width_ - 1) / width_);
    part_.lane = space.add_variable("lane", width_);
    const Index at = space.variable(sweep.dims[0]) * Size(width_) + space.variable(part_.lane);
    for_each_index(part_, [&](Index& index) {
      if (!along(index)) return;
      if (is_aligned(index)) index = at + before + (row_of(index) - start_);
      else index = space.substitute(index, {{x_, at - skew.shift}});
    });
    sweep.skew = std::move(skew);
  }

 private:
  bool along(const Index& index) const { return part_.space.depends_on(index, x_); }
  Index row_of(const Index& index) const { return index - part_.space.variable(x_); }

  // Neighbours of a row's elements may be loaded and computed with, but nothing else happens to them.
  bool only_plain_nodes() const {
    const bool stores = std::none_of(part_.stores.begin(), part_.stores.end(), [](const Store& s) { return s.update || s.claim; });
    return stores && !part_.list && std::none_of(part_.nodes.begin(), part_.nodes.end(), [](const Node& n) {
             return n.kind == Node::kChecked || n.kind == Node::kItem || n.kind == Node::kListed || n.kind == Node::kSorted;
           });
  }

  bool only_plain_indices() const {
    bool plain = true;
    for_each_guard(part_, [&](const Index& g) { plain = plain && !along(g); });
    for_each_index(part_, [&](const Index& i) { plain = plain && !inside_atom(part_.space, i, x_) && !part_.space.reads_data(i); });
    for_each_access(part_, kernel_, [&](const Index& i, DType) { plain = plain && (!along(i) || i.coefficient(x_).is(1)); });
    return plain;
  }

  // Of the rows as most bytes lie.
  bool choose_start() {
    std::vector<std::pair<Index, int64_t>> starts;
    for_each_access(part_, kernel_, [&](const Index& index, DType dtype) {
      if (!along(index)) return;
      const Index row = row_of(index);
      const auto varies = [&](AtomId v) { return part_.space.depends_on(row, v); };
      auto at = std::find_if(starts.begin(), starts.end(), [&](const auto& s) { return s.first == row; });
      if (at == starts.end()) at = starts.insert(at, {row, 0});
      // What all rows share is read from memory once.
      at->second += std::any_of(part_.dims.begin(), part_.dims.end(), varies) ? int64_t{bytes_of(dtype)} << 16 : bytes_of(dtype);
    });
    const auto most = std::max_element(starts.begin(), starts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == starts.end() || !part_.space.is_nonnegative(most->first)) return false;
    start_ = most->first;
    return true;
  }

  // So many rows as a vector has elements further on, a row starts alike.
  bool starts_evenly() const {
    return part_.dims.size() == 1 && !inside_atom(part_.space, start_, part_.dims[0]) && start_.coefficient(part_.dims[0]).is_constant() &&
           start_.constant.is_constant();
  }

  // Its vectors are those of the rows that decide, a number of whole vectors away.
  bool is_aligned(const Index& index) const {
    if (!index.coefficient(x_).is(1)) return false;
    const Index row = row_of(index), after = row - start_;
    return part_.space.is_nonnegative(row) && part_.space.alignment(after, x_, width_) == width_;
  }

  // Its rows start where pieces do, and no thread writes what another reads of them.
  bool can_be_shifted(const Node& n) const {
    const int64_t piece = kPieceBytes / bytes_of(n.dtype);
    const Index row = row_of(n.index);
    return width_ % piece == 0 && is_only_read(kernel_.buffers[n.buffer]) && part_.space.is_nonnegative(row) &&
           part_.space.alignment(row, x_, piece) == piece;
  }

  // Not in place either: which outputs overwrite an input in this kernel is settled later.
  bool is_only_read(const Buffer& b) const {
    return !b.written && (b.arg.kind != KernelArg::kInput || std::none_of(graph_.outputs.begin(), graph_.outputs.end(),
                                                                          [&](const Output& o) { return o.alias == b.arg.index; }));
  }

  // Only read, and its elements make whole vectors.
  bool is_whole(const Buffer& b) const {
    if (b.arg.kind != KernelArg::kInput || !is_only_read(b)) return false;
    const Input& input = graph_.inputs[b.arg.index];
    const Size elems = element_count(graph_[input.value].shape);
    return !input.strides && elems.is_constant() && elems.value() % width_ == 0;
  }

  const Graph& graph_;
  Part& part_;
  const Kernel& kernel_;
  int width_;
  AtomId x_;  // the position in the row
  Index start_;
};

}  // namespace

bool skew_rows(const Graph& graph, Part& part, const Kernel& kernel, int width) {
  if (part.sweep->dims.empty()) return false;
  Skewing skewing(graph, part, kernel, width);
  if (!skewing.possible()) return false;
  skewing.apply();
  return true;
}

}  // namespace fusec
