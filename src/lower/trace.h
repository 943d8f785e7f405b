// A segment's values as expressions over an iteration space: every view becomes index arithmetic on the loads below it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernel/kernel.h"

namespace fusec {

// Where a value that the segment does not compute lies in memory: its buffer, and its strides in elements.
struct Place {
  BufferId buffer;
  std::vector<Size> strides;
  bool scalar = false;  // a by-value parameter
};

// Where an index out of range is recorded, and under which number; no buffer when indices are not checked.
struct CheckPlace {
  BufferId record;
  uint32_t number = 0;
};

// Updates by lists: how many each row has, its slots, the updates that found none, and their sums, a row's elements side by side.
struct ListPlace {
  BufferId counts, places, rest, sums;
  int slots = 4, ahead = 4;
  int copies = 1;  // of the sums
  int apart = 1;   // words from one count to the next
};

// States of results that a kernel left in parts: part k's stand (first + k · each) mod `vector` elements after k · `stride`.
struct PartLayout {
  Size parts, stride;
  int64_t first = 0, each = 0;
  int vector = 1;
};

// Reductions inside a trace: their results belong to rows, their operands to the positions of a row.
struct RowTrace {
  // Variables that tell positions of a row apart. A result at an index that depends on one of them is of another row: `refused`.
  std::vector<AtomId> positions;
  // The operand's index along each reduced dim, given their extents; none when these are not the row's positions.
  std::function<std::optional<std::vector<Index>>(const Shape& extents)> position_of;
  // Reductions whose operand was reduced before.
  struct Parts {
    BufferId buffer;
    DType dtype = DType::kF32;
    PartLayout layout;
  };
  std::map<OpId, Parts> reduced_before;
  bool known_means = false;  // variances by a second sweep over Σ (x − mean)²; else in one sweep
  OpId refused;
  std::vector<std::vector<Index>> rows;  // indices at which results were asked for
};

class Tracer {
 public:
  // `computed`: per value, whether this segment computes it. `place`: asked for each value that it reads.
  // `check`: asked for each op that reads indices. `rows`: how reductions are met, none being expected without it; `list`: how
  // scatters are.
  Tracer(const Graph& graph, const IdVec<ValueId, bool>& computed, std::function<Place(ValueId)> place,
         std::function<CheckPlace(OpId)> check, Part& part, RowTrace* rows = nullptr, std::function<ListPlace(OpId)> list = {})
      : graph_(graph),
        computed_(computed),
        place_(std::move(place)),
        check_(std::move(check)),
        part_(part),
        rows_(rows),
        list_(std::move(list)) {}

  // The node for `value` at `indices` (one per dimension of its shape).
  NodeId value_at(ValueId value, std::vector<Index> indices);
  NodeId literal(const Literal& literal, DType dtype) { return constant(literal, dtype).node; }
  // The element of `op`'s index operand at `indices`, as an index of a dimension of size `extent`; `guard` is what holds where it is one.
  Index index_at(OpId op, ValueId index, std::vector<Index> indices, const Size& extent, std::vector<Index>& guard);
  // Position with the dimension `dim` outermost.
  Index in_rows(std::vector<Index> indices, const Shape& shape, size_t dim);
  // An update that a list names, as an index of `extent` updates.
  Index listed(OpId op, const Size& extent, int ahead);
  // Position in row-major order.
  Index linear(const std::vector<Index>& indices, const Shape& shape);

 private:
  struct Request {
    ValueId value;
    uint32_t tuple = 0, guard = 0;
    bool mean = false;  // of a variance: its mean, in the accumulating type
    auto operator<=>(const Request&) const = default;
  };
  struct Operand {  // of a node under construction: another request, or a node that is there already
    bool ready = false;
    Request request;
    NodeId node;
  };
  // What it takes to build one node: operands, and how to combine them.
  struct Recipe {
    std::vector<Operand> operands;
    Node node;
    bool forward = false;               // the node is the last operand itself (views)
    std::function<void(Recipe&)> then;  // asks for more operands when the first ones are there
    // cat and stack: operand k where idx < its end, tested in order; guards[k] for all but the last
    std::vector<std::vector<Index>> select_guards;
    std::optional<Accumulator> accumulator;  // reductions: operand 0 is what it takes, operand 1 a known mean
  };

  Recipe recipe(const Request& request);
  void recipe_view(const Op& op, const Request& request, Recipe& out);
  void recipe_cat(const Op& op, const Request& request, Recipe& out);
  void recipe_pad(const Op& op, const Request& request, Recipe& out);
  void recipe_gather(OpId id, const Request& request, Recipe& out);
  Index checked(OpId op, ValueId index_value, NodeId value, const Index& position, const Size& extent, uint32_t guard,
                std::vector<Index>& more);
  void recipe_listed(OpId id, const Request& request, Recipe& out);
  void recipe_reduction(OpId id, const Request& request, Recipe& out);
  NodeId finish_reduction(Recipe& recipe);
  Recipe load(const Request& request);
  NodeId finish(Recipe recipe);

  Operand ask(ValueId value, std::vector<Index> indices, uint32_t guard);
  Operand constant(const Literal& literal, DType dtype);
  std::vector<Index> broadcast(const std::vector<Index>& indices, const Shape& from, const Shape& to) const;
  std::vector<Index> reshape(const std::vector<Index>& indices, const Shape& from, const Shape& to);
  uint32_t intern(std::vector<Index> list);
  uint32_t with_guards(uint32_t guard, const std::vector<Index>& more);
  NodeId intern(Node node);

  const Graph& graph_;
  const IdVec<ValueId, bool>& computed_;
  std::function<Place(ValueId)> place_;
  std::function<CheckPlace(OpId)> check_;
  Part& part_;
  RowTrace* rows_;
  std::function<ListPlace(OpId)> list_;
  std::vector<std::vector<Index>> lists_{{}};  // interned index tuples and guard lists; 0 is the empty one
  std::unordered_map<size_t, std::vector<uint32_t>> list_buckets_;
  std::map<Request, NodeId> done_;
  std::unordered_map<size_t, std::vector<NodeId>> node_buckets_;
};

}  // namespace fusec
