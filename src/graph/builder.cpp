#include "graph/builder.h"

#include "support/check.h"

namespace fusec {

ValueId Builder::input(const std::string& name, DType dtype, Shape shape) {
  Value v;
  v.name = name;
  v.dtype = dtype;
  v.shape = std::move(shape);
  v.at = at;
  const ValueId id = graph_.values.push(std::move(v));
  Input input;
  input.value = id;
  input.at = at;
  graph_.inputs.push_back(std::move(input));
  return id;
}

void Builder::output(ValueId value) {
  Output output;
  output.value = value;
  output.name = graph_[value].name;
  output.at = at;
  graph_.outputs.push_back(std::move(output));
}

OpId Builder::op(OpKind kind, std::vector<Operand> in, const std::vector<std::string>& results, const Attrs* attrs, DType dtype) {
  Op made;
  made.kind = kind;
  made.in = std::move(in);
  made.at = at;
  made.origin = origin;
  const OpId id(graph_.ops.size());
  for (size_t r = 0; r < results.size(); ++r) {
    // An empty name is a result that nobody needs.
    ValueId value;
    if (!results[r].empty()) {
      Value v;
      v.name = results[r];
      v.dtype = dtype;
      v.def = id;
      v.result = static_cast<uint32_t>(r);
      v.at = at;
      value = graph_.values.push(std::move(v));
    }
    made.out.push_back(value);
  }
  if (attrs) made.attrs = graph_.attributes.push(*attrs);
  graph_.ops.push(std::move(made));
  Diagnostics diagnostics;
  const bool fine = infer_op(graph_, id, diagnostics);
  FUSEC_CHECK(fine, diagnostics.all().empty() ? "" : diagnostics.all()[0].text);
  return id;
}

ValueId Builder::value(OpKind kind, std::vector<Operand> in, const std::string& result, const Attrs* attrs, DType dtype) {
  return graph_[op(kind, std::move(in), {result}, attrs, dtype)].out[0];
}

}  // namespace fusec
