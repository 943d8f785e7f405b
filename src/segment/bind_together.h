// "What if these shared a kernel?": a set of ops → one cluster, before the search. Convex: what lies on paths between them comes along.
#pragma once

#include <vector>

#include "segment/clusters.h"
#include "segment/segment.h"

namespace fusec {

// Floating members go wherever they are read. A refused set leaves the clusters as they are.
ForcedSegmentation::Answer bind_together(Clusters& clusters, const std::vector<OpId>& members);

}  // namespace fusec
