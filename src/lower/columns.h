// Which reductions over leading dims can be taken from the pass over rows that the rest of a segment makes anyway.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "segment/segmentation.h"

namespace fusec {

struct ColumnPlan {
  std::vector<OpId> columns;          // none: there is no such pass
  std::vector<ValueId> row_roots;     // stored by the pass over rows
  std::vector<ValueId> column_roots;  // stored after it: they depend on a column's result
};

ColumnPlan plan_columns(const Graph& graph, const Segment& segment, const IdVec<ValueId, bool>& computed,
                        const std::vector<ValueId>& roots);

}  // namespace fusec
