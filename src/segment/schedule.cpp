#include "segment/schedule.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "graph/updates.h"
#include "support/byte_sum.h"

namespace fusec {

namespace {

constexpr int64_t kInlineReduction = 16;   // elements that one thread reduces in a loop
constexpr int64_t kOneBlockElems = 16384;  // elements that one block scans or scatters; longer rows are sorted by many
constexpr double kL2Share = 0.75;          // of the L2 cache, for rows that are read again
constexpr int64_t kClusterBlocks = 8;      // portable cluster size, sm_90 and later
constexpr int64_t kElemsPerClusterBlock = 4096;
constexpr uint8_t kMaxPhases = 24;         // barriers between anchors of one kernel
constexpr float kRemakeInstructions = 32;  // a row's value that takes more is held, not made again from what is held

struct RuleRow {
  Rule rule;
  const char* name;
};
constexpr RuleRow kRules[] = {
    {Rule::kNone, "none"},
    {Rule::kGridWide, "grid-wide dependence"},
    {Rule::kRowTooLong, "row too long"},
    {Rule::kAxesDiffer, "the axes differ"},
    {Rule::kNoSchedule, "no schedule holds both"},
    {Rule::kLibrary, "a matrix product stands alone"},
    {Rule::kTooManyOps, "too many ops in one kernel"},
    {Rule::kTooManyPhases, "too many phases"},
    {Rule::kTooManyCopies, "too many copies of an op"},
    {Rule::kParameters, "kernel parameters"},
    {Rule::kCycle, "cycle"},
    {Rule::kCost, "cost"},
    {Rule::kAsked, "asked to be apart"},
    {Rule::kDrawn, "drawn at random"},
};

const char* noun(Role role) {
  switch (role) {
    case Role::kReduction:
      return "reduction";
    case Role::kScan:
      return "scan";
    case Role::kSort:
      return "sort";
    case Role::kScatter:
      return "scatter";
    default:
      return "matrix product";
  }
}

}  // namespace

const char* name_of(Rule rule) { return kRules[static_cast<size_t>(rule)].name; }

size_t max_pointers(const Target& target) { return static_cast<size_t>((target.max_params_bytes - 64) / 8); }

std::string grid_wide_words(const Facts& facts, OpId anchor, OpId user) {
  const bool full = facts.role(anchor) == Role::kReduction && facts.elems(facts.result(anchor)) == 1;
  return "grid-wide dependence: `" + facts.graph.name_of(anchor) + "` is a " + (full ? "full " : "") + noun(facts.role(anchor)) + " over " +
         std::to_string(facts.work(anchor)) + " elements and `" + facts.graph.name_of(user) + "` needs it everywhere";
}

// One question to the scheduler, with what every family needs to know.
struct Scheduler::Case {
  const std::vector<OpId>& ops;
  const std::vector<ValueId>& roots;
  std::vector<uint8_t> depends;  // by place: depends on an anchor among the ops
  std::vector<uint8_t> phase;    // by place: anchors on the longest path to it, at most kMaxPhases + 1
  std::vector<OpId> anchors;
  bool chained = false;  // an anchor depends on another
  bool from_memory_again = false;
};

Scheduler::Scheduler(const Facts& facts, const Target& target)
    : facts_(facts),
      target_(target),
      rows_(facts),
      member_(facts.graph.ops.size()),
      place_(facts.graph.ops.size()),
      read_mask_(facts.graph.values.size()),
      read_stamp_(facts.graph.values.size()) {}

Plan Scheduler::plan(const std::vector<OpId>& ops, const std::vector<ValueId>& roots, bool from_memory_again) {
  Plan plan;
  Case c{ops, roots, std::vector<uint8_t>(ops.size()), std::vector<uint8_t>(ops.size()), {}, false, from_memory_again};
  ++stamp_;
  for (size_t n = 0; n < ops.size(); ++n) {
    member_[ops[n]] = stamp_;
    place_[ops[n]] = static_cast<uint32_t>(n);
    for (const Operand& o : facts_.graph[ops[n]].in) {
      if (!o.is_value()) continue;
      const OpId def = facts_.graph[o.value].def;
      if (!def.valid() || member_[def] != stamp_) continue;
      const size_t d = place_[def];
      c.depends[n] |= c.depends[d] | facts_.is_anchor(def);
      c.phase[n] =
          std::max<uint8_t>(c.phase[n], static_cast<uint8_t>(std::min<int>(kMaxPhases + 1, c.phase[d] + (facts_.is_anchor(def) ? 1 : 0))));
    }
    if (facts_.is_anchor(ops[n])) {
      c.anchors.push_back(ops[n]);
      c.chained |= c.depends[n] != 0;
    }
  }
  if (c.anchors.empty()) {
    plan.ok = true;
    return plan;
  }
  // The families, the one that keeps all multiprocessors busy first; where several accept, the most parallel one.
  Plan best;
  auto consider = [&](bool accepted) {
    if (accepted && (!best.ok || plan.parallel > best.parallel)) best = plan, best.ok = true;
    if (!accepted && best.refusal.rule == Rule::kNone) best.refusal = plan.refusal;
    plan = {};
    return best.ok && best.parallel == 1;
  };
  if (std::any_of(c.anchors.begin(), c.anchors.end(), [&](OpId a) { return facts_.role(a) == Role::kLibrary; })) {
    consider(library(c, plan));
    return best;
  }
  if (*std::max_element(c.phase.begin(), c.phase.end()) > kMaxPhases) {
    best.refusal = {Rule::kTooManyPhases, "too many phases: more than " + std::to_string(kMaxPhases) + " anchors in a row in one kernel"};
    return best;
  }
  if (consider(single_pass(c, plan)) || consider(inline_loops(c, plan))) return best;
  best.refusal = {};
  if (consider(by_rows(c, plan, false))) return best;
  const Refusal reason = best.refusal;
  if (!consider(by_rows(c, plan, true))) consider(one_block(c, plan));
  best.refusal = best.ok ? refuse_grid_wide(c, {}) : reason;
  return best;
}

bool Scheduler::library(const Case& c, Plan& plan) {
  plan.kind = SegmentKind::kLibrary;
  size_t products = 0;
  for (OpId op : c.ops) {
    const OpKind kind = facts_.graph[op].kind;
    if (facts_.role(op) == Role::kLibrary) ++products;
    else if (kind != OpKind::kReshape && kind != OpKind::kSqueeze && kind != OpKind::kUnsqueeze) products = 2;
  }
  if (products == 1) return true;
  for (OpId op : c.anchors)
    if (facts_.role(op) == Role::kLibrary)
      plan.refusal = {Rule::kLibrary, "`" + facts_.graph.name_of(op) + "` is a matrix product: a library call of its own"};
  return false;
}

// A scatter by the order of a long sort is stored where the sort stores, if nothing in the kernel reads it.
bool Scheduler::stored_by_sort(const Case& c, OpId sort, OpId scatter) const {
  const Op& op = facts_.graph[scatter];
  if (facts_.role(sort) != Role::kSort || op.kind != OpKind::kScatter || !c.depends[place_[scatter]]) return false;
  if (row_elems(sort) <= kOneBlockElems || !stores_permutation(facts_.graph, op)) return false;
  return std::none_of(c.ops.begin(), c.ops.end(), [&](OpId user) {
    const auto& in = facts_.graph[user].in;
    return std::any_of(in.begin(), in.end(), [&](const Operand& o) { return o.value == op.out[0]; });
  });
}

// Elements of what an anchor takes together.
int64_t Scheduler::row_elems(OpId anchor) const {
  int64_t inner = 1;
  for (int64_t e : axes_signature(facts_, anchor)) inner *= e < 0 ? -e : 1;
  return inner;
}

// Anchors of one kind over one iteration space, none after another: prologues before, an epilogue at the place of each result after.
bool Scheduler::single_pass(const Case& c, Plan& plan) {
  const OpId first = c.anchors[0];
  const Role role = facts_.role(first);
  plan.refusal = {Rule::kNoSchedule, "no schedule holds both"};
  const auto signature = axes_signature(facts_, first);
  bool chained = false;
  for (OpId a : c.anchors) {
    if (a != first && stored_by_sort(c, first, a)) continue;
    chained |= c.depends[place_[a]] != 0;
    if (facts_.role(a) != role) {
      plan.refusal.words = std::string("no schedule holds both the ") + noun(role) + " `" + facts_.graph.name_of(first) + "` and the " +
                           noun(facts_.role(a)) + " `" + facts_.graph.name_of(a) + "`";
      return false;
    }
    const bool alike = role == Role::kScatter ? facts_.work(a) == facts_.work(first) : axes_signature(facts_, a) == signature;
    if (alike && (role != Role::kSort || a == first)) continue;
    plan.refusal = {Rule::kAxesDiffer, "the axes differ: `" + facts_.graph.name_of(first) + "` and `" + facts_.graph.name_of(a) +
                                           "` work over different axes"};
    return false;
  }
  if (chained) return false;
  const int64_t out = facts_.elems(facts_.result(first)), work = facts_.work(first);
  for (size_t n = 0; n < c.ops.size(); ++n) {
    if (!c.depends[n]) continue;
    // (a scatter's result is complete only when every update is done)
    const Op& op = facts_.graph[c.ops[n]];
    const bool in_place = facts_.role(c.ops[n]) == Role::kPointwise || op.kind == OpKind::kReshape || op.kind == OpKind::kSqueeze ||
                          op.kind == OpKind::kUnsqueeze;
    const bool stored = facts_.is_anchor(c.ops[n]) && stored_by_sort(c, first, c.ops[n]);
    if (facts_.elems(facts_.result(c.ops[n])) != out || (!in_place && !stored && op.kind != OpKind::kPermute)) return false;
    if (role == Role::kScatter && facts_.role(c.ops[n]) == Role::kPointwise) return false;
  }
  for (ValueId root : c.roots) {
    const OpId def = facts_.graph[root].def;
    const bool prologue = !facts_.is_anchor(def) && !c.depends[place_[def]];
    if (prologue && facts_.elems(root) != work && facts_.elems(root) != out && facts_.elems(root) > 1024) return false;
  }
  constexpr SegmentKind kinds[] = {SegmentKind::kReduction, SegmentKind::kScan, SegmentKind::kSort, SegmentKind::kScatter};
  plan.kind = kinds[static_cast<size_t>(role) - static_cast<size_t>(Role::kReduction)];
  plan.refusal = {};
  return true;
}

// A block or cluster takes each row through all phases. `across`: reductions over the leading axis are finished after the rows.
bool Scheduler::by_rows(const Case& c, Plan& plan, bool across) {
  std::vector<OpId> outer;
  if (across) {
    for (OpId a : c.anchors) {
      if (c.depends[place_[a]] || facts_.role(a) != Role::kReduction) continue;
      const auto signature = axes_signature(facts_, a);
      if (!signature.empty() && signature[0] < 0) outer.push_back(a);
    }
    if (outer.empty() || outer.size() == c.anchors.size()) {
      plan.refusal = {Rule::kAxesDiffer, "the axes differ"};
      return false;
    }
  }
  const RowMapping mapping = rows_.map(c.ops, c.depends, outer);
  if (!mapping.ok) {
    plan.refusal = refuse_grid_wide(c, mapping.mixed_at);
    return false;
  }
  if (!rows_fit_anchors(c, plan)) return false;
  int64_t iteration = 0;
  int64_t together = 1;  // rows that a block takes at once
  const int64_t row_bytes = held_bytes(c, mapping.rows, iteration, together);
  const double sms = target_.multiprocessors;
  const bool clusters = arch_number(target_) >= 90;
  const int64_t block = target_.shared_bytes_per_block * 9 / 10;
  const bool fits = row_bytes <= block || (clusters && row_bytes <= kClusterBlocks * block) ||
                    static_cast<double>(row_bytes) * std::min(std::ceil(mapping.rows / static_cast<double>(together)), sms) <=
                        kL2Share * static_cast<double>(target_.l2_bytes) ||
                    c.from_memory_again;
  if (!fits) {
    plan.refusal = mapping.rows > 1 && !mapping.mixed_at.valid()
                       ? Refusal{Rule::kRowTooLong, "row too long: a row of " + std::to_string(row_bytes) + " bytes, needed again after `" +
                                                        facts_.graph.name_of(c.anchors[0]) +
                                                        "`, exceeds what a block, a cluster or the L2 cache can hold between phases"}
                       : refuse_grid_wide(c, mapping.mixed_at);
    return false;
  }
  // Whole-row values stored beside the rows' own must be of the rows' iteration space.
  for (ValueId root : c.roots) {
    const OpId def = facts_.graph[root].def;
    if (facts_.is_anchor(def) || c.depends[place_[def]]) continue;
    const int64_t elems = facts_.elems(root);
    if (elems == iteration || static_cast<double>(elems) <= mapping.rows || elems <= 1024) continue;
    plan.refusal = {Rule::kNoSchedule, "no schedule holds both: `" + facts_.graph[root].name + "` is not of the rows' size"};
    return false;
  }
  // Reductions across rows share the rows' pass only where they reduce the same elements, or what the rows gave.
  for (OpId a : mapping.outer) {
    const bool again = !c.depends[place_[a]] && reads_columns_again(target_, static_cast<int64_t>(mapping.rows), iteration);
    const double partial = again ? 0 : 8 * std::min(mapping.rows, sms) * static_cast<double>(facts_.elems(facts_.result(a)));
    add_bytes(plan.partial_bytes, static_cast<int64_t>(std::min(partial, 9e18)));
    if (facts_.work(a) == iteration || c.depends[place_[a]]) continue;
    plan.refusal = {Rule::kAxesDiffer, "the axes differ: `" + facts_.graph.name_of(a) + "` reduces other elements than the rows"};
    return false;
  }
  const int64_t row_elems = static_cast<int64_t>(static_cast<double>(iteration) / mapping.rows);
  const int64_t split = clusters ? std::clamp<int64_t>(row_elems / kElemsPerClusterBlock, 1, kClusterBlocks) : 1;
  plan.parallel = std::min(1.0, mapping.rows * static_cast<double>(split) / sms);
  plan.kind = SegmentKind::kPersistent;
  for (OpId a : c.anchors) {
    if (facts_.role(a) == Role::kSort) plan.kind = SegmentKind::kSort;
    else if (facts_.role(a) == Role::kScan && plan.kind != SegmentKind::kSort) plan.kind = SegmentKind::kScan;
    else if (facts_.role(a) == Role::kScatter && plan.kind <= SegmentKind::kPersistent) plan.kind = SegmentKind::kScatter;
  }
  return true;
}

// A block sorts a row, and keeps the row of a table that it scatters into, in its shared memory.
bool Scheduler::rows_fit_anchors(const Case& c, Plan& plan) const {
  for (OpId a : c.anchors) {
    const ValueId table = facts_.graph[a].in[0].value;
    const auto signature = axes_signature(facts_, a);
    const int64_t inner = row_elems(a);
    const bool contiguous = signature.empty() || signature.back() < 0;
    const int64_t bytes = inner * bytes_of(facts_.graph[table].dtype);
    const std::string name = "`" + facts_.graph.name_of(a) + "`";
    if (facts_.role(a) == Role::kSort && inner > kOneBlockElems)
      plan.refusal = {Rule::kRowTooLong,
                      "row too long: a row of " + std::to_string(inner) + " elements is more than one block sorts (" + name + ")"};
    else if (facts_.role(a) == Role::kScatter && (!contiguous || bytes > target_.shared_bytes_per_block))
      plan.refusal = refuse_grid_wide(c, {});
    else continue;
    return false;
  }
  return true;
}

// Bytes that a block must keep from one phase to a later one, at the phase where that is most, for the rows that it takes `together`.
// `iteration`: elements of the largest anchor's operand.
int64_t Scheduler::held_bytes(const Case& c, double rows, int64_t& iteration, int64_t& together) {
  for (OpId a : c.anchors) iteration = std::max(iteration, facts_.work(a));
  const double large = static_cast<double>(iteration) / 2;
  // The phases in which each op's result is used: a value that depends on no anchor is computed in every phase that uses it.
  std::vector<uint32_t> used(c.ops.size());
  std::vector<ValueId> reads;
  auto phases_of = [&](size_t n) { return c.depends[n] || facts_.is_anchor(c.ops[n]) ? 1u << c.phase[n] : used[n] ? used[n] : 1u; };
  for (size_t n = c.ops.size(); n-- > 0;) {
    const bool whole_rows = facts_.is_anchor(c.ops[n]) || static_cast<double>(facts_.elems(facts_.result(c.ops[n]))) >= large;
    for (const Operand& o : facts_.graph[c.ops[n]].in) {
      if (!o.is_value()) continue;
      const OpId def = facts_.graph[o.value].def;
      if (def.valid() && member_[def] == stamp_) {
        used[place_[def]] |= phases_of(n);
        continue;
      }
      if (read_stamp_[o.value] != stamp_) {
        read_stamp_[o.value] = stamp_;
        read_mask_[o.value] = 0;
        reads.push_back(o.value);
      }
      if (whole_rows) read_mask_[o.value] |= phases_of(n);  // gathered and sliced parts are not the row
    }
  }
  double held[kMaxPhases + 2] = {};
  auto hold = [&](uint32_t first, uint32_t phases, ValueId v) {
    // (of a table that rows are picked from, as much as the rows' space)
    const double bytes = static_cast<double>(std::min(facts_.elems(v), iteration) * bytes_of(facts_.graph[v].dtype));
    for (uint32_t p = first; (phases >> (p + 1)) != 0; ++p) held[p] += bytes / rows;
  };
  int64_t narrowest = 8;
  for (ValueId v : reads) {
    if (std::popcount(read_mask_[v]) < 2 || static_cast<double>(facts_.elems(v)) < large) continue;
    hold(static_cast<uint32_t>(std::countr_zero(read_mask_[v])), read_mask_[v], v);
    narrowest = std::min<int64_t>(narrowest, bytes_of(facts_.graph[v].dtype));
  }
  // Results of anchors with several elements a row, and values that are dear to make again from what is held.
  std::vector<float> remake(c.ops.size());
  for (size_t n = 0; n < c.ops.size(); ++n) {
    const ValueId v = facts_.result(c.ops[n]);
    const uint32_t first = facts_.is_anchor(c.ops[n]) || c.depends[n] ? c.phase[n] : static_cast<uint32_t>(std::countr_zero(phases_of(n)));
    if (facts_.is_anchor(c.ops[n])) {
      if (static_cast<double>(facts_.elems(v)) > rows) hold(first, used[n], v);
      continue;
    }
    remake[n] = static_cast<float>(facts_.instructions(c.ops[n]));
    for (const Operand& o : facts_.graph[c.ops[n]].in)
      if (const OpId def = o.is_value() ? facts_.graph[o.value].def : OpId(); def.valid() && member_[def] == stamp_)
        remake[n] += remake[place_[def]];
    if (remake[n] <= kRemakeInstructions || (used[n] >> (first + 1)) == 0 || static_cast<double>(facts_.elems(v)) < large) continue;
    hold(first, used[n], v);
    remake[n] = 0;
  }
  // Where the fastest axis is not in the row, a block takes a sector's worth of neighbouring rows.
  for (OpId a : c.anchors) {
    const auto signature = axes_signature(facts_, a);
    if (!signature.empty() && signature.back() > 0)
      together = std::max(together, std::min<int64_t>(signature.back(), kSectorBytes / narrowest));
  }
  return static_cast<int64_t>(*std::max_element(std::begin(held), std::end(held))) * together;
}

// Reductions of a few elements are loops inside a thread; everything else is pointwise. Not where a result is broadcast: each thread would
// reduce it again.
bool Scheduler::inline_loops(const Case& c, Plan& plan) {
  plan.refusal = {Rule::kNoSchedule, "no schedule holds both"};
  if (c.chained) return false;
  for (size_t n = 0; n < c.ops.size(); ++n) {
    const OpKind kind = facts_.graph[c.ops[n]].kind;
    if (!c.depends[n] || (facts_.role(c.ops[n]) != Role::kPointwise && kind != OpKind::kExpand)) continue;
    for (const Operand& o : facts_.graph[c.ops[n]].in) {
      const OpId def = o.is_value() ? facts_.graph[o.value].def : OpId();
      if (!def.valid() || member_[def] != stamp_ || !(facts_.is_anchor(def) || c.depends[place_[def]])) continue;
      if (facts_.elems(o.value) < facts_.elems(facts_.result(c.ops[n]))) return false;
    }
  }
  for (OpId a : c.anchors) {
    if (facts_.role(a) != Role::kReduction) return false;
    const int64_t out = facts_.elems(facts_.result(a));
    if (out == 0 || facts_.work(a) / out > kInlineReduction) return false;
  }
  plan.kind = SegmentKind::kPointwise;
  plan.inline_reductions = true;
  return true;
}

// Few elements: one block runs op after op with barriers between them.
bool Scheduler::one_block(const Case& c, Plan& plan) {
  plan.refusal = {Rule::kNoSchedule, "no schedule holds both"};
  int64_t held = 0;
  for (size_t n = 0; n < c.ops.size(); ++n) {
    const ValueId v = facts_.result(c.ops[n]);
    if (std::max(facts_.elems(v), facts_.is_anchor(c.ops[n]) ? facts_.work(c.ops[n]) : 0) > kOneBlockElems) return false;
    if (facts_.is_anchor(c.ops[n])) add_bytes(held, facts_.bytes(v));
  }
  if (held > target_.shared_bytes_per_block) return false;
  plan.parallel = 1.0 / target_.multiprocessors;
  plan.kind = SegmentKind::kPersistent;
  for (OpId a : c.anchors) {
    const SegmentKind kind = facts_.role(a) == Role::kSort      ? SegmentKind::kSort
                             : facts_.role(a) == Role::kScan    ? SegmentKind::kScan
                             : facts_.role(a) == Role::kScatter ? SegmentKind::kScatter
                                                                : SegmentKind::kPersistent;
    // sort over scatter over scan over persistent
    auto weight = [](SegmentKind k) {
      return k == SegmentKind::kSort ? 3 : k == SegmentKind::kScatter ? 2 : k == SegmentKind::kScan ? 1 : 0;
    };
    if (weight(kind) > weight(plan.kind)) plan.kind = kind;
  }
  return true;
}

// The first op that needs an anchor's result at other places than its own, and the largest anchor it depends on.
Refusal Scheduler::refuse_grid_wide(const Case& c, OpId mixed_at) const {
  OpId user, anchor;
  if (mixed_at.valid() && facts_.is_anchor(mixed_at)) {
    // A reduction across rows: what follows it is what waits.
    for (ValueId v : facts_.graph[mixed_at].out)
      for (size_t n = place_[mixed_at] + 1; v.valid() && n < c.ops.size() && !user.valid(); ++n)
        if (facts_.elems(facts_.result(c.ops[n])) > facts_.elems(v) && c.phase[n] > c.phase[place_[mixed_at]])
          user = c.ops[n], anchor = mixed_at;
  }
  for (size_t n = 0; n < c.ops.size() && !user.valid(); ++n) {
    if (!c.depends[n] || (mixed_at.valid() && c.ops[n] != mixed_at)) continue;
    // back from here to the anchors
    std::vector<OpId> stack{c.ops[n]};
    std::vector<uint8_t> seen(c.ops.size());
    OpId found;
    while (!stack.empty()) {
      const OpId at = stack.back();
      stack.pop_back();
      for (const Operand& o : facts_.graph[at].in) {
        if (!o.is_value()) continue;
        const OpId def = facts_.graph[o.value].def;
        if (!def.valid() || place_[def] >= c.ops.size() || c.ops[place_[def]] != def || seen[place_[def]]) continue;
        seen[place_[def]] = 1;
        if (facts_.is_anchor(def) && (!found.valid() || facts_.work(def) > facts_.work(found))) found = def;
        stack.push_back(def);
      }
    }
    const bool larger = found.valid() && (facts_.elems(facts_.result(c.ops[n])) > facts_.elems(facts_.result(found)) ||
                                          facts_.is_anchor(c.ops[n]) || mixed_at.valid() || facts_.role(found) == Role::kScatter);
    if (larger) user = c.ops[n], anchor = found;
  }
  if (!user.valid()) return {Rule::kNoSchedule, "no schedule holds both"};
  return {Rule::kGridWide, grid_wide_words(facts_, anchor, user)};
}

}  // namespace fusec
