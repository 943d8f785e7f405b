#include "graph/graph.h"

#include <algorithm>
#include <bit>

#include "support/check.h"

namespace fusec {

double Literal::as_double() const {
  return std::visit([](auto v) { return static_cast<double>(v); }, value);
}

bool Literal::operator==(const Literal& other) const {
  const double *a = std::get_if<double>(&value), *b = std::get_if<double>(&other.value);
  return a && b ? std::bit_cast<uint64_t>(*a) == std::bit_cast<uint64_t>(*b) : value == other.value;
}

const Attrs& Graph::attrs(const Op& op) const {
  static const Attrs kDefault;
  return op.attrs.valid() ? attributes[op.attrs] : kDefault;
}

Attrs& Graph::make_attrs(Op& op) {
  op.attrs = attributes.push(attrs(op));
  return attributes[op.attrs];
}

const std::string& Graph::name_of(OpId id) const {
  for (ValueId v : ops[id].out)
    if (v.valid()) return values[v].name;
  FUSEC_CHECK(false, "an op without results");
  return name;
}

IdVec<ValueId, std::vector<OpId>> users_of(const Graph& graph) {
  IdVec<ValueId, std::vector<OpId>> users(graph.values.size());
  for (size_t i = 0; i < graph.ops.size(); ++i)
    for (const Operand& operand : graph.ops[OpId(i)].in)
      if (operand.is_value() && (users[operand.value].empty() || users[operand.value].back() != OpId(i)))
        users[operand.value].push_back(OpId(i));
  return users;
}

DType literal_type(const Graph& graph, const Op& op) {
  // `where`'s first operand is a condition; its literals take the type of the other value.
  const size_t first = op.kind == OpKind::kWhere ? 1 : 0;
  for (size_t i = first; i < op.in.size(); ++i) {
    if (!op.in[i].is_value()) continue;
    const DType t = graph[op.in[i].value].dtype;
    return info(op.kind).result == ResultRule::kBool ? t : computing_type(t);
  }
  FUSEC_CHECK(false, "an op of literals only");
  return DType::kF32;
}

namespace {
std::vector<Size> layout(const Shape& shape, const std::optional<std::vector<int64_t>>& strides) {
  if (!strides) return row_major_strides(shape);
  return std::vector<Size>(strides->begin(), strides->end());
}
}  // namespace

std::vector<Size> strides_of(const Graph& graph, const Input& input) { return layout(graph[input.value].shape, input.strides); }
std::vector<Size> strides_of(const Graph& graph, const Output& output) { return layout(graph[output.value].shape, output.strides); }

Graph bind(const Graph& graph, const SymbolValues& values) {
  Graph bound = graph;
  auto fix = [&](Size& s) { s = Size(evaluate(s, values)); };
  auto fix_all = [&](std::vector<Size>& sizes) { std::for_each(sizes.begin(), sizes.end(), fix); };
  for (Value& v : bound.values) fix_all(v.shape);
  for (Attrs& a : bound.attributes) {
    for (auto* list : {&a.shape, &a.starts, &a.stops, &a.low, &a.high}) fix_all(*list);
    fix(a.k);
  }
  bound.symbols = {};
  bound.constraints.clear();
  return bound;
}

}  // namespace fusec
