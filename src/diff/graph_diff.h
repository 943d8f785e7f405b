// What differs between two graphs, op by op, in the words of the format.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "diff/match.h"

namespace fusec {

// An op, input or output as a person finds it.
struct Spot {
  std::string name;
  std::string op;     // its kind; "" for inputs and outputs, and where only a report is known
  std::string type;   // "bf16[64,N]", of each result
  uint32_t line = 0;  // in the graph file; 0: not known
};

// One thing that differs: what ("op", "attribute", "operand", "operands", "dtype", "shape", …), which one, and both texts ("" for none).
struct Change {
  std::string what, name, a, b;
};

struct ChangedSpot {
  Spot a, b;
  std::vector<Change> changes;
};

struct GraphDiff {
  bool by_name = false;  // one side is a report, which has names only
  size_t ops_a = 0, ops_b = 0, matched = 0;
  size_t common = 0;  // matched ops that show that the graphs are versions of one: those of one kind, as a rule
  std::vector<Spot> removed, added;
  std::vector<ChangedSpot> changed;
  std::vector<ChangedSpot> follow;  // ops that say the same, whose dtypes or shapes follow from the changes
  std::vector<Spot> inputs_removed, inputs_added, outputs_removed, outputs_added;
  std::vector<ChangedSpot> inputs_changed, outputs_changed;
  std::vector<ChangedSpot> sizes_changed;                    // dims that stay run-time sizes
  bool inputs_reordered = false, outputs_reordered = false;  // no difference, but another order of the launcher's parameters

  std::unordered_map<std::string, std::string> partner;  // value of A → value of B

  // Differences, without what follows from them.
  size_t count() const;
  bool same() const { return count() == 0; }
};

// `source_*`: the texts that the graphs' places refer to; null where there is none.
GraphDiff diff_graphs(const Graph& a, const SourceText* source_a, const Graph& b, const SourceText* source_b);

}  // namespace fusec
