// Graph → Graph passes that run before segmentation, and what they tell the report.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace fusec {

struct RewriteLog {
  std::map<std::string, std::string> merged;  // dropped op → the equal op that stays
};

// softmax, layer_norm, rope, … → primitive ops, named RESULT.step, with `origin` set. The last op keeps the result's name.
Graph expand_composites(const Graph& graph, RewriteLog& log);
// Drops ops that no output needs; results that nobody reads become unnamed (invalid).
Graph remove_dead_ops(const Graph& graph, RewriteLog& log);
// Evaluates ops whose operands are all constant (`full` and literals), in the op's own type and rounding, into `full`.
Graph fold_constants(const Graph& graph, RewriteLog& log);
// Removes casts that change nothing, and algebra that is exact for every value, NaN, infinities and −0 included.
Graph simplify(const Graph& graph, RewriteLog& log);
// Keeps the first of ops with equal kind, operands and attributes.
Graph share_equal_ops(const Graph& graph, RewriteLog& log);
// --relaxed-casts only: drops a down-cast that is followed by up-casts alone.
Graph relax_casts(const Graph& graph, RewriteLog& log);

}  // namespace fusec
