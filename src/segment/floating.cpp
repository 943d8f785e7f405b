#include "segment/floating.h"

#include <algorithm>

#include "support/byte_sum.h"

namespace fusec {

namespace {
constexpr float kMaxInstructions = 16;  // for one element: about what reading two bytes takes
constexpr float kLeastStep = 0.25f;     // bounds chains of free views
constexpr size_t kMaxLeaves = 16;
constexpr int64_t kTinyShare = 64;  // an operand this many times smaller than the result does not count
}  // namespace

Floating::Floating(const Facts& facts, const std::vector<OpId>& pinned)
    : facts_(facts),
      floats_(facts.graph.ops.size()),
      instructions_(facts.graph.ops.size()),
      leaves_(facts.graph.ops.size()),
      seen_(facts.graph.ops.size()) {
  for (OpId op : facts.ordered())
    if (std::find(pinned.begin(), pinned.end(), op) == pinned.end()) decide(op);
}

void Floating::decide(OpId id) {
  const Op& op = facts_.graph[id];
  const Role role = facts_.role(id);
  if (role != Role::kPointwise && role != Role::kView && role != Role::kCreation) return;
  const ValueId out = facts_.result(id);
  if (facts_.is_output(out)) return;
  for (OpId user : facts_.users(out))
    if (facts_.role(user) == Role::kLibrary) return;  // a library call reads its operands from memory
  const double elems = static_cast<double>(facts_.elems(out));
  float instructions = std::max(static_cast<float>(facts_.instructions(id)), kLeastStep);
  float deepest = 0;
  std::vector<Leaf> leaves;
  auto add = [&](ValueId v, int64_t bytes) {
    auto same = std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& l) { return l.value == v; });
    if (same == leaves.end()) leaves.push_back({v, bytes});
    else same->bytes = std::min(facts_.bytes(v), byte_sum(same->bytes, bytes));
  };
  for (size_t k = 0; k < op.in.size(); ++k) {
    if (!op.in[k].is_value()) continue;
    const ValueId v = op.in[k].value;
    const OpId def = facts_.graph[v].def;
    // An input that an output is written over must be read before the write: not again, later.
    if (!def.valid() && facts_.is_aliased_input(v)) return;
    const double share = facts_.elems(v) > 0 ? std::min(1.0, elems / static_cast<double>(facts_.elems(v))) : 0;
    if (def.valid() && floats_[def]) {
      for (const Leaf& l : leaves_[def]) add(l.value, static_cast<int64_t>(share * static_cast<double>(l.bytes)));
      deepest = op.kind == OpKind::kCat || op.kind == OpKind::kStack ? std::max(deepest, instructions_[def]) : deepest + instructions_[def];
    } else {
      add(v, static_cast<int64_t>(share * static_cast<double>(facts_.bytes(v))));
    }
    if (leaves.size() > kMaxLeaves) return;
  }
  instructions += deepest;
  if (instructions > kMaxInstructions) return;
  int64_t bytes = 0;
  const int64_t out_bytes = facts_.bytes(out);
  for (const Leaf& l : leaves)
    if (l.bytes > out_bytes / kTinyShare && facts_.elems(l.value) > 1) add_bytes(bytes, l.bytes);
  if (bytes > out_bytes) return;
  floats_[id] = 1;
  instructions_[id] = instructions;
  leaves_[id] = std::move(leaves);
}

std::vector<OpId> Floating::closure(const std::vector<OpId>& nodes) {
  ++stamp_;
  std::vector<OpId> ops = nodes;
  for (OpId op : nodes) seen_[op] = stamp_;
  for (size_t n = 0; n < ops.size(); ++n)
    for (const Operand& o : facts_.graph[ops[n]].in) {
      if (!o.is_value()) continue;
      const OpId def = facts_.graph[o.value].def;
      if (!def.valid() || !floats_[def] || seen_[def] == stamp_) continue;
      seen_[def] = stamp_;
      ops.push_back(def);
    }
  std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) { return facts_.rank(a) < facts_.rank(b); });
  return ops;
}

}  // namespace fusec
