#include "rewrite/rebuild.h"

#include "rewrite/rewrite.h"
#include "support/check.h"

namespace fusec {

Rebuild::Rebuild(const Graph& graph) : from(graph), map_(graph.values.size()) {
  to.name = from.name;
  to.doc = from.doc;
  to.symbols = from.symbols;
  to.constraints = from.constraints;
  to.inputs = from.inputs;
  for (Input& input : to.inputs) {
    const ValueId old = input.value;
    input.value = to.values.push(from[old]);
    map_[old] = input.value;
  }
}

Operand Rebuild::mapped(const Operand& operand) const {
  if (!operand.is_value()) return operand;
  FUSEC_CHECK(map_[operand.value].valid(), "'" + from[operand.value].name + "' is read but gone");
  return {map_[operand.value], {}};
}

OpId Rebuild::copy(OpId id, const IdVec<ValueId, char>* wanted) {
  Op op = from[id];
  for (Operand& operand : op.in) operand = mapped(operand);
  if (op.attrs.valid()) op.attrs = to.attributes.push(from.attributes[op.attrs]);
  const OpId made(to.ops.size());
  for (ValueId& result : op.out) {
    const ValueId old = result;
    result = ValueId();
    if (!old.valid() || (wanted && !(*wanted)[old])) continue;
    result = to.values.push(from[old]);
    to.values[result].def = made;
    map_[old] = result;
  }
  return to.ops.push(std::move(op));
}

Graph Rebuild::finish() {
  to.outputs = from.outputs;
  for (Output& output : to.outputs) output.value = mapped(Operand{output.value, {}}).value;
  return std::move(to);
}

const std::string& RewriteLog::standing_for(const std::string& name) const {
  const std::string* last = &name;
  // Entries point to ops that were there when they were made, so chains end; the bound is against a bug.
  for (size_t steps = 0; steps <= merged.size() + absorbed.size(); ++steps) {
    auto entry = merged.find(*last);
    if (entry == merged.end()) {
      entry = absorbed.find(*last);
      if (entry == absorbed.end()) return *last;
    }
    last = &entry->second;
  }
  FUSEC_CHECK(false, "the log of rewrites has a cycle at " + name);
  return name;
}

}  // namespace fusec
