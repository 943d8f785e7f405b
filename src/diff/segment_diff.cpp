#include "diff/segment_diff.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "graph/dtype.h"
#include "support/check.h"

namespace fusec {

namespace {

constexpr size_t kLongestWay = 1000;  // ops between an edge and what changed it

// Sums and maxima of what segments have only when a cubin was made.
std::optional<double> most_registers(const ReportView& r) {
  std::optional<double> most;
  for (const SegmentView& s : r.segments)
    if (s.registers) most = std::max(most.value_or(0), static_cast<double>(*s.registers));
  return most;
}
std::optional<double> spilled(const ReportView& r) {
  std::optional<double> sum;
  for (const SegmentView& s : r.segments)
    if (s.spill_bytes) sum = sum.value_or(0) + static_cast<double>(*s.spill_bytes);
  return sum;
}
std::optional<double> total(const ReportView& r, const char* name) {
  const auto at = r.totals.find(name);
  return at == r.totals.end() ? std::nullopt : std::optional(at->second);
}

// Sets of numbers that grow together.
class Unions {
 public:
  explicit Unions(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t root(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(uint32_t x, uint32_t y) { parent_[std::max(root(x), root(y))] = std::min(root(x), root(y)); }

 private:
  std::vector<uint32_t> parent_;
};

class SegmentDiffer {
 public:
  SegmentDiffer(const ReportView& a, const ReportView& b, const GraphDiff& graphs, const Spots& spots_a, const Spots& spots_b)
      : a_(a), b_(b), graphs_(graphs), spots_a_(spots_a), spots_b_(spots_b) {
    for (uint32_t s = 0; s < b.segments.size(); ++s)
      for (const std::string& op : b.segments[s].ops) home_b_.emplace(op, s);
  }

  SegmentDiff run() {
    d_.segments_a = a_.segments.size();
    d_.segments_b = b_.segments.size();
    compare_cuts();
    compare_groups();
    compare_edges();
    for (const char* name : {"segments", "launches", "edge_bytes", "wide_edges", "bytes", "lower_bound_bytes", "recomputed_ops"})
      d_.cost.push_back({name, total(a_, name), total(b_, name)});
    d_.cost.push_back({"registers", most_registers(a_), most_registers(b_)});
    d_.cost.push_back({"spill_bytes", spilled(a_), spilled(b_)});
    d_.cost.push_back({"estimated_us", total(a_, "estimated_us"), total(b_, "estimated_us")});
    return std::move(d_);
  }

 private:
  // The value of B that stands for one of A: as matched; what an expansion made goes by the op as written; "" when there is none.
  std::string partner(const std::string& name) const {
    if (const auto at = graphs_.partner.find(name); at != graphs_.partner.end()) return standing(at->second);
    if (const auto at = a_.origin.find(name); at != a_.origin.end() && name.starts_with(at->second)) {
      const auto written = graphs_.partner.find(at->second);
      if (written != graphs_.partner.end()) return standing(written->second + name.substr(at->second.size()));
      return graphs_.by_name ? standing(name) : "";
    }
    return graphs_.by_name ? standing(name) : "";
  }

  std::string standing(const std::string& name) const {
    const auto at = b_.merged.find(name);
    return at == b_.merged.end() ? name : at->second;
  }

  void compare_cuts() {
    const auto na = static_cast<uint32_t>(a_.segments.size()), nb = static_cast<uint32_t>(b_.segments.size());
    Unions unions(na + nb);
    for (uint32_t s = 0; s < na; ++s)
      for (const std::string& op : a_.segments[s].ops)
        if (const auto home = home_b_.find(partner(op)); home != home_b_.end()) unions.join(s, na + home->second);
    std::vector<Recut> groups(na + nb);
    for (uint32_t s = 0; s < na + nb; ++s) {
      Recut& group = groups[unions.root(s)];
      if (s < na) group.a.push_back(s);
      else group.b.push_back(s - na);
    }
    for (Recut& group : groups) {
      if (group.a.empty() && group.b.empty()) continue;
      if (group.a.size() == 1 && group.b.size() == 1) {
        compare_pair(group.a[0], group.b[0]);
        continue;
      }
      group.kind = group.a.empty()       ? Recut::kAdded
                   : group.b.empty()     ? Recut::kRemoved
                   : group.a.size() == 1 ? Recut::kSplit
                   : group.b.size() == 1 ? Recut::kMerged
                                         : Recut::kRecut;
      const std::set<uint32_t> members(group.b.begin(), group.b.end());
      std::set<std::string> said;
      for (const EdgeView& e : b_.edges)
        if (members.contains(e.from) && std::any_of(e.to.begin(), e.to.end(), [&](uint32_t to) { return members.contains(to); }) &&
            said.insert(e.why).second)
          group.why.push_back(e.why);
      d_.recuts.push_back(std::move(group));
    }
  }

  void compare_pair(uint32_t a, uint32_t b) {
    const SegmentView &x = a_.segments[a], &y = b_.segments[b];
    std::vector<Change> changes;
    if (x.kind != y.kind) changes.push_back({"kind", "", x.kind, y.kind});
    auto number = [&](const char* what, const std::optional<int64_t>& p, const std::optional<int64_t>& q) {
      if (p && q && p != q) changes.push_back({what, "", std::to_string(*p), std::to_string(*q)});
    };
    number("registers", x.registers, y.registers);
    number("spill_bytes", x.spill_bytes, y.spill_bytes);
    if (!changes.empty()) d_.changed.push_back({a, b, std::move(changes)});
  }

  void compare_groups() {
    std::set<std::string> cut_before;
    for (const CastGroupView& group : a_.cast_groups)
      if (!group.whole)
        for (const std::string& op : group.ops) cut_before.insert(partner(op));
    for (const CastGroupView& group : b_.cast_groups)
      if (!group.whole && std::none_of(group.ops.begin(), group.ops.end(), [&](const std::string& op) { return cut_before.contains(op); }))
        d_.cut_groups.push_back(group);
  }

  static const Known* find(const Spots& spots, const ReportView& report, const std::string& value) {
    if (const auto at = spots.find(value); at != spots.end()) return &at->second;
    const auto origin = report.origin.find(value);
    if (origin == report.origin.end()) return nullptr;
    const auto at = spots.find(origin->second);
    return at == spots.end() ? nullptr : &at->second;
  }

  Spot spot_of(const EdgeView& e, bool of_a) const {
    const Known* known = of_a ? find(spots_a_, a_, e.value) : find(spots_b_, b_, e.value);
    Spot spot = known ? known->spot : Spot{e.value, "", "", 0};
    spot.name = e.value;
    return spot;
  }

  void compare_edges() {
    std::unordered_map<std::string, const EdgeView*> before;
    for (const EdgeView& e : a_.edges)
      if (const std::string name = partner(e.value); !name.empty()) before.emplace(name, &e);
    std::set<const EdgeView*> kept;
    index_changes();
    for (const EdgeView& e : b_.edges) {
      const auto at = before.find(e.value);
      const EdgeView* old = at == before.end() ? nullptr : at->second;
      if (old) kept.insert(old);
      EdgeChange change{kind_of(old, e), spot_of(e, false), old ? std::optional(*old) : std::nullopt, e, std::nullopt};
      if (!old || old->bytes != e.bytes || old->dtype != e.dtype || e.narrow_bytes) change.cause = cause_of(e.value);
      if (e.narrow_bytes && !(old && old->narrow_bytes)) d_.wide.push_back(change);
      if (!old || old->bytes != e.bytes || old->dtype != e.dtype) d_.edges.push_back(std::move(change));
    }
    for (const EdgeView& e : a_.edges)
      if (!kept.contains(&e)) d_.edges.push_back({EdgeChange::kRemoved, spot_of(e, true), e, std::nullopt, std::nullopt});
  }

  void index_changes() {
    for (const auto* list : {&graphs_.changed, &graphs_.inputs_changed})
      for (const ChangedSpot& spot : *list) changed_.emplace(spot.b.name, spot);
    for (const Spot& spot : graphs_.added) changed_.emplace(spot.name, ChangedSpot{{}, spot, {{"added", "", "", spot.type}}});
    for (const ChangedSpot& spot : graphs_.follow) follow_.insert(spot.b.name);
  }

  // Backwards through ops that only follow, to the first one that was changed.
  std::optional<ChangedSpot> cause_of(const std::string& value) const {
    const auto origin = b_.origin.find(value);
    std::vector<std::string> queue = {origin == b_.origin.end() ? value : origin->second};
    std::set<std::string> seen(queue.begin(), queue.end());
    for (size_t i = 0; i < queue.size() && i < kLongestWay; ++i) {
      if (const auto at = changed_.find(queue[i]); at != changed_.end()) return at->second;
      const auto known = spots_b_.find(queue[i]);
      if (known == spots_b_.end() || !follow_.contains(known->second.spot.name)) continue;
      for (const std::string& operand : known->second.operands)
        if (seen.insert(operand).second) queue.push_back(operand);
    }
    return std::nullopt;
  }

  static EdgeChange::Kind kind_of(const EdgeView* a, const EdgeView& b) {
    if (!a) return EdgeChange::kAdded;
    const std::optional<DType> x = parse_dtype(a->dtype), y = parse_dtype(b.dtype);
    const int wider = x && y ? bytes_of(*y) - bytes_of(*x) : 0;
    return wider > 0 ? EdgeChange::kWidened : wider < 0 ? EdgeChange::kNarrowed : EdgeChange::kChanged;
  }

  const ReportView &a_, &b_;
  const GraphDiff& graphs_;
  const Spots &spots_a_, &spots_b_;
  std::unordered_map<std::string, uint32_t> home_b_;  // op → segment
  std::unordered_map<std::string, ChangedSpot> changed_;
  std::set<std::string> follow_;
  SegmentDiff d_;
};

}  // namespace

const char* word_of(Recut::Kind kind) {
  static constexpr const char* kWords[] = {"merged", "split", "recut", "removed", "added"};
  return kWords[kind];
}

const char* word_of(EdgeChange::Kind kind) {
  static constexpr const char* kWords[] = {"added", "removed", "widened", "narrowed", "changed"};
  return kWords[kind];
}

bool SegmentDiff::same_cost() const {
  return std::all_of(cost.begin(), cost.end(), [](const Metric& m) { return !m.a || !m.b || *m.a == *m.b; });
}

const Metric& SegmentDiff::metric(const std::string& name) const {
  const auto at = std::find_if(cost.begin(), cost.end(), [&](const Metric& m) { return name == m.name; });
  FUSEC_CHECK(at != cost.end(), "no metric '" + name + "'");
  return *at;
}

SegmentDiff diff_segments(const ReportView& a, const ReportView& b, const GraphDiff& graphs, const Spots& spots_a, const Spots& spots_b) {
  return SegmentDiffer(a, b, graphs, spots_a, spots_b).run();
}

}  // namespace fusec
