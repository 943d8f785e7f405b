// Which input and output of one graph stands for which of another. Names and places may both have changed; structure decides then.
#pragma once

#include <vector>

#include "diff/structure.h"

namespace fusec {

inline constexpr uint32_t kNoPartner = UINT32_MAX;

// Positions in one list → positions in the other, or kNoPartner.
struct Pairing {
  std::vector<uint32_t> to_b, to_a;
  bool complete() const;             // each has a partner
  bool reordered() const;            // partners stand in another order
  bool add(uint32_t a, uint32_t b);  // false when one of them has a partner already
};

struct Interface {
  Pairing inputs, outputs;
  // The graphs compute the same from these inputs, op by op.
  bool exact = false;
};

Interface pair_interfaces(const Structure& a, const Structure& b);

// One label an input or output: partners have the same, all others different ones.
struct Labels {
  std::vector<Hash> a, b;
};
Labels labels_of(const Pairing& pairing);

}  // namespace fusec
