// The text around and in the updates of a table in shared memory.
#pragma once

#include <string>
#include <vector>

#include "emit/names.h"
#include "kernel/kernel.h"

namespace fusec {

class TableText {
 public:
  // `target`: the parameter that the store updates; `value`: the constant that is counted, where updates are counted.
  TableText(const Kernel& kernel, const Part& part, const std::string& target, const std::string& value, NameScope& scope);
  // Statements before the blocks of updates; opens the loop over them, whose variable is turn().
  std::vector<std::string> start() const;
  std::string loop(const std::string& index_type, const std::string& turns) const;
  std::vector<std::string> start_of_turn() const;
  const std::string& turn() const { return turn_; }
  // The update of element `index` by `value`.
  std::string update(const std::string& index, const std::string& value) const;
  // Statements after the loop.
  std::vector<std::string> finish() const;

 private:
  std::string element(const std::string& slot) const;
  bool is_joined() const;
  bool looks_for_crowds() const;
  std::string initial() const;

  const Table& table_;
  const Store& store_;
  int lanes_;
  int64_t teams_;
  DType dtype_;
  std::string target_, value_, type_, name_, tags_, turn_, slice_, slot_, crowded_, looks_;
  int64_t period_ = 1;  // by which the places of neighbouring threads repeat where their rows are one
};

}  // namespace fusec
