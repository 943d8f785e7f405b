// Feasibility: can one kernel hold these ops? Each schedule family accepts, or refuses with a named rule and words.
#pragma once

#include <string>
#include <vector>

#include "segment/evaluation.h"
#include "segment/facts.h"
#include "segment/rows.h"
#include "segment/segmentation.h"
#include "segment/target.h"

namespace fusec {

enum class Rule : uint8_t {
  kNone,
  kGridWide,    // a value needs all of an anchor's result, or of its operand, first
  kRowTooLong,  // the row does not fit where it could be held
  kAxesDiffer,  // reductions over different axes that one pass cannot serve
  kNoSchedule,  // no family holds both
  kLibrary,     // matrix products stand alone
  kTooManyOps,
  kTooManyPhases,
  kTooManyCopies,  // views would make an op's value again at too many places
  kParameters,     // kernel parameters
  kCycle,          // joining would close a cycle
  kCost,           // possible, but slower
  kAsked,          // the user asked for two kernels
  kDrawn,          // the partition was drawn at random
};
const char* name_of(Rule rule);

struct Refusal {
  Rule rule = Rule::kNone;
  std::string words;
};

struct Plan {
  bool ok = false;
  SegmentKind kind = SegmentKind::kPointwise;
  bool inline_reductions = false;  // small reductions are loops inside a thread
  double parallel = 1;             // share of the multiprocessors that have work
  int64_t partial_bytes = 0;       // partial results of reductions across rows, written and read again
  Refusal refusal;
};

// Limits of one kernel.
inline constexpr size_t kMaxOps = 4000;     // what NVRTC compiles in reasonable time
inline constexpr double kMaxCopies = 6000;  // Σ over ops of the places where each is evaluated
inline constexpr size_t kMaxCopiesOfOne = 48;
size_t max_pointers(const Target& target);

// "grid-wide dependence: `t` is a full reduction over 4096 elements and `w` needs it everywhere"
std::string grid_wide_words(const Facts& facts, OpId anchor, OpId user);

class Scheduler {
 public:
  Scheduler(const Facts& facts, const Target& target);
  // `ops` in rank order, closed up to values in memory; `roots`: values to be stored.
  Plan plan(const std::vector<OpId>& ops, const std::vector<ValueId>& roots);

 private:
  struct Case;
  bool single_pass(const Case& c, Plan& plan);
  bool stored_by_sort(const Case& c, OpId sort, OpId scatter) const;
  int64_t row_elems(OpId anchor) const;
  bool library(const Case& c, Plan& plan);
  bool by_rows(const Case& c, Plan& plan, bool across);
  bool rows_fit_anchors(const Case& c, Plan& plan) const;
  bool inline_loops(const Case& c, Plan& plan);
  bool one_block(const Case& c, Plan& plan);
  Refusal refuse_grid_wide(const Case& c, OpId mixed_at) const;
  int64_t held_bytes(const Case& c, double rows, int64_t& iteration);

  const Facts& facts_;
  const Target& target_;
  RowMapper rows_;
  uint32_t stamp_ = 0;
  IdVec<OpId, uint32_t> member_, place_;
  IdVec<ValueId, uint32_t> read_mask_, read_stamp_;
};

}  // namespace fusec
