// Program × sizes → numbers: what is launched, with which grid, on which workspace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/program.h"

namespace fusec {

struct BoundLaunch {
  Launch::Kind kind = Launch::kKernel;
  uint32_t segment = 0;
  std::string kernel;
  int64_t blocks = 0;
  uint32_t block = 0, shared_bytes = 0;
  bool cooperative = false;
  std::vector<KernelArg> args;
  int64_t copy_bytes = 0;
};

struct BoundCheck {
  std::string op;
  std::vector<int64_t> shape;  // of the index operand
};

struct BoundProgram {
  std::string name;
  std::vector<BoundLaunch> launches;       // those that have work: no empty grid, no empty copy
  std::vector<int64_t> workspace_offsets;  // bytes from the arena's start, multiples of 256 unless the program says otherwise
  int64_t workspace_bytes = 0;
  std::vector<BoundCheck> checks;
  SymbolValues symbols;
};

// `values` are those of the program's symbols.
BoundProgram bind(const Program& program, const SymbolValues& values);

// The values of `to` from those of `from` by name; derived ones are computed. Symbols that `from` lacks take their typical value.
SymbolValues carry_values(const Symbols& from, const SymbolValues& values, const Symbols& to);

}  // namespace fusec
