// What is legal but looks like a mistake.
#include <algorithm>

#include "parser/read_parts.h"

namespace fusec {

void warn_unused(Reading& r) {
  const Graph& g = r.graph;
  IdVec<ValueId, char> needed(g.values.size(), 0);
  for (const Output& o : g.outputs) needed[o.value] = 1;
  for (size_t i = g.ops.size(); i-- > 0;) {
    const Op& op = g.ops[OpId(i)];
    const bool live = std::any_of(op.out.begin(), op.out.end(), [&](ValueId v) { return v.valid() && needed[v]; });
    if (!live) {
      r.diagnostics.warning("unused-op", op.at, "no output needs " + quoted(g.name_of(OpId(i))) + "; the op is dropped");
      continue;
    }
    for (const Operand& operand : op.in)
      if (operand.is_value()) needed[operand.value] = 1;
  }
  for (const SizeName& s : r.sizes)
    if (!s.used) r.diagnostics.warning("unused-size", s.at, "nothing has the size " + quoted(s.name));
  for (const Input& input : g.inputs)
    if (!needed[input.value]) r.diagnostics.warning("unused-input", input.at, "no output needs the input " + quoted(g[input.value].name));
}

}  // namespace fusec
