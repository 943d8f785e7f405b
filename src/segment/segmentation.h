// The result of segmentation: which ops share a kernel, and why the others do not.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace fusec {

// The schedule families a segment can belong to.
enum class SegmentKind : uint8_t { kPointwise, kTranspose, kReduction, kPersistent, kScan, kSort, kScatter, kLibrary };
const char* name_of(SegmentKind kind);

struct Segment {
  SegmentKind kind = SegmentKind::kPointwise;
  std::vector<OpId> ops;         // topological; each op of the graph that an output needs is in exactly one segment
  std::vector<OpId> recomputed;  // copies of ops of other segments, topological
  std::vector<ValueId> inputs;   // graph inputs and other segments' outputs that it reads
  std::vector<ValueId> outputs;  // values it stores: graph outputs and what other segments read
};

struct CastGroup {
  std::vector<OpId> ops;
  uint32_t segment = 0;
  bool whole = true;
  std::string rule, why;  // when cut: the rule that forced it, by name and in words
};

struct Edge {
  ValueId value;
  uint32_t from = 0;
  std::vector<uint32_t> to;
  std::string rule, why;  // what kept the two sides apart, by name (of the first reason) and in words
};

struct Segmentation {
  std::vector<Segment> segments;  // in launch order; an index here is the segment's id
  std::vector<CastGroup> cast_groups;
  std::vector<Edge> edges;
};

}  // namespace fusec
