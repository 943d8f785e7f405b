// What a graph looks like without its names: hashes of its ops in which neither names nor the order of the op list take part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace fusec {

using Hash = uint64_t;
// Both arguments count, and their order.
Hash mix(Hash a, Hash b);

// An operand of an op that reads a value.
struct Use {
  OpId op;
  uint32_t operand = 0;
};

class Structure {
 public:
  // `symbol_labels`: what stands for each symbol that is no derived one, in place of its name.
  Structure(const Graph& graph, const std::vector<Hash>& symbol_labels);

  const Graph& graph;

  // Kind, attributes, literals, and which results there are: all that the op itself says. Dtypes and shapes that follow from operands
  // take no part.
  Hash local(OpId op) const { return local_[op]; }
  // Dtype and shape.
  Hash type(ValueId v) const;
  Hash of(const Size& size) const;
  std::span<const Use> uses(ValueId v) const { return {uses_.data() + uses_at_[v.index], uses_.data() + uses_at_[v.index + 1]}; }
  // Positions in Graph::outputs.
  std::span<const uint32_t> outputs(ValueId v) const {
    return {outputs_.data() + outputs_at_[v.index], outputs_.data() + outputs_at_[v.index + 1]};
  }

 private:
  Hash of(const Attrs& attrs) const;
  Hash of_op(OpId op) const;
  void index_uses();

  std::vector<Hash> symbols_;
  IdVec<OpId, Hash> local_;
  std::vector<Use> uses_;
  std::vector<uint32_t> outputs_, uses_at_, outputs_at_;
};

// A hash of every op and value.
struct Hashes {
  IdVec<OpId, Hash> op;
  IdVec<ValueId, Hash> value;
};

// What is computed: equal hashes mean the same ops on the same inputs. One label an input.
Hashes from_inputs(const Structure& s, const std::vector<Hash>& input_labels);
// What becomes of a value: equal hashes mean that the same ops read it, and are read by the same, down to the outputs. One label an
// output. With `also`, ops take part with that hash instead of their own saying.
Hashes from_outputs(const Structure& s, const std::vector<Hash>& output_labels, const Hashes* also = nullptr);
// The surroundings of ops and values, `radius` steps along operands and uses.
Hashes surroundings(const Structure& s, int radius);

// Labels for the symbols of two graphs: by name where both have the same names, else by what they promise, in order.
struct SymbolLabels {
  std::vector<Hash> a, b;
};
SymbolLabels label_symbols(const Symbols& a, const Symbols& b);

}  // namespace fusec
