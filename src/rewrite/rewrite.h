// Graph → Graph passes that run before segmentation, and what they tell the report. A pass takes its graph by value: moved in, nothing is
// copied but what changes.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace fusec {

struct RewriteLog {
  // Dropped op → the equal op that stays.
  std::map<std::string, std::string> merged;
  // Dropped op → an op whose computation now includes it (a constant folded, a cast relaxed). The report lists it beside the op
  // that absorbed it, so that every written op has its segment.
  std::map<std::string, std::string> absorbed;

  // With --deterministic: each scatter and index_put as written → why its result does not depend on the order of its updates.
  std::map<std::string, std::string> deterministic;

  // Each sort of a permutation → what it has become.
  std::map<std::string, std::string> inverted;

  // The op of the last graph that stands for `name`: the end of its chain of entries, `name` itself without one.
  const std::string& standing_for(const std::string& name) const;
};

// softmax, layer_norm, rope, … → primitive ops, named RESULT.step, with `origin` set. The last op keeps the result's name.
Graph expand_composites(Graph graph, RewriteLog& log);
// Drops ops that no output needs; results that nobody reads become unnamed (invalid). What an absorbed op alone needed is absorbed too.
Graph remove_dead_ops(Graph graph, RewriteLog& log);
// Evaluates ops whose operands are all constant (`full` and literals), in the op's own type and rounding, into `full` of the same name.
Graph fold_constants(Graph graph, RewriteLog& log);
// Casts that change nothing and algebra that is exact for every value (NaN, infinities and −0 included) become `copy`, which costs
// nothing. No op disappears: a user's cast group stays the group that was written.
Graph simplify(Graph graph, RewriteLog& log);
// Keeps one of ops with equal kind, operands and attributes, at the place of the first. Ops as written are merged with their like;
// what an expansion made gives way to them.
Graph share_equal_ops(Graph graph, RewriteLog& log);
// --relaxed-casts only: drops a down-cast that is followed by up-casts alone.
Graph relax_casts(Graph graph, RewriteLog& log);

// --deterministic only: scatters whose result shows the order of their updates become ops whose results do not.
Graph make_deterministic(Graph graph, RewriteLog& log);
// The order of numbers that are 0 … n−1, each once, is their inverse: argsort(p) → scatter(zeros, p, iota).
Graph invert_permutations(Graph graph, RewriteLog& log);

}  // namespace fusec
