#include "lower/split_dims.h"

namespace fusec {

std::vector<Index> SplitDims::make(Part& part, const char* letter, std::vector<AtomId>& variables, std::vector<Factor>& origin) const {
  std::vector<Index> indices;
  for (size_t d = 0; d < factors_.size(); ++d) {
    Index sum;
    Size stride = 1;
    for (const Size& extent : factors_[d]) stride *= extent;
    for (size_t f = 0; f < factors_[d].size(); ++f) {
      const Size& extent = factors_[d][f];
      if (extent.is(1)) continue;
      stride = *stride.exact_quotient(extent);
      const std::string suffix = factors_[d].size() > 1 ? std::string(1, static_cast<char>('a' + f)) : "";
      const AtomId v = part.space.add_variable(letter + std::to_string(d) + suffix, extent);
      origin.push_back({d, f});
      variables.push_back(v);
      sum = sum + part.space.variable(v) * stride;
    }
    indices.push_back(std::move(sum));
  }
  return indices;
}

void SplitDims::split(const Factor& at, const Size& inner) {
  auto& list = factors_[at.dim];
  const Size outer = *list[at.position].exact_quotient(inner);
  list[at.position] = inner;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at.position), outer);
}

}  // namespace fusec
