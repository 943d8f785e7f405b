// Names for the values that a pass adds.
#pragma once

#include <string>
#include <unordered_set>

#include "graph/graph.h"

namespace fusec {

class FreshNames {
 public:
  explicit FreshNames(const Graph& graph) {
    for (const Value& v : graph.values) taken_.insert(v.name);
  }

  // `wanted`, or the first of wanted2, wanted3, … that no value has; taken from then on.
  std::string take(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !taken_.insert(name).second; ++n) name = wanted + std::to_string(n);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
};

}  // namespace fusec
