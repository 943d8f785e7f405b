// Do the ops of a kernel work row by row? Finds the row axes that every anchor keeps, so that one block (or cluster) can take a row through
// all phases. A row's number is a mixed-radix number; each dim of a value that depends on an anchor holds some of its digits, or none.
#pragma once

#include <vector>

#include "segment/facts.h"

namespace fusec {

// A part of a dim: `extent` values of the row number's digit with `stride`, or of a position inside the row (stride 0).
struct RowPart {
  int64_t stride = 0, extent = 1;
  bool operator==(const RowPart&) const = default;
};
using RowDim = std::vector<RowPart>;  // most significant first, extents > 1
using RowTag = std::vector<RowDim>;   // one for each dim of a value

struct RowMapping {
  bool ok = false;
  double rows = 1;
  // Where the row axes were lost: the op that needs other rows' values.
  OpId mixed_at;
  std::vector<OpId> outer;  // reductions across rows, finished after all rows
};

// `ops` in rank order; `depends[i]`: ops[i] depends on an anchor among them. `outer` anchors may reduce across rows.
class RowMapper {
 public:
  explicit RowMapper(const Facts& facts);
  // Source anchors (those that depend on no other) in `outer` are taken as reductions across rows; of the others, `may_be_outer`
  // says which may become so.
  RowMapping map(const std::vector<OpId>& ops, const std::vector<uint8_t>& depends, const std::vector<OpId>& outer);

 private:
  int64_t common_rows(const std::vector<OpId>& sources, bool& by_signature) const;
  void tag_source(OpId op, int64_t rows, bool by_signature);
  void tag_anchor(OpId op, bool may_be_outer);
  void tag_pointwise(OpId op);
  void tag_view(OpId op);
  void tag_gather(OpId op);
  void unite(RowTag& tag, ValueId operand, OpId at);
  RowDim settle(const RowDim& dim) const;
  void demote(const RowDim& dim, OpId at);
  void demote_repeats(const RowTag& tag, OpId at);
  bool ends_here(const std::vector<OpId>& ops, size_t n) const;
  const RowTag* tag_of(ValueId v) const { return tag_stamp_[v] == stamp_ ? &tags_[v] : nullptr; }
  void set_tag(OpId op, RowTag tag);
  RowTag inner_tag(ValueId v) const;

  const Facts& facts_;
  uint32_t stamp_ = 0;
  IdVec<ValueId, uint32_t> tag_stamp_, outer_stamp_;
  IdVec<ValueId, RowTag> tags_;
  std::vector<RowPart> demoted_;
  RowMapping result_;
};

// Kept and inner extents of an anchor's operand, merged where neighbours are alike, extents of 1 left out: equal for reductions over the
// same axes.
std::vector<int64_t> axes_signature(const Facts& facts, OpId anchor);

}  // namespace fusec
