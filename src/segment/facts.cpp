#include "segment/facts.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "support/check.h"

namespace fusec {

namespace {

Role role_of(OpKind kind) {
  switch (info(kind).category) {
    case OpCategory::kElementwise:
    case OpCategory::kConvert:
      return Role::kPointwise;
    case OpCategory::kShape:
      return Role::kView;
    case OpCategory::kCreation:
      return Role::kCreation;
    case OpCategory::kReduction:
      return Role::kReduction;
    case OpCategory::kScan:
      return Role::kScan;
    case OpCategory::kSort:
      return Role::kSort;
    case OpCategory::kGather:
      return Role::kGather;
    case OpCategory::kScatter:
      return Role::kScatter;
    case OpCategory::kMatmul:
      return Role::kLibrary;
    case OpCategory::kComposite:
      break;
  }
  FUSEC_CHECK(false, "a composite op reached segmentation");
  return Role::kPointwise;
}

float instructions_of(const Graph& graph, const Op& op) {
  const OpInfo& row = info(op.kind);
  switch (op.kind) {
    case OpKind::kReshape:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
    case OpKind::kExpand:
    case OpKind::kPermute:
    case OpKind::kFull:
      return 0;
    case OpKind::kSlice:
    case OpKind::kFlip:
      return 0.5f;
    case OpKind::kPad:
    case OpKind::kCat:
    case OpKind::kStack:
      return 2;
    case OpKind::kIota:
      return 2;
    case OpKind::kUniform:
      return 30;
    case OpKind::kNormal:
      return 60;
    case OpKind::kVar:
    case OpKind::kVarMean:
      return 8;
    case OpKind::kLogsumexp:
      return 16;
    case OpKind::kArgmax:
    case OpKind::kArgmin:
      return 4;
    default:
      break;
  }
  if (row.category == OpCategory::kGather) return 4;
  if (row.category == OpCategory::kScan) return 4;
  if (row.category == OpCategory::kSort) return 100;
  float cost = row.category == OpCategory::kConvert ? 1.0f : static_cast<float>(std::max(row.cost, 0));
  for (ValueId v : op.out)
    if (v.valid()) {
      const DType t = graph[v].dtype;
      // Double precision runs at half rate, its functions in software; f8 conversions take several instructions.
      if (t == DType::kF64) cost *= cost > 4 ? 6.0f : 2.0f;
      if (is_f8(t)) cost += 2;
      break;
    }
  return cost;
}

// A mixing step of splitmix64.
uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15ull + b + 0x632be59bd9b4e019ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

uint64_t hash_literal(const Literal& literal) {
  return std::visit(
      [](auto v) -> uint64_t {
        if constexpr (std::is_same_v<decltype(v), double>) return mix(2, std::bit_cast<uint64_t>(v));
        else return mix(1, static_cast<uint64_t>(v));
      },
      literal.value);
}

uint64_t hash_attrs(const Facts& facts, const Attrs& a) {
  uint64_t h = 17;
  auto sizes = [&](const std::vector<Size>& list) {
    h = mix(h, list.size());
    for (const Size& s : list) h = mix(h, static_cast<uint64_t>(facts.typical(s)));
  };
  auto numbers = [&](const std::vector<int64_t>& list) {
    h = mix(h, list.size());
    for (int64_t n : list) h = mix(h, static_cast<uint64_t>(n));
  };
  sizes(a.shape);
  for (const auto* list : {&a.starts, &a.stops, &a.low, &a.high}) sizes(*list);
  for (const auto* list : {&a.dims, &a.perm, &a.steps}) numbers(*list);
  for (const Literal* l : {&a.value, &a.start, &a.step}) h = mix(h, hash_literal(*l));
  h = mix(h, static_cast<uint64_t>(a.dim));
  h = mix(mix(h, a.seed), a.stream);
  const bool flags[] = {a.keepdim, a.exclusive, a.reverse, a.descending, a.stable, a.largest, a.sorted};
  for (bool f : flags) h = mix(h, f);
  h = mix(h, static_cast<uint64_t>(facts.typical(a.k)));
  return mix(mix(h, static_cast<uint64_t>(a.accumulate)), static_cast<uint64_t>(a.correction));
}

}  // namespace

Facts::Facts(const Graph& g, Order how) : graph(g), typical_(typical_values(g.symbols)) {
  measure();
  find_needed_and_users();
  classify();
  if (how == Order::kStructural) {
    order();
  } else {
    for (size_t i = 0; i < graph.ops.size(); ++i)
      if (needed(OpId(i))) ordered_.push_back(OpId(i));
  }
  for (size_t n = 0; n < ordered_.size(); ++n) rank_[ordered_[n]] = static_cast<uint32_t>(n);
}

void Facts::measure() {
  extents_at_ = IdVec<ValueId, uint32_t>(graph.values.size());
  elems_ = IdVec<ValueId, int64_t>(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    extents_at_[ValueId(i)] = static_cast<uint32_t>(pool_.size());
    int64_t n = 1;
    for (const Size& s : graph.values[ValueId(i)].shape) {
      pool_.push_back(typical(s));
      n *= pool_.back();
    }
    elems_[ValueId(i)] = n;
  }
}

void Facts::find_needed_and_users() {
  is_output_ = IdVec<ValueId, uint8_t>(graph.values.size());
  aliased_input_ = IdVec<ValueId, uint8_t>(graph.values.size());
  rank_ = IdVec<OpId, uint32_t>(graph.ops.size(), UINT32_MAX);
  std::vector<OpId> stack;
  auto need = [&](ValueId v) {
    const OpId def = graph[v].def;
    if (!def.valid() || rank_[def] == 0) return;
    rank_[def] = 0;
    stack.push_back(def);
  };
  for (const Output& o : graph.outputs) {
    is_output_[o.value] = 1;
    if (o.alias && graph[o.value].def.valid()) aliased_input_[graph.inputs[*o.alias].value] = 1;
    need(o.value);
  }
  while (!stack.empty()) {
    const OpId op = stack.back();
    stack.pop_back();
    for (const Operand& operand : graph[op].in)
      if (operand.is_value()) need(operand.value);
  }
  // Users in two passes over the operands: counts, then places.
  users_at_.assign(graph.values.size() + 1, 0);
  auto each_use = [&](auto&& use) {
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const Op& op = graph.ops[OpId(i)];
      if (rank_[OpId(i)] != 0) continue;
      for (size_t k = 0; k < op.in.size(); ++k) {
        if (!op.in[k].is_value()) continue;
        bool again = false;
        for (size_t j = 0; j < k && !again; ++j) again = op.in[j].value == op.in[k].value;
        if (!again) use(op.in[k].value, OpId(i));
      }
    }
  };
  each_use([&](ValueId v, OpId) { ++users_at_[v.index + 1]; });
  std::partial_sum(users_at_.begin(), users_at_.end(), users_at_.begin());
  users_.resize(users_at_.back());
  std::vector<uint32_t> next(users_at_.begin(), users_at_.end() - 1);
  each_use([&](ValueId v, OpId op) { users_[next[v.index]++] = op; });
}

void Facts::classify() {
  roles_ = IdVec<OpId, Role>(graph.ops.size());
  instructions_ = IdVec<OpId, float>(graph.ops.size());
  in_place_ = IdVec<OpId, uint8_t>(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!needed(OpId(i))) continue;
    const Op& op = graph.ops[OpId(i)];
    roles_[OpId(i)] = role_of(op.kind);
    instructions_[OpId(i)] = instructions_of(graph, op);
  }
  for (const Output& o : graph.outputs) {
    const OpId def = graph[o.value].def;
    if (!o.alias || !def.valid() || roles_[def] != Role::kScatter) continue;
    in_place_[def] = graph[def].in[0].value == graph.inputs[*o.alias].value;
  }
}

ValueId Facts::result(OpId op) const {
  for (ValueId v : graph[op].out)
    if (v.valid()) return v;
  FUSEC_CHECK(false, "an op without results");
  return {};
}

int64_t Facts::work(OpId op) const {
  const Op& o = graph[op];
  switch (roles_[op]) {
    case Role::kReduction:
    case Role::kScan:
    case Role::kSort:
      return elems(o.in[0].value);
    case Role::kScatter: {
      const int64_t index = elems(o.in[1].value);
      if (o.kind == OpKind::kScatter) return index;
      // index_put: whole slices of the result, one for each index
      const auto shape = extents(result(op));
      const int64_t along = shape[static_cast<size_t>(graph.attrs(o).dim)];
      return along == 0 ? 0 : elems(result(op)) / along * index;
    }
    case Role::kLibrary: {
      // multiply–adds: result elements × the contracted extent
      const auto a = extents(o.in[0].value);
      return elems(result(op)) * (a.empty() ? 1 : a.back());
    }
    default:
      return elems(result(op));
  }
}

std::vector<int64_t> Facts::inner_dims(OpId op) const {
  const Op& o = graph[op];
  const Attrs& a = graph.attrs(o);
  switch (roles_[op]) {
    case Role::kReduction:
      if (o.kind == OpKind::kArgmax || o.kind == OpKind::kArgmin) return {a.dim};
      return a.dims;
    case Role::kScan:
    case Role::kSort:
    case Role::kScatter:
      return {a.dim};
    default:
      return {};
  }
}

void Facts::order() {
  // Kahn's algorithm over the needed ops: a topological order and each op's level.
  IdVec<OpId, uint32_t> waiting(graph.ops.size()), level(graph.ops.size());
  std::vector<OpId> topological;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (rank_[OpId(i)] != 0) continue;
    const Op& op = graph.ops[OpId(i)];
    for (size_t k = 0; k < op.in.size(); ++k) {
      if (!op.in[k].is_value() || !graph[op.in[k].value].def.valid()) continue;
      bool again = false;
      for (size_t j = 0; j < k && !again; ++j) again = op.in[j].value == op.in[k].value;
      waiting[OpId(i)] += !again;
    }
    if (waiting[OpId(i)] == 0) topological.push_back(OpId(i));
  }
  for (size_t n = 0; n < topological.size(); ++n)
    for (ValueId v : graph[topological[n]].out) {
      if (!v.valid()) continue;
      for (OpId user : users(v)) {
        level[user] = std::max(level[user], level[topological[n]] + 1);
        if (--waiting[user] == 0) topological.push_back(user);
      }
    }
  // Two structural hashes an op: of everything that follows from it, then of that and everything it is made from.
  IdVec<OpId, uint64_t> after(graph.ops.size()), full(graph.ops.size()), attrs(graph.ops.size());
  auto sum_of_uses = [&](ValueId v) {
    uint64_t sum = is_output_[v];
    for (OpId user : users(v))
      for (size_t k = 0; k < graph[user].in.size(); ++k)
        if (graph[user].in[k].value == v) sum += mix(after[user], k);
    return sum;
  };
  for (size_t n = topological.size(); n-- > 0;) {
    const OpId id = topological[n];
    const Op& op = graph[id];
    attrs[id] = mix(static_cast<uint64_t>(op.kind), op.attrs.valid() ? hash_attrs(*this, graph.attrs(op)) : 0);
    for (ValueId v : op.out) attrs[id] = mix(attrs[id], v.valid() ? 1 + static_cast<uint64_t>(graph[v].dtype) : 0);
    uint64_t h = attrs[id];
    for (ValueId v : op.out) h = mix(h, v.valid() ? sum_of_uses(v) : 0);
    after[id] = h;
  }
  IdVec<ValueId, uint64_t> value_full(graph.values.size());
  for (const Input& input : graph.inputs) {
    uint64_t h = mix(static_cast<uint64_t>(graph[input.value].dtype), sum_of_uses(input.value));
    for (int64_t e : extents(input.value)) h = mix(h, static_cast<uint64_t>(e));
    value_full[input.value] = mix(h, aliased_input_[input.value]);
  }
  for (OpId id : topological) {
    const Op& op = graph[id];
    uint64_t h = mix(attrs[id], after[id]);
    for (const Operand& operand : op.in)
      h = mix(h, operand.is_value() ? value_full[operand.value] : operand.is_literal() ? hash_literal(*operand.literal) : 3);
    full[id] = h;
    for (size_t r = 0; r < op.out.size(); ++r)
      if (op.out[r].valid()) value_full[op.out[r]] = mix(mix(h, r), static_cast<uint64_t>(graph[op.out[r]].dtype));
  }
  ordered_ = std::move(topological);
  std::stable_sort(ordered_.begin(), ordered_.end(), [&](OpId a, OpId b) {
    if (level[a] != level[b]) return level[a] < level[b];
    if (full[a] != full[b]) return full[a] < full[b];
    return a < b;
  });
}

}  // namespace fusec
