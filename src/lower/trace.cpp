#include "lower/trace.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <variant>

#include "graph/updates.h"
#include "kernel/visit.h"
#include "support/check.h"

namespace fusec {

namespace {

size_t mix(size_t h, size_t v) { return (h ^ v) * 0x9e3779b97f4a7c15ull + (h >> 29); }

size_t hash_of(const Size& s) {
  size_t h = static_cast<size_t>(s.constant());
  if (!s.is_constant())
    for (const Size::Term& t : s.terms()) h = mix(h, static_cast<size_t>(t.coefficient) + t.symbols.size());
  return h;
}

size_t hash_of(const Index& i) {
  size_t h = hash_of(i.constant);
  for (const auto& [atom, c] : i.terms) h = mix(mix(h, atom.index), hash_of(c));
  return h;
}

size_t hash_of(const Literal& literal) {
  return std::visit(
      [](auto v) {
        if constexpr (std::is_same_v<decltype(v), double>) return static_cast<size_t>(std::bit_cast<uint64_t>(v));
        else return static_cast<size_t>(v);
      },
      literal.value);
}

size_t hash_of(const std::vector<Index>& list) {
  size_t h = list.size();
  for (const Index& i : list) h = mix(h, hash_of(i));
  return h;
}

}  // namespace

uint32_t Tracer::intern(std::vector<Index> list) {
  if (list.empty()) return 0;
  auto& bucket = list_buckets_[hash_of(list)];
  for (uint32_t id : bucket)
    if (lists_[id] == list) return id;
  lists_.push_back(std::move(list));
  bucket.push_back(static_cast<uint32_t>(lists_.size() - 1));
  return bucket.back();
}

uint32_t Tracer::with_guards(uint32_t guard, const std::vector<Index>& more) {
  std::vector<Index> all = lists_[guard];
  for (const Index& g : more)
    if (std::find(all.begin(), all.end(), g) == all.end()) all.push_back(g);
  return intern(std::move(all));
}

NodeId Tracer::intern(Node node) {
  auto read = [&](const Index& index) {
    for (NodeId data : part_.space.data_of(index))
      if (std::find(node.in.begin(), node.in.end(), data) == node.in.end()) node.in.push_back(data);
  };
  read(node.index);
  for (const Index& g : node.guard) read(g);
  size_t h = mix(static_cast<size_t>(node.kind), static_cast<size_t>(node.dtype));
  for (NodeId n : node.in) h = mix(h, n.index);
  h = mix(mix(h, hash_of(node.index)), mix(node.buffer.index, hash_of(node.guard)));
  if (node.op.valid()) h = mix(h, static_cast<size_t>(graph_[node.op].kind));
  h = mix(mix(h, hash_of(node.constant)), mix(node.accumulator, node.result));
  auto& bucket = node_buckets_[h];
  for (NodeId id : bucket) {
    const Node& n = part_.nodes[id];
    const bool same_op = n.op == node.op || (n.op.valid() && node.op.valid() && graph_[n.op].kind == graph_[node.op].kind &&
                                             graph_.attrs(graph_[n.op]) == graph_.attrs(graph_[node.op]));
    if (n.kind == node.kind && n.dtype == node.dtype && n.in == node.in && n.index == node.index && n.buffer == node.buffer &&
        n.guard == node.guard && n.constant == node.constant && n.accumulator == node.accumulator && n.result == node.result &&
        n.extent == node.extent && n.check == node.check && same_op)
      return id;
  }
  bucket.push_back(part_.nodes.push(std::move(node)));
  return bucket.back();
}

Tracer::Operand Tracer::ask(ValueId value, std::vector<Index> indices, uint32_t guard) {
  return {false, {value, intern(std::move(indices)), guard, false}, {}};
}

Tracer::Operand Tracer::constant(const Literal& literal, DType dtype) {
  Node n;
  n.kind = Node::kConstant;
  n.dtype = dtype;
  n.constant = literal;
  return {true, {}, intern(std::move(n))};
}

std::vector<Index> Tracer::broadcast(const std::vector<Index>& indices, const Shape& from, const Shape& to) const {
  std::vector<Index> out;
  const size_t skip = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) out.push_back(from[d].is(1) ? Index() : indices[d + skip]);
  return out;
}

Index Tracer::linear(const std::vector<Index>& indices, const Shape& shape) {
  const std::vector<Size> strides = row_major_strides(shape);
  Index sum;
  for (size_t d = 0; d < shape.size(); ++d) sum = sum + indices[d] * strides[d];
  return part_.space.simplify(std::move(sum));
}

// Index of a reshape's operand (shape `to`) from the index of its result (shape `from`). Dimensions are matched in groups of
// equal products, so that only the groups that change take quotients and remainders.
std::vector<Index> Tracer::reshape(const std::vector<Index>& indices, const Shape& from, const Shape& to) {
  std::vector<Index> out(to.size());
  size_t i = from.size(), j = to.size();  // one past the last unmatched dimension
  while (i > 0 || j > 0) {
    const size_t i_end = i, j_end = j;
    Size p = 1, q = 1;
    if (i > 0) p = from[--i];
    if (j > 0) q = to[--j];
    while (!(p == q)) {
      if (i > 0 && (j == 0 || q.exact_quotient(p))) p *= from[--i];
      else if (j > 0) q *= to[--j];
      else break;  // zero-size shapes only
    }
    Index sum;
    Size stride = 1;
    for (size_t d = i_end; d-- > i;) {
      if (!from[d].is(1)) sum = sum + indices[d] * stride;
      stride *= from[d];
    }
    sum = part_.space.simplify(std::move(sum));
    size_t outermost = j;  // the outermost dimension of the group needs no remainder
    while (outermost + 1 < j_end && to[outermost].is(1)) ++outermost;
    for (size_t d = j_end; d-- > j;) {
      if (to[d].is(1)) continue;
      if (d == outermost) {
        out[d] = sum;
      } else {
        out[d] = part_.space.remainder(sum, to[d]);
        sum = part_.space.quotient(sum, to[d]);
      }
    }
  }
  return out;
}

void Tracer::recipe_view(const Op& op, const Request& request, Recipe& out) {
  const std::vector<Index> indices = lists_[request.tuple];
  const Attrs& a = graph_.attrs(op);
  const ValueId x = op.in[0].value;
  const Shape& shape = graph_[x].shape;
  const Shape& result = graph_[request.value].shape;
  std::vector<Index> mapped;
  switch (op.kind) {
    case OpKind::kReshape:
      mapped = reshape(indices, result, shape);
      break;
    case OpKind::kPermute:
      mapped.resize(shape.size());
      for (size_t d = 0; d < a.perm.size(); ++d) mapped[static_cast<size_t>(a.perm[d])] = indices[d];
      break;
    case OpKind::kSqueeze: {
      size_t next = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        const bool gone = std::find(a.dims.begin(), a.dims.end(), static_cast<int64_t>(d)) != a.dims.end();
        mapped.push_back(gone ? Index() : indices[next++]);
      }
      break;
    }
    case OpKind::kUnsqueeze:
      for (size_t d = 0; d < indices.size(); ++d)
        if (std::find(a.dims.begin(), a.dims.end(), static_cast<int64_t>(d)) == a.dims.end()) mapped.push_back(indices[d]);
      break;
    case OpKind::kExpand:
      mapped = broadcast(indices, shape, result);
      break;
    case OpKind::kSlice:
      for (size_t d = 0; d < indices.size(); ++d) mapped.push_back(Index(a.starts[d]) + indices[d] * Size(a.steps[d]));
      break;
    case OpKind::kFlip:
      mapped = indices;
      for (int64_t d : a.dims) mapped[static_cast<size_t>(d)] = Index(shape[static_cast<size_t>(d)] - 1) - indices[static_cast<size_t>(d)];
      break;
    default:
      FUSEC_CHECK(false, "not a view");
  }
  out.forward = true;
  out.operands.push_back(ask(x, std::move(mapped), request.guard));
}

void Tracer::recipe_pad(const Op& op, const Request& request, Recipe& out) {
  const std::vector<Index> indices = lists_[request.tuple];
  const Attrs& a = graph_.attrs(op);
  const ValueId x = op.in[0].value;
  const Shape& shape = graph_[x].shape;
  std::vector<Index> mapped, guards;
  bool outside = std::any_of(shape.begin(), shape.end(), [](const Size& s) { return s.is(0); });
  for (size_t d = 0; d < indices.size(); ++d) {
    mapped.push_back(indices[d] - Index(a.low[d]));
    const Index below = mapped[d], above = Index(shape[d] - 1) - mapped[d];
    for (const Index& g : {below, above}) {
      if (part_.space.is_negative(g)) outside = true;
      else if (!part_.space.is_nonnegative(g)) guards.push_back(g);
    }
  }
  const Operand fill = constant(a.value, graph_[request.value].dtype);
  out.forward = outside || guards.empty();
  if (outside) {
    out.operands.push_back(fill);
    return;
  }
  out.operands.push_back(ask(x, std::move(mapped), with_guards(request.guard, guards)));
  if (!guards.empty()) {
    out.operands.push_back(fill);
    out.select_guards.push_back(std::move(guards));
  }
}

// cat and stack: operand k for positions [begin_k, end_k) along the axis.
void Tracer::recipe_cat(const Op& op, const Request& request, Recipe& out) {
  const std::vector<Index> indices = lists_[request.tuple];
  const size_t axis = static_cast<size_t>(graph_.attrs(op).dim);
  const bool stack = op.kind == OpKind::kStack;
  const bool repeated = std::all_of(op.in.begin(), op.in.end(), [&](const fusec::Operand& o) { return o.value == op.in[0].value; });
  if (repeated && !stack && op.in.size() > 1) {  // a repetition needs no selection
    std::vector<Index> mapped = indices;
    mapped[axis] = part_.space.remainder(indices[axis], graph_[op.in[0].value].shape[axis]);
    out.operands.push_back(ask(op.in[0].value, std::move(mapped), request.guard));
    out.forward = true;
    return;
  }
  constexpr size_t kMaxUnrolledOperands = 4;
  const bool equal_extents = std::all_of(op.in.begin(), op.in.end(),
                                         [&](const fusec::Operand& o) { return graph_[o.value].shape == graph_[op.in[0].value].shape; });
  if (equal_extents && !stack && op.in.size() <= kMaxUnrolledOperands)  // asks for a variable that counts the operands
    part_.space.quotient(indices[axis], graph_[op.in[0].value].shape[axis]);
  Size begin = 0;
  for (const fusec::Operand& operand : op.in) {
    const Size extent = stack ? Size(1) : graph_[operand.value].shape[axis];
    const Size end = begin + extent;
    const Index after_begin = indices[axis] - Index(begin), before_end = Index(end - 1) - indices[axis];
    begin = end;
    if (extent.is(0) || part_.space.is_negative(after_begin) || part_.space.is_negative(before_end)) continue;
    std::vector<Index> guards;
    if (!part_.space.is_nonnegative(after_begin)) guards.push_back(after_begin);
    if (!part_.space.is_nonnegative(before_end)) guards.push_back(before_end);
    std::vector<Index> mapped = indices;
    if (stack) mapped.erase(mapped.begin() + static_cast<std::ptrdiff_t>(axis));
    else mapped[axis] = after_begin;
    out.operands.push_back(ask(operand.value, std::move(mapped), with_guards(request.guard, guards)));
    // Operands are tested in order, so only the end matters.
    out.select_guards.push_back(part_.space.is_nonnegative(before_end) ? std::vector<Index>{} : std::vector<Index>{before_end});
  }
  if (out.operands.empty()) {  // nothing is here: some guard around this value fails
    FUSEC_CHECK(request.guard != 0, "cat without a reachable operand");
    out.operands.push_back(constant(Literal{int64_t{0}}, graph_[request.value].dtype));
  } else {
    out.select_guards.pop_back();  // the last operand is the rest
  }
  out.forward = out.operands.size() == 1;
}

Tracer::Recipe Tracer::load(const Request& request) {
  Recipe out;
  const Place place = place_(request.value);
  out.node.dtype = graph_[request.value].dtype;
  out.node.buffer = place.buffer;
  out.node.kind = place.scalar ? Node::kScalar : Node::kLoad;
  if (place.scalar) return out;
  const std::vector<Index>& indices = lists_[request.tuple];
  Index sum;
  for (size_t d = 0; d < indices.size(); ++d) sum = sum + indices[d] * place.strides[d];
  out.node.index = part_.space.simplify(std::move(sum));
  out.node.guard = lists_[request.guard];
  return out;
}

Tracer::Recipe Tracer::recipe(const Request& request) {
  if (!computed_[request.value]) return load(request);
  const OpId id = graph_[request.value].def;
  const Op& op = graph_[id];
  Recipe out;
  out.node.dtype = graph_[request.value].dtype;
  out.node.op = id;
  if (info(op.kind).category == OpCategory::kGather) {
    recipe_gather(id, request, out);
  } else if (info(op.kind).category == OpCategory::kReduction) {
    recipe_reduction(id, request, out);
  } else if (op.kind == OpKind::kIndexPut && list_) {
    recipe_listed(id, request, out);
  } else if (op.kind == OpKind::kPad) {
    recipe_pad(op, request, out);
  } else if (op.kind == OpKind::kCat || op.kind == OpKind::kStack) {
    recipe_cat(op, request, out);
  } else if (is_view(op.kind)) {
    recipe_view(op, request, out);
  } else if (op.kind == OpKind::kCopy && out.node.dtype != DType::kF8E5M2) {  // (there, an op's result saturates)
    out.forward = true;
    out.operands.push_back(op.in[0].is_value() ? ask(op.in[0].value, lists_[request.tuple], request.guard)
                                               : constant(*op.in[0].literal, out.node.dtype));
  } else if (op.kind == OpKind::kFull) {
    out.forward = true;
    out.operands.push_back(constant(graph_.attrs(op).value, out.node.dtype));
  } else if (op.kind == OpKind::kIota) {
    out.node.kind = Node::kIndex;
    out.node.index = lists_[request.tuple][static_cast<size_t>(graph_.attrs(op).dim)];
  } else if (op.kind == OpKind::kUniform || op.kind == OpKind::kNormal) {
    out.node.kind = Node::kRandom;
    out.node.index = linear(lists_[request.tuple], graph_[request.value].shape);
  } else {
    FUSEC_CHECK(is_pointwise(op.kind), std::string(name_of(op.kind)) + " in a pointwise segment");
    out.node.kind = Node::kOp;
    const DType literals = literal_type(graph_, op);
    for (const fusec::Operand& operand : op.in) {
      if (operand.is_literal()) out.operands.push_back(constant(*operand.literal, literals));
      else
        out.operands.push_back(
            ask(operand.value, broadcast(lists_[request.tuple], graph_[operand.value].shape, graph_[request.value].shape), request.guard));
    }
  }
  return out;
}

namespace {

// What a reduction of no elements gives. (max, min, argmax and argmin of nothing are refused.)
Literal result_of_nothing(OpKind kind) {
  switch (kind) {
    case OpKind::kSum:
      return {int64_t{0}};
    case OpKind::kProd:
      return {int64_t{1}};
    case OpKind::kAll:
      return {true};
    case OpKind::kAny:
      return {false};
    case OpKind::kLogsumexp:
      return {-std::numeric_limits<double>::infinity()};
    default:
      return {std::numeric_limits<double>::quiet_NaN()};
  }
}

}  // namespace

void Tracer::recipe_reduction(OpId id, const Request& request, Recipe& out) {
  const Op& op = graph_[id];
  const Attrs& attrs = graph_.attrs(op);
  const ValueId x = op.in[0].value;
  const Shape& shape = graph_[x].shape;
  const bool is_position = op.kind == OpKind::kArgmax || op.kind == OpKind::kArgmin;
  const std::vector<int64_t> dims = is_position ? std::vector<int64_t>{attrs.dim} : attrs.dims;
  Shape extents;
  for (int64_t d : dims) extents.push_back(shape[static_cast<size_t>(d)]);
  const bool of_nothing = element_count(extents).is(0);
  FUSEC_CHECK(rows_ || of_nothing, std::string(name_of(op.kind)) + " in a pointwise segment");
  const std::vector<Index> row = lists_[request.tuple];
  auto along = [&](const Index& i) {
    return std::any_of(rows_->positions.begin(), rows_->positions.end(), [&](AtomId v) { return part_.space.depends_on(i, v); });
  };
  // A row that data chooses would be reduced once for each time it is chosen.
  const bool chosen = std::any_of(row.begin(), row.end(), [&](const Index& i) { return part_.space.reads_data(i); });
  if (rows_ && !chosen) rows_->rows.push_back(row);
  if (of_nothing) {
    out.forward = true;
    out.operands.push_back(constant(result_of_nothing(op.kind), out.node.dtype));
    return;
  }
  const auto before = rows_->reduced_before.find(id);
  const bool in_parts = before != rows_->reduced_before.end();
  const auto positions = rows_->position_of(in_parts ? Shape{before->second.layout.parts} : extents);
  if (!positions || chosen || std::any_of(row.begin(), row.end(), along)) {
    rows_->refused = id;
    out.forward = true;
    out.operands.push_back(constant(Literal{int64_t{0}}, out.node.dtype));
    return;
  }
  std::vector<Index> indices;
  size_t next_row = 0, next_reduced = 0;
  for (size_t d = 0; d < shape.size() && !in_parts; ++d) {
    const bool reduced = next_reduced < dims.size() && dims[next_reduced] == static_cast<int64_t>(d);
    if (reduced && attrs.keepdim) ++next_row;
    indices.push_back(reduced ? (*positions)[next_reduced++] : row[next_row++]);
  }
  // What guards a position guards the use of the result there, not the row.
  std::vector<Index> guards = lists_[request.guard];
  std::erase_if(guards, along);
  Accumulator a;
  a.kind = accumulator_kind(op.kind);
  a.dtype = accumulator_dtype(op.kind, graph_[x].dtype, graph_[request.value].dtype);
  a.count = element_count(extents);
  if (is_position) a.position = (*positions)[0];
  out.node.kind = Node::kReduce;
  out.node.result = graph_[request.value].result;
  if (in_parts) {
    Node load;
    load.kind = Node::kLoad;
    load.dtype = before->second.dtype;
    load.buffer = before->second.buffer;
    const Shape& result = graph_[request.value].shape;
    const PartLayout& layout = before->second.layout;
    const Index part = (*positions)[0];
    load.index = part * layout.stride + linear(row, result);
    if (layout.vector > 1) load.index = load.index + part_.space.remainder(part * Size(layout.each) + Index(layout.first), layout.vector);
    load.index = part_.space.simplify(std::move(load.index));
    load.guard = std::move(guards);
    out.operands.push_back({true, {}, intern(std::move(load))});
    out.accumulator = std::move(a);
    return;
  }
  out.operands.push_back(ask(x, std::move(indices), intern(std::move(guards))));
  if (request.mean) {  // in the accumulating type: it is subtracted before anything is rounded
    out.node.dtype = a.dtype;
    out.node.result = 1;
  }
  if (a.kind == Accumulator::kMoments && rows_->known_means) {
    a.kind = out.node.result == 1 ? Accumulator::kSum : Accumulator::kDeviations;
    if (a.kind == Accumulator::kDeviations) out.operands.push_back({false, {request.value, request.tuple, request.guard, true}, {}});
  }
  out.accumulator = std::move(a);
}

// The checked index as part of other indices.
Index Tracer::checked(OpId op, ValueId index_value, NodeId value, const Index& position, const Size& extent, uint32_t guard,
                      std::vector<Index>& more) {
  const CheckPlace place = lies_within(graph_, index_value, extent) ? CheckPlace{} : check_(op);
  Node node;
  node.kind = Node::kChecked;
  node.dtype = part_.nodes[value].dtype;
  node.op = op;
  node.in = {value};
  node.extent = extent;
  if (place.record.valid()) {
    node.index = position;
    node.guard = lists_[guard];
    node.buffer = place.record;
    node.check = place.number;
  }
  const NodeId id = intern(std::move(node));
  const Index index = part_.space.variable(
      part_.space.add_data(id, extent, variables_of_nodes(part_, rows_ ? rows_->positions : std::vector<AtomId>{})[id.index]));
  if (place.record.valid()) more.push_back(Index(extent - 1) - index);
  return index;
}

Index Tracer::index_at(OpId op, ValueId index, std::vector<Index> indices, const Size& extent, std::vector<Index>& guard) {
  const Index position = linear(indices, graph_[index].shape);
  const NodeId value = value_at(index, std::move(indices));
  return checked(op, index, value, position, extent, 0, guard);
}

// The index first; then x there.
void Tracer::recipe_gather(OpId id, const Request& request, Recipe& out) {
  const Op& op = graph_[id];
  const bool embedding = op.kind == OpKind::kEmbedding;
  const ValueId x = op.in[embedding ? 1 : 0].value, index = op.in[embedding ? 0 : 1].value;
  const Shape &x_shape = graph_[x].shape, &index_shape = graph_[index].shape;
  const size_t dim = embedding ? 0 : static_cast<size_t>(graph_.attrs(op).dim);
  const std::vector<Index> indices = lists_[request.tuple];
  std::vector<Index> of_index = indices, of_x = indices;
  if (embedding) {
    of_index.pop_back();
    of_x = {Index(), indices.back()};
  } else if (op.kind == OpKind::kIndexSelect) {
    of_index = {indices[dim]};
  } else if (op.kind == OpKind::kTakeAlongAxis) {
    of_index = broadcast(indices, index_shape, graph_[request.value].shape);
    of_x = broadcast(indices, x_shape, graph_[request.value].shape);
  }
  const Index position = linear(of_index, index_shape);
  const Size extent = x_shape.empty() ? Size(1) : x_shape[dim];
  out.forward = true;
  out.operands.push_back(ask(index, std::move(of_index), request.guard));
  out.then = [=, this, guard = request.guard, of_x = std::move(of_x), dtype = graph_[request.value].dtype](Recipe& recipe) mutable {
    std::vector<Index> guards;
    const Index at = checked(id, index, recipe.operands[0].node, position, extent, guard, guards);
    if (!of_x.empty()) of_x[dim] = at;
    if (extent.is(0)) recipe.operands.push_back(constant(Literal{int64_t{0}}, dtype));
    else recipe.operands.push_back(ask(x, std::move(of_x), with_guards(guard, guards)));
  };
}

Index Tracer::in_rows(std::vector<Index> indices, const Shape& shape, size_t dim) {
  Shape rows = shape;
  std::rotate(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(dim), rows.begin() + static_cast<std::ptrdiff_t>(dim) + 1);
  std::rotate(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(dim), indices.begin() + static_cast<std::ptrdiff_t>(dim) + 1);
  return linear(indices, rows);
}

Index Tracer::listed(OpId op, const Size& extent, int ahead) {
  FUSEC_CHECK(!part_.list, "two lists in one part");
  part_.list.emplace();
  part_.list->ahead = ahead;
  part_.serial = part_.space.add_variable("u", Size(ahead));
  Node item;
  item.kind = Node::kItem;
  item.dtype = DType::kI32;
  item.op = op;
  item.index = part_.space.variable(part_.serial);
  part_.list->item = intern(std::move(item));
  return part_.space.variable(part_.space.add_data(part_.list->item, extent, {part_.serial}));
}

void Tracer::recipe_listed(OpId id, const Request& request, Recipe& out) {
  const Op& op = graph_[id];
  const size_t dim = static_cast<size_t>(graph_.attrs(op).dim);
  const ListPlace list = list_(id);
  std::vector<Index> indices = lists_[request.tuple];
  const Index item = listed(id, graph_[op.in[1].value].shape[0], list.ahead), row = indices[dim];
  part_.list->slots = list.slots;
  auto load = [&](BufferId buffer, DType dtype, Index index) {
    Node n;
    n.kind = Node::kLoad;
    n.dtype = dtype;
    n.buffer = buffer;
    n.index = std::move(index);
    n.guard = lists_[request.guard];
    return n;
  };
  const NodeId count = intern(load(list.counts, DType::kI32, row * Size(list.apart)));
  part_.list->sums = list.sums;
  part_.list->copies = list.copies;
  part_.list->elems = element_count(graph_[op.in[0].value].shape).value();
  part_.list->element = in_rows(indices, graph_[op.in[0].value].shape, dim);
  out.node.kind = Node::kListed;
  out.node.buffer = list.places;
  out.node.index = row * Size(list.slots);
  out.operands.push_back(ask(op.in[0].value, indices, request.guard));
  indices[dim] = item;
  if (op.in[2].is_value()) out.operands.push_back(ask(op.in[2].value, std::move(indices), request.guard));
  else out.operands.push_back(constant(*op.in[2].literal, out.node.dtype));
  out.operands.push_back({true, {}, count});
}

NodeId Tracer::finish_reduction(Recipe& r) {
  Accumulator& a = *r.accumulator;
  a.operand = r.operands[0].node;
  if (r.operands.size() > 1) a.mean = r.operands[1].node;
  auto& all = part_.sweep->accumulators;
  const auto same = std::find_if(all.begin(), all.end(), [&](const Accumulator& other) {
    return other.kind == a.kind && other.dtype == a.dtype && other.operand == a.operand && other.mean == a.mean &&
           other.position == a.position && other.count == a.count;
  });
  r.node.accumulator = static_cast<uint32_t>(same - all.begin());
  if (same == all.end()) all.push_back(std::move(a));
  return intern(std::move(r.node));
}

NodeId Tracer::finish(Recipe r) {
  if (r.accumulator) return finish_reduction(r);
  if (r.forward) return r.operands.back().node;
  if (r.select_guards.empty()) {
    for (const Operand& o : r.operands) r.node.in.push_back(o.node);
    const bool listed = r.node.kind == Node::kListed;
    const NodeId node = intern(std::move(r.node));
    if (listed) part_.list->sum = node;
    return node;
  }
  NodeId rest = r.operands.back().node;
  for (size_t k = r.select_guards.size(); k-- > 0;) {
    if (r.select_guards[k].empty()) {
      rest = r.operands[k].node;
      continue;
    }
    Node select;
    select.kind = Node::kSelect;
    select.dtype = r.node.dtype;
    select.op = r.node.op;
    select.in = {r.operands[k].node, rest};
    select.guard = r.select_guards[k];
    rest = intern(std::move(select));
  }
  return rest;
}

// Depth first with a stack of its own: graphs may be thousands of ops deep.
NodeId Tracer::value_at(ValueId value, std::vector<Index> indices) {
  struct Pending {
    Request request;
    Recipe recipe;
    size_t next = 0;
  };
  const Request root{value, intern(std::move(indices)), 0, false};
  if (auto it = done_.find(root); it != done_.end()) return it->second;
  std::vector<Pending> stack;
  stack.push_back({root, recipe(root)});
  while (true) {
    Pending& top = stack.back();
    bool waits = false;
    for (; top.next < top.recipe.operands.size(); ++top.next) {
      Operand& o = top.recipe.operands[top.next];
      if (o.ready) continue;
      if (auto it = done_.find(o.request); it != done_.end()) {
        o.node = it->second;
        continue;
      }
      const Request request = o.request;
      stack.push_back({request, recipe(request)});
      waits = true;
      break;
    }
    if (waits) continue;
    if (top.recipe.then) {
      auto then = std::move(top.recipe.then);
      top.recipe.then = nullptr;
      then(top.recipe);
      continue;
    }
    const NodeId node = finish(std::move(top.recipe));
    done_[top.request] = node;
    stack.pop_back();
    if (stack.empty()) return node;
  }
}

}  // namespace fusec
