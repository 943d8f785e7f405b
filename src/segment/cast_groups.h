// Cast groups on measured facts; segment.h declares the public form.
#pragma once

#include <vector>

#include "segment/facts.h"
#include "segment/segmentation.h"

namespace fusec {

// Reductions, scans, sorts and scatters that compute in a group's wide type are members here; segmentation lets those leave that no
// schedule holds with the rest.
std::vector<CastGroup> find_cast_groups(const Facts& facts);

// Bytes an element of the widest large value that v can be recomputed from without an anchor, when that is fewer than v's own; else 0.
IdVec<ValueId, uint8_t> narrower_sources(const Facts& facts);

}  // namespace fusec
