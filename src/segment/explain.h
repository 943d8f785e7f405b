// Words for the report: why two kernels are two, and what became of each cast group.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "segment/clusters.h"
#include "segment/materialize.h"
#include "segment/segmentation.h"

namespace fusec {

class Explainer {
 public:
  // `drawn`: at random, so that no cost kept two kernels apart.
  Explainer(Clusters& clusters, bool drawn) : clusters_(clusters), drawn_(drawn) {}

  const Refusal& why_apart(ClusterId a, ClusterId b);
  // The same, told by the value that crosses where it is itself what the other side waits for.
  Refusal why_crosses(ValueId v, ClusterId from, ClusterId to);
  // Anchors that no segment holds with the rest leave their group; what remains is one group for each connected part.
  std::vector<CastGroup> settle_groups(const std::vector<CastGroup>& groups, const std::vector<Segment>& segments,
                                       const std::vector<PlannedKernel>& kernels);

 private:
  std::string grid_wide(ClusterId a, ClusterId b, ValueId through);
  std::vector<CastGroup> parts_without_anchors(const CastGroup& group);

  Clusters& clusters_;
  bool drawn_;
  std::map<std::pair<uint32_t, uint32_t>, Refusal> known_;
};

}  // namespace fusec
