// From two sides to everything that `fusec diff` says.
#pragma once

#include "diff/rules.h"

namespace fusec {

struct CompareOptions {
  ReadOptions read;
  std::string arch;      // "": that of a report among the sides, else sm_80
  bool segments = true;  // false: the graphs alone
};

// Failure(kBadInput) when the sides have nothing in common.
Comparison compare(Side a, Side b, const CompareOptions& options);

}  // namespace fusec
