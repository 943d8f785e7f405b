// Comparison of results with a reference.
#pragma once

#include <string>

#include "data/tensor.h"

namespace fusec {

struct Comparison {
  int64_t elems = 0, mismatches = 0;
  int64_t worst_index = -1;  // row-major, of the greatest error over its allowance
  double worst_got = 0, worst_expected = 0, worst_error = 0;
  bool ok() const { return mismatches == 0; }
};

// |got − expected| ≤ atol + rtol·|expected| with tolerances of the dtype; NaN agrees only with NaN, infinities only with themselves;
// integers and bool exactly. `depth` is the number of roundings and inexact functions on the longest path, which widens the allowance;
// `roughest` a float type whose tolerance holds when it is wider than that of the tensor's own (Accuracy::roughest). Where terms of the
// usual size (the root mean square of what is expected) cancel, a last bit of one of them is allowed too.
Comparison compare(const Tensor& got, const Tensor& expected, int depth, DType roughest = DType::kF64);
std::string describe(const Comparison& comparison, const Tensor& expected);

}  // namespace fusec
