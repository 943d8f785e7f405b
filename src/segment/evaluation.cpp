#include "segment/evaluation.h"

#include <algorithm>

#include "support/byte_sum.h"

namespace fusec {

namespace {

uint64_t mix(uint64_t path, uint64_t step) {
  uint64_t z = (path + 0x9e3779b97f4a7c15ull) ^ (step * 0xbf58476d1ce4e5b9ull);
  z = (z ^ (z >> 29)) * 0x94d049bb133111ebull;
  return (z ^ (z >> 32)) | 1;
}

// Threads keep a broadcast operand's value over several of the elements that share it; this share of the repeats is computed anew.
constexpr double kBroadcastRepeats = 1.0 / 8;
constexpr double kShareAlone = 2;

}  // namespace

void add_contexts(std::vector<Context>& to, const std::vector<Context>& from) {
  for (const Context& c : from) {
    auto same = std::find_if(to.begin(), to.end(), [&](const Context& t) { return t.path == c.path; });
    if (same != to.end()) same->evals = std::max(same->evals, c.evals);
    else if (to.size() < Evaluator::kMaxContexts) to.push_back(c);
    else to.back().evals += c.evals;
  }
}

std::vector<Context> compose(const std::vector<Context>& inner, const std::vector<Context>& outer, double elems) {
  std::vector<Context> all;
  for (const Context& o : outer) {
    const double scale = elems > 0 ? o.evals / elems : 1;
    std::vector<Context> moved = inner;
    for (Context& c : moved) {
      c.path = o.path == 0 ? c.path : c.path == 0 ? o.path : mix(o.path, c.path);
      c.evals *= scale;
    }
    add_contexts(all, moved);
  }
  return all;
}

int64_t touched_bytes(const Facts& facts, const Read& read) {
  double evals = 0;
  for (const Context& c : read.contexts) evals += c.evals;
  const int64_t elems = facts.elems(read.value);
  const int64_t touched = evals >= static_cast<double>(elems) ? elems : static_cast<int64_t>(evals + 0.5);
  return touched * bytes_of(facts.graph[read.value].dtype);
}

int64_t written_bytes(const Facts& facts, ValueId value) {
  const OpId def = facts.graph[value].def;
  if (def.valid() && facts.in_place(def)) return std::min(facts.work(def), facts.elems(value)) * bytes_of(facts.graph[value].dtype);
  return facts.bytes(value);
}

Evaluator::Evaluator(const Facts& facts)
    : facts_(facts),
      member_(facts.graph.ops.size()),
      at_(facts.graph.ops.size()),
      read_stamp_(facts.graph.values.size()),
      read_place_(facts.graph.values.size()) {}

Evaluation Evaluator::evaluate(const std::vector<OpId>& ops, const std::vector<ValueId>& outputs, bool inline_reductions) {
  ++stamp_;
  inline_reductions_ = inline_reductions;
  result_ = {};
  for (OpId op : ops) {
    member_[op] = stamp_;
    at_[op].clear();
  }
  for (ValueId v : outputs) {
    at_[facts_.graph[v].def].push_back({0, static_cast<double>(facts_.elems(v))});
    result_.writes.push_back(v);
    add_bytes(result_.bytes_written, written_bytes(facts_, v));
  }
  for (size_t n = ops.size(); n-- > 0;) {
    std::vector<Context>& contexts = at_[ops[n]];
    if (contexts.size() > 1) {
      std::vector<Context> merged;
      add_contexts(merged, contexts);
      contexts = std::move(merged);
    }
    spread(ops[n], contexts);
  }
  for (const Read& r : result_.reads) add_bytes(result_.bytes_read, touched_bytes(facts_, r));
  std::sort(result_.reads.begin(), result_.reads.end(), [](const Read& a, const Read& b) { return a.value < b.value; });
  return std::move(result_);
}

// Counts one op and asks its operands for the elements it needs.
void Evaluator::spread(OpId id, const std::vector<Context>& contexts) {
  const Op& op = facts_.graph[id];
  const Role role = facts_.role(id);
  const double work = static_cast<double>(facts_.work(id));
  const bool alone = is_anchor(role) && !(inline_reductions_ && role == Role::kReduction);
  if (alone) {
    result_.instructions += work * (role == Role::kLibrary ? 0.02 : facts_.instructions(id));
    result_.copies += 1;
    for (size_t k = 0; k < op.in.size(); ++k) {
      if (!op.in[k].is_value()) continue;
      const ValueId v = op.in[k].value;
      double evals = static_cast<double>(facts_.elems(v));
      if (role == Role::kScatter) {
        if (k == 0 && facts_.in_place(id)) evals = facts_.graph.attrs(op).accumulate == Accumulate::kNone ? 0 : std::min(evals, work);
        if (k > 0) evals = std::min(evals, work);
      }
      ask(v, {0, evals});
    }
    if (role == Role::kScatter) result_.atomics += facts_.graph.attrs(op).accumulate == Accumulate::kNone ? work / 8 : work;
    return;
  }
  const double elems = static_cast<double>(facts_.elems(facts_.result(id)));
  double evals = 0;
  for (const Context& c : contexts) evals += c.evals;
  result_.copies += static_cast<double>(contexts.size());
  result_.most_copies = std::max(result_.most_copies, contexts.size());
  const double each = role == Role::kReduction && elems > 0 ? work / elems : 1;
  result_.instructions += evals * each * facts_.instructions(id);
  for (size_t k = 0; k < op.in.size(); ++k) {
    if (!op.in[k].is_value()) continue;
    const ValueId v = op.in[k].value;
    const double in_elems = static_cast<double>(facts_.elems(v));
    for (Context c : contexts) {
      uint64_t step = 0;  // 0: the operand is read at the same linear index
      switch (role) {
        case Role::kPointwise:
          if (in_elems < elems) step = mix(1, facts_.graph[v].shape.size() * 64 + facts_.graph[facts_.result(id)].shape.size());
          break;
        case Role::kView:
          if (op.kind == OpKind::kCat || op.kind == OpKind::kStack || op.kind == OpKind::kPad)
            c.evals *= elems > 0 ? std::min(1.0, in_elems / elems) : 0;
          if (op.kind != OpKind::kReshape && op.kind != OpKind::kSqueeze && op.kind != OpKind::kUnsqueeze)
            step = mix(2 + k, op.kind == OpKind::kExpand ? facts_.graph[facts_.result(id)].shape.size() : id.index);
          break;
        case Role::kGather:
          step = mix(3 + k, op.in[k == 0 ? op.in.size() - 1 : 0].value.index);
          break;
        case Role::kReduction:
          step = mix(5, id.index);
          c.evals *= each;
          break;
        default:
          break;
      }
      if (step != 0) c.path = mix(c.path, step);
      const bool broadcast = role == Role::kPointwise || op.kind == OpKind::kExpand || role == Role::kGather;
      if (broadcast && c.evals > in_elems) c.evals = in_elems + (c.evals - in_elems) * kBroadcastRepeats;
      ask(v, c);
    }
  }
}

void Evaluator::ask(ValueId v, Context context) {
  if (facts_.elems(v) == 1) context = {0, 1};
  const OpId def = facts_.graph[v].def;
  if (def.valid() && member_[def] == stamp_) {
    at_[def].push_back(context);
    // (bounded also while it grows: every user may ask at many index maps)
    if (at_[def].size() > 4 * kMaxContexts) {
      std::vector<Context> merged;
      add_contexts(merged, at_[def]);
      at_[def] = std::move(merged);
    }
    return;
  }
  if (read_stamp_[v] != stamp_) {
    read_stamp_[v] = stamp_;
    read_place_[v] = static_cast<uint32_t>(result_.reads.size());
    result_.reads.push_back({v, {}});
  }
  add_contexts(result_.reads[read_place_[v]].contexts, {context});
}

double kernel_us(const Evaluation& e, const Target& target, double parallel) {
  const double bytes = static_cast<double>(e.bytes_read) + static_cast<double>(e.bytes_written);
  // A multiprocessor that has the memory to itself gets more than its share of the whole rate.
  const double memory = bytes / (target.bandwidth_gbps * 1e3 * std::min(1.0, kShareAlone * parallel));
  const double arithmetic = e.instructions / (target.instructions_per_us * parallel);
  return std::max({memory, arithmetic, e.atomics / target.atomics_per_us}) + target.next_launch_us + target.round_trip_us;
}

}  // namespace fusec
