// The attributes that an op may be written with, as its row in ops.def lists them.
#pragma once

#include <algorithm>
#include <string_view>

#include "graph/ops.h"

namespace fusec {

// "dims? keepdim?". What the table does not say is added: attributes that choose the row, or that have one value only.
inline std::string_view attributes_of(OpKind kind) {
  if (kind == OpKind::kGelu) return "approximate?";
  if (kind == OpKind::kCrossEntropy) return "reduction?";
  return info(kind).attributes;
}

// Calls use(name, required) for each name in such a list.
template <class Use>
void for_each_attribute(std::string_view list, Use use) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    std::string_view name = list.substr(0, end);
    const bool optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    use(name, !optional);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

}  // namespace fusec
