// "Why?": which ops share a kernel, which do not, and what each alternative would cost. Gathered here, spelled by explain_text.cpp and
// explain_json.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/compile.h"

namespace fusec {

// Of a whole segmentation; estimates of the cost model.
struct SegmentationTotals {
  size_t segments = 0, recomputed_ops = 0;
  int64_t bytes = 0, lower_bound_bytes = 0, edge_bytes = 0;
  std::vector<std::string> wide_edges;
  double us = 0;
};

struct SegmentStory {
  std::string kind;
  std::vector<std::string> ops, recomputed, inputs, outputs;
  int64_t bytes_read = 0, bytes_written = 0;
  double us = 0;
  // Values that would be stored if each op were a kernel of its own; views and constants are not among them.
  std::vector<std::string> kept_on_chip;
  int64_t kept_bytes = 0;
};

// A value that crosses segments.
struct CutStory {
  std::string value, type;
  int64_t bytes = 0;
  uint32_t from = 0;
  std::vector<uint32_t> to;
  bool wide = false;
  std::string rule, why;
};

struct GroupStory {
  std::vector<std::string> ops, reads, leaves;  // members; narrow values that enter; values that go on or out
  std::string wide_type;
  uint32_t segment = 0;
  bool whole = true;
  std::string rule, why;        // when cut
  int64_t kept_bytes = 0;       // of wide values that never reach memory
  std::vector<uint32_t> again;  // segments that make members again
};

// Ops that a segment makes again, beside reading from memory what the first of them needs.
struct RemakeStory {
  uint32_t segment = 0;
  std::vector<std::string> ops, instead_of;  // the values that would have to be stored and read
  int64_t bytes = 0, stored_bytes = 0;       // moved: as it is, and if they were stored
  double us = 0, stored_us = 0;
  std::string must;  // why storing is no choice, or ""
};

struct NeighbourStory {
  std::string value, type;
  bool producer = false;  // else a consumer
  enum Where : uint8_t { kHere, kAgain, kMemory, kInput } where = kHere;
  uint32_t segment = 0;
  std::string rule, why;  // for kMemory
};

struct ValueStory {
  std::string name, standing_for;  // as asked; the op that stands for it, when that is another
  std::string note;                // what became of the op as written, or ""
  bool is_op = true;               // else an input of the graph, or gone
  std::string op, type;
  std::vector<std::string> expanded;  // the ops that a composite became
  uint32_t segment = 0;
  std::vector<uint32_t> again;
  bool stored = false, is_output = false;
  int64_t bytes = 0;
  std::optional<uint32_t> group;
  std::string no_group;
  std::vector<NeighbourStory> neighbours;
};

// The answer to one --what-if, or to "why are these two together or apart".
struct WhatIfStory {
  std::string text;    // as asked
  bool merge = true;   // else a cut
  bool as_is = false;  // asked for what is already so
  bool possible = true;
  std::string rule, why;             // when refused
  std::vector<std::string> between;  // ops that come along, as they lie on paths between
  SegmentationTotals before, after;
  struct Part {
    std::string kind;
    std::vector<std::string> ops, recomputed;
  };
  std::vector<Part> changed;  // segments after that are none of those before
};

struct PairStory {
  std::string a, b;
  bool together = false;
  uint32_t segment_a = 0, segment_b = 0;
  std::optional<uint32_t> group;  // that holds both
  bool made_again = false;        // one is made again where the other is
  std::string rule, why;          // what keeps their two segments apart, where a value crosses between these
  WhatIfStory what_if;            // the other way round
};

struct Explanation {
  std::string graph, arch;
  SegmentationTotals totals;
  std::vector<SegmentStory> segments;
  std::vector<CutStory> cuts;
  std::vector<GroupStory> groups;
  std::vector<RemakeStory> remakes;
  std::vector<uint32_t> asked_segments;
  std::vector<ValueStory> values;
  std::vector<PairStory> pairs;
  std::vector<WhatIfStory> what_ifs;
};

struct Questions {
  std::vector<std::string> values;    // names, or numbers of segments
  std::vector<std::string> what_ifs;  // "A+B", "A/B", "A/"
};

// Needs a compilation that was segmented. Failure(kBadInput) for a name that there is not, with the nearest one.
Explanation explain(const Compilation& compilation, const Target& target, const Questions& questions);

// All of it when nothing was asked in particular; else the answers.
std::string explanation_text(const Explanation& explanation);
std::string explanation_json(const Explanation& explanation);

}  // namespace fusec
