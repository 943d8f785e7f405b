// Segmentation → kernels, one stage after the other: the state of lower(), whose methods stand in lower.cpp, in line_stages.cpp (scans
// and sorts) and in scatter_stages.cpp.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lower/columns.h"
#include "lower/kernel_input.h"
#include "lower/lines.h"
#include "lower/lower.h"
#include "lower/replicas.h"
#include "lower/rows.h"

namespace fusec {

// States that the blocks of one kernel leave for the next, `parts` of them for each result.
struct Partial {
  KernelArg arg;
  DType dtype = DType::kF32;
  PartLayout layout;
};

// Memory that holds a value between launches.
struct Location {
  KernelArg arg;
  std::vector<Size> strides;
};

// A place that waits for a value.
struct Destination {
  ValueId value;
  KernelArg arg;
  std::vector<Size> strides;
};

// A kernel whose parameters are still being found.
struct Draft {
  Kernel kernel;
  std::map<ValueId, BufferId> reads;
  BufferId record;
};

// Ops whose result is in memory before anything reads it.
inline bool is_stage(OpKind kind) {
  const OpCategory category = info(kind).category;
  return category == OpCategory::kScatter || category == OpCategory::kScan || category == OpCategory::kSort;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const Segmentation& segmentation, const Target& target, const LowerOptions& options);
  Lowered run();

 private:
  // Outside of its lifetime a buffer's place belongs to others.
  void check_lifetimes() const;
  void lower_segment(uint32_t id, const Segment& segment);

  // Stores values: in as few kernels as can hold them, else the reductions before first, whose results alone are stored in between.
  void lower_values(uint32_t id, IdVec<ValueId, bool>& computed, std::vector<Destination> wanted);

  // Stores the results of reductions, with those of the same rows in one kernel.
  void settle(uint32_t id, IdVec<ValueId, bool>& computed, const std::vector<OpId>& ops, std::vector<Destination>& wanted);

  // The reductions on the way to the wanted values that wait for no other one.
  std::vector<OpId> next_reductions(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) const;

  // Where rows are too wide for one block to keep the states of all their columns: the reductions of rows come first.
  bool settle_rows_before_columns(uint32_t id, const ColumnPlan& plan, IdVec<ValueId, bool>& computed, std::vector<Destination>& wanted);
  static std::vector<ValueId> values_of(const std::vector<Destination>& places);
  std::vector<OpId> reductions_before(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) const;

  // The ops that a segment still evaluates on the way to the wanted values, operands first.
  std::vector<OpId> ops_before(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted) const;

  // Moves the destinations of a value from one list to another; a value that has none gets workspace.
  void take(uint32_t id, std::vector<Destination>& from, ValueId v, std::vector<Destination>& to);

  // Whoever reads the value from now on finds it here: it lives as long as the value's last reader, also where it is made for this segment.
  Destination workspace_for(uint32_t id, ValueId v);

  // --- stages: ops whose result is in memory before anything reads it

  void lower_stage(uint32_t id, const Segment& segment, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted);
  void lower_line_stage(uint32_t id, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted);
  bool is_computed(const IdVec<ValueId, bool>& computed, OpId op) const;

  // Counters are cleared, then one kernel sorts, and stores what it can make of its results at their own positions.
  void lower_long_sort(uint32_t id, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted);

  // What the kernel of a scan or a sort stores, and the wanted values that are there then.
  struct Followed {
    std::vector<Destination> own;
    std::vector<ValueId> values;
  };

  // Of the wanted values those that follow in place, also where a reshape only counts them anew, and results that others still read.
  Followed take_what_follows(uint32_t id, const IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted);

  // The value of the same elements in the same order that reshapes make this one of; itself where a place for it has other strides.
  ValueId before_reshapes(const IdVec<ValueId, bool>& computed, ValueId v, const std::vector<Destination>& wanted) const;
  void settle_line(IdVec<ValueId, bool>& computed, OpId op, const Followed& followed) const;
  Size chunk_totals_bytes(OpId op, const ScanChunks& chunks) const;

  // A value that two kernels, or one twice, are to read: stored first, where that costs less than to compute it again.
  void store_unless_cheap(uint32_t id, IdVec<ValueId, bool>& computed, ValueId x, std::vector<Destination>& wanted);

  // Cheaper to compute twice than to store.
  bool is_cheap(const IdVec<ValueId, bool>& computed, ValueId v) const;

  // True for results of a sort, and for what each position of a result gives by itself: pointwise ops, and a scatter by a permutation.
  bool follows_in_place(const IdVec<ValueId, bool>& computed, ValueId v, OpId sort) const;

  // True if an op on the way to the wanted values needs this one, or it is wanted itself.
  bool is_read(const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted, ValueId v) const;

  // An operand that needs reductions is stored before.
  void settle_reductions(uint32_t id, IdVec<ValueId, bool>& computed, ValueId v, std::vector<Destination>& wanted);

  // What it starts from is stored where the result is to be, unless it lies there already; then the updates.
  void lower_scatter_stage(uint32_t id, const Segment& segment, IdVec<ValueId, bool>& computed, OpId op, std::vector<Destination>& wanted);
  BufferId add_target(OpId op, const Destination& to, bool read, Draft& draft) const;

  // Copies of the target are cleared and updated; then it takes what they have collected.
  void lower_replicated(uint32_t id, const IdVec<ValueId, bool>& computed, OpId op, const Destination& to, const Replicas& replicas);

  // Why lists of updates do not suit; empty where they do: whatever comes after is computed where their sums are.
  std::string why_no_lists(const IdVec<ValueId, bool>& computed, OpId op, const std::vector<Destination>& wanted) const;

  // The lists; what reads their sums comes with the values still wanted.
  void lower_listed(uint32_t id, const IdVec<ValueId, bool>& computed, OpId op);
  ListPlace list_place(OpId op, Draft& draft, bool written) const;
  Destination scatter_destination(uint32_t id, const Segment& segment, OpId op, const std::vector<Destination>& wanted);

  // An output of its own, best the one that lies over an input; else where the scatter lies that alone goes on from here.
  Destination choose_scatter_destination(uint32_t id, const Segment& segment, OpId op, const std::vector<Destination>& wanted);

  // True if the output lies over x and nothing else needs x from then on.
  bool updates_in_place(uint32_t id, const Segment& segment, OpId op, const Destination& to) const;
  KernelInput input_for(uint32_t id, const IdVec<ValueId, bool>& computed, Draft& draft, const std::vector<Destination>& wanted);
  CheckPlace check_place(OpId op, Draft& draft);

  // Reductions over the leading dims that one pass over the rows of their operands can serve beside what is stored of these rows. What
  // waits for their results comes in a second kernel. False, and nothing done, where there are none.
  bool lower_columns(uint32_t id, const ColumnPlan& plan, const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted);

  // True where the rows are so few that two kernels, the second of which finds them in the cache, are faster than one pass.
  bool columns_come_apart(const ColumnPlan& plan, const IdVec<ValueId, bool>& computed) const;

  // Kernels that compute the wanted values and store them: one for each part that sweeps over rows, one for all that does not. False,
  // and nothing done, when a reduction is refused.
  bool lower_fused(uint32_t id, const IdVec<ValueId, bool>& computed, const std::vector<Destination>& wanted, bool alone,
                   const std::map<OpId, Partial>& partials = {});
  std::vector<Kernel> schedule_parts_by_rows(const RowParts& rows, const Kernel& kernel,
                                             const std::function<KernelArg(const Size&)>& scratch) const;
  // Of one part. `across_block` as in schedule_rows.
  Kernel schedule_by_rows(const Part& part, Kernel kernel, const std::function<KernelArg(const Size&)>& scratch,
                          int across_block = 0) const;

  // The kernels of `rows` as ranges of blocks of one, where all of these run at once and none is slower than by itself.
  std::optional<Kernel> side_by_side(const RowParts& rows, const Kernel& draft, const std::vector<Kernel>& kernels,
                                     const std::function<KernelArg(const Size&)>& scratch) const;
  static bool reads_for_deviations(const Kernel& kernel);

  // True for an output that has an input's memory.
  bool lies_over_input(const KernelArg& arg) const;

  // What may overwrite an input waits until the row has been read.
  void keep_order(Kernel& kernel) const;
  void add_kernel(Kernel kernel);

  // Values that segment `id` stores.
  std::vector<ValueId> roots_of(uint32_t id, const Segment& segment) const;

  // Each place that needs one of the values, which segment `id` stores.
  std::vector<Destination> destinations_of(uint32_t id, const std::vector<ValueId>& values);
  KernelArg new_workspace(const Size& bytes, uint32_t first, uint32_t last);

  // In-place updates: where the old value is still needed, elsewhere or at another index, the new one goes to a temporary and is
  // copied over when everything has run.
  void protect_aliases(uint32_t id, size_t at);

  // True if a kernel after this one, of the same segment, reads the input.
  bool read_later(size_t at, uint32_t input) const;

  // Elements from the first to the last that a layout touches.
  static Size span(const Shape& shape, const std::vector<Size>& strides);

  const Graph& graph_;
  const Segmentation& segmentation_;
  const Target& target_;
  const LowerOptions& options_;
  const IdVec<OpId, bool> coarse_;
  Program program_;
  std::vector<Kernel> kernels_;
  std::map<ValueId, Location> locations_;
  IdVec<ValueId, uint32_t> last_reader_;  // segment
  IdVec<ValueId, std::vector<uint32_t>> outputs_of_;
  std::vector<Launch> copies_;
  std::map<uint32_t, int> kernels_of_segment_;
  std::map<OpId, uint32_t> check_numbers_;
  std::map<ValueId, Destination> scatter_places_;
  std::map<OpId, std::array<KernelArg, 4>> lists_;  // as in ListPlace
};

}  // namespace fusec
