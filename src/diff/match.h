// Which op of one graph is which op of another. What computes the same, or is used for the same, is the same; what is left is matched by
// its neighbours. Near-linear in the ops and operands of both graphs.
#pragma once

#include "diff/interface.h"

namespace fusec {

struct Matching {
  IdVec<OpId, OpId> to_b, to_a;  // invalid: no partner
  Interface interface;
  IdVec<OpId, Hash> says_a, says_b;  // Structure::local of each op
  Hashes computed_a, computed_b;     // from_inputs with partners' labels: equal where two values are computed alike

  // Whether a value of A and one of B are the same: partners, or computed alike.
  bool same(const Graph& a, ValueId va, const Graph& b, ValueId vb) const;
};

Matching match(const Graph& a, const Graph& b);

}  // namespace fusec
