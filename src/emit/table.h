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
  // Declarations; a loop over shares of the target, or nothing; statements before the blocks of updates, and the loop over these, whose
  // variable is turn().
  std::vector<std::string> declare() const;
  std::string shares() const;
  std::vector<std::string> start() const;
  std::string loop(const std::string& index_type, const std::string& turns) const;
  std::vector<std::string> start_of_turn() const;
  const std::string& turn() const { return turn_; }
  // The update of element `index` by `value`.
  std::string update(const std::string& index, const std::string& value) const;
  // That of a vector whose first element is `index`, where the cache has places for vectors.
  std::string update_all(const std::string& index, const std::string& vector) const;
  // Statements after the loop.
  std::vector<std::string> finish() const;

 private:
  std::string element(const std::string& slot) const;
  bool is_joined() const;
  bool looks_for_crowds() const;
  // `meets`: whether it is likely that the updates of a warp do.
  std::string update_own(const std::string& index, const std::string& value, const std::string& meets) const;
  std::string update_cached(const std::string& index, const std::string& value, const std::string& meets) const;
  std::string add_joined() const;
  std::string update_shared() const;
  std::string initial() const;

  const Table& table_;
  const Store& store_;
  int lanes_;
  int64_t blocks_, shares_;
  DType dtype_;
  std::string target_, value_, type_, name_, cache_, tags_, turn_, slot_, share_, crowded_, looks_;
  int64_t period_ = 0;  // threads, by which places repeat where their rows are one
};

}  // namespace fusec
