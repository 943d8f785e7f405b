// C identifiers for the graph's names: as they are where C allows it, otherwise changed as little as possible, unique in a scope.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace fusec {

// [A-Za-z_][A-Za-z0-9_]* that is no keyword, macro or library function.
std::string c_identifier(const std::string& name);

class NameScope {
 public:
  // A name not given before: `name` made an identifier, with _1, _2, … when it is taken.
  std::string take(const std::string& name);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

}  // namespace fusec
