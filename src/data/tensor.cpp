#include "data/tensor.h"

#include "support/diag.h"

namespace fusec {

Tensor::Tensor(DType t, std::vector<int64_t> s) : dtype(t), shape(std::move(s)) {
  int64_t bytes = bytes_of(t);
  bool empty = false;
  for (int64_t extent : shape) empty |= extent == 0;
  for (int64_t extent : shape)
    if (!empty && (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)))
      throw Failure(Exit::kBadInput, "a tensor of more than 2^63 bytes does not fit in memory");
  data.resize(empty ? 0 : static_cast<size_t>(bytes));
}

int64_t Tensor::elems() const { return static_cast<int64_t>(data.size()) / bytes_of(dtype); }

}  // namespace fusec
