// The loop variables of a shape, its dimensions split into factors where views ask for it.
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace fusec {

class SplitDims {
 public:
  explicit SplitDims(const Shape& shape) {
    for (const Size& extent : shape) factors_.push_back({extent});
  }

  // One factor of one dimension.
  struct Factor {
    size_t dim, position;
    bool operator==(const Factor&) const = default;
  };

  // One variable `letter`N per factor of more than 1, appended to `variables` with its `origin`. Returns an index per dimension.
  std::vector<Index> make(Part& part, const char* letter, std::vector<AtomId>& variables, std::vector<Factor>& origin) const;

  // The factor becomes outer · inner + rest.
  void split(const Factor& at, const Size& inner);

 private:
  std::vector<std::vector<Size>> factors_;  // per dimension, outer to inner
};

}  // namespace fusec
