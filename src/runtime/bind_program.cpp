#include "runtime/bind_program.h"

#include <algorithm>

#include "support/check.h"

namespace fusec {

namespace {

constexpr int64_t kAlignment = 256;

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

BoundLaunch bind(const Launch& launch, const SymbolValues& values) {
  BoundLaunch bound;
  bound.kind = launch.kind;
  bound.segment = launch.segment;
  bound.kernel = launch.kernel;
  bound.block = launch.block;
  bound.shared_bytes = launch.shared_bytes;
  bound.cooperative = launch.cooperative;
  bound.args = launch.args;
  if (launch.kind == Launch::kCopy) {
    FUSEC_CHECK(launch.args.size() == 2, "a copy has a source and a destination");
    bound.copy_bytes = evaluate(launch.copy_bytes, values);
  } else {
    for (const GridTerm& term : launch.grid) {
      FUSEC_CHECK(term.per_block > 0, launch.kernel + ": blocks of " + std::to_string(term.per_block) + " elements");
      bound.blocks += ceil_div(evaluate(term.elems, values), term.per_block);
    }
  }
  return bound;
}

}  // namespace

BoundProgram bind(const Program& program, const SymbolValues& values) {
  BoundProgram bound;
  bound.name = program.name;
  bound.symbols = values;
  for (const Launch& launch : program.launches) {
    BoundLaunch one = bind(launch, values);
    if (one.blocks > 0 || one.copy_bytes > 0) bound.launches.push_back(std::move(one));
  }
  for (const IndexCheck& check : program.checks) {
    bound.checks.push_back({check.op, {}});
    for (const Size& size : check.shape) bound.checks.back().shape.push_back(evaluate(size, values));
  }
  bound.workspace_bytes = program.workspace_is_static ? program.workspace_bytes : 0;
  for (const WorkspaceBuffer& buffer : program.workspace) {
    if (program.workspace_is_static) {
      bound.workspace_offsets.push_back(buffer.offset);
    } else {
      bound.workspace_offsets.push_back(bound.workspace_bytes);
      bound.workspace_bytes += ceil_div(evaluate(buffer.bytes, values), kAlignment) * kAlignment;
    }
  }
  return bound;
}

SymbolValues carry_values(const Symbols& from, const SymbolValues& values, const Symbols& to) {
  SymbolValues carried = typical_values(to);
  for (size_t i = 0; i < to.size(); ++i)
    for (size_t j = 0; j < from.size(); ++j)
      if (!to[SymbolId(i)].derived && !from[SymbolId(j)].derived && to[SymbolId(i)].name == from[SymbolId(j)].name)
        carried[SymbolId(i)] = values[SymbolId(j)];
  derive_values(to, carried);
  return carried;
}

}  // namespace fusec
