#include "rewrite/rebuild.h"

#include "rewrite/rewrite.h"
#include "support/check.h"

namespace fusec {

Rebuild::Rebuild(Graph graph) : from(std::move(graph)), map_(from.values.size()) {
  to.name = std::move(from.name);
  to.doc = std::move(from.doc);
  to.symbols = std::move(from.symbols);
  to.constraints = std::move(from.constraints);
  to.inputs = std::move(from.inputs);
  for (Input& input : to.inputs) {
    const ValueId old = input.value;
    input.value = to.values.push(std::move(from.values[old]));
    map_[old] = input.value;
  }
}

ValueId Rebuild::mapped(ValueId value) const {
  FUSEC_CHECK(map_[value].valid(), "'" + from[value].name + "' is read but gone");
  return map_[value];
}

OpId Rebuild::move(OpId id, const IdVec<ValueId, char>* wanted) {
  Op op = std::move(from.ops[id]);
  for (Operand& operand : op.in)
    if (operand.is_value()) operand.value = mapped(operand.value);
  if (op.attrs.valid()) op.attrs = to.attributes.push(std::move(from.attributes[op.attrs]));
  const OpId made(to.ops.size());
  for (ValueId& result : op.out) {
    const ValueId old = result;
    result = ValueId();
    if (!old.valid() || (wanted && !(*wanted)[old])) continue;
    result = to.values.push(std::move(from.values[old]));
    to.values[result].def = made;
    map_[old] = result;
  }
  return to.ops.push(std::move(op));
}

Graph Rebuild::finish() {
  to.outputs = std::move(from.outputs);
  for (Output& output : to.outputs) output.value = mapped(output.value);
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
