// C identifiers for the graph's names: as they are where C allows it, otherwise changed as little as possible, unique in a scope.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "graph/size.h"

namespace fusec {

// [A-Za-z_][A-Za-z0-9_]* that is no keyword, macro or library function.
std::string c_identifier(const std::string& name);

// A run-time size's own identifier, unlike those of other sizes and of index variables (i0, i1v, …).
std::string symbol_identifier(const Symbols& symbols, SymbolId id);

class NameScope {
 public:
  // A name not given before: `name` made an identifier, with _1, _2, … when it is taken.
  std::string take(const std::string& name);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

}  // namespace fusec
