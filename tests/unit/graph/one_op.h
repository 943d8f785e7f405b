// One op on inputs of given types, for tests of its rules.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "graph/builder.h"
#include "graph/verify.h"

namespace fusec {

struct Type {
  DType dtype;
  Shape shape;
};
using Argument = std::variant<Type, Literal>;

inline Literal number(double d) { return {d}; }
inline Literal integer(int64_t i) { return {i}; }
inline Literal boolean(bool b) { return {b}; }

struct OneOp {
  Graph graph;
  OpKind kind;
  Attrs attrs;
  DType dtype = DType::kF32;  // of the result of casts and creation ops
  Diagnostics diagnostics;

  explicit OneOp(OpKind k) : kind(k), attrs(default_attrs(k)) {}

  // "f32[2,3]", several results one after the other, or "word: message".
  std::string on(const std::vector<Argument>& arguments) {
    Builder builder(graph);
    Op op;
    op.kind = kind;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (const Type* type = std::get_if<Type>(&arguments[i]))
        op.in.push_back(operand(builder.input(std::string(1, static_cast<char>('a' + i)), type->dtype, type->shape)));
      else op.in.push_back(operand(std::get<Literal>(arguments[i])));
    }
    for (int r = 0; r < info(kind).results; ++r) {
      Value v;
      v.name = "y" + std::to_string(r);
      v.dtype = dtype;
      v.def = OpId(0);
      v.result = static_cast<uint32_t>(r);
      op.out.push_back(graph.values.push(v));
    }
    if (!info(kind).attributes.empty()) op.attrs = graph.attributes.push(attrs);
    graph.ops.push(op);
    if (!infer_op(graph, OpId(0), diagnostics)) return diagnostics.all().at(0).word + ": " + diagnostics.all()[0].text;
    builder.output(graph.ops[OpId(0)].out.back());
    verify(graph);  // what infer_op leaves is in normal form
    std::string text;
    for (ValueId v : graph[OpId(0)].out)
      text += (text.empty() ? "" : " ") + std::string(name_of(graph[v].dtype)) + to_string(graph[v].shape, graph.symbols);
    return text;
  }
  const Attrs& normalized() const { return graph.attrs(graph[OpId(0)]); }
};

inline std::string rule(OpKind kind, const std::vector<Argument>& arguments, const std::function<void(Attrs&)>& set = [](Attrs&) {}) {
  OneOp one(kind);
  set(one.attrs);
  return one.on(arguments);
}

}  // namespace fusec
