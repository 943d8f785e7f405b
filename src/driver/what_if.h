// --what-if: the segmentation again with some ops forced together or apart, and what that changes.
#pragma once

#include <map>
#include <string>

#include "driver/explain.h"
#include "segment/facts.h"

namespace fusec {

// A name that a question may use: what stands for it in the rewritten graph.
struct Subject {
  std::string name;
  OpId op;            // invalid: an input of the graph, or gone
  bool gone = false;  // no output needs it
};

class NameTable {
 public:
  explicit NameTable(const Compilation& compilation);
  // Failure(kBadInput) for an unknown name.
  Subject find(const std::string& name) const;
  const std::map<std::string, OpId>& ops() const { return ops_; }

 private:
  const Compilation& compilation_;
  std::map<std::string, OpId> ops_;         // of the rewritten graph, by the name of every result
  std::map<std::string, uint8_t> written_;  // names of the graph as read; 1 for inputs
};

// A word of digits: the number of a segment, as names do not start with digits.
std::optional<size_t> segment_number(const std::string& word);

SegmentationTotals totals_of(const Graph& graph, const Segmentation& segmentation, const Target& target);

class WhatIf {
 public:
  WhatIf(const Compilation& compilation, const Target& target, const NameTable& names);
  // "A+B+…" (names, or numbers of segments), "A/B", "A/" (A apart from all that read it).
  WhatIfStory ask(const std::string& text) const;

 private:
  struct Request {
    bool merge = true;
    std::vector<OpId> members, named;          // of a merge; those of them that were named one by one
    std::vector<std::pair<OpId, OpId>> apart;  // of a cut
  };
  Request parse(const std::string& text) const;
  OpId op_named(const std::string& name, const std::string& text) const;
  std::vector<OpId> segment_numbered(const std::string& digits, const std::string& text) const;
  bool is_so(const Request& request) const;

  const Compilation& compilation_;
  const Target& target_;
  const NameTable& names_;
  SegmentationTotals before_;
  IdVec<OpId, uint32_t> home_;
};

}  // namespace fusec
