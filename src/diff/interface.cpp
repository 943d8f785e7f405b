#include "diff/interface.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace fusec {

namespace {

constexpr int kLargestRadius = 6;
constexpr size_t kMaxRefinements = 60;  // each is a walk over both graphs

Pairing unpaired(size_t a, size_t b) { return {std::vector<uint32_t>(a, kNoPartner), std::vector<uint32_t>(b, kNoPartner)}; }

const std::string& name_of(const Structure& s, const Input& input) { return s.graph[input.value].name; }
const std::string& name_of(const Structure&, const Output& output) { return output.name; }

template <class List>
Pairing by_name(const Structure& sa, const List& a, const Structure& sb, const List& b) {
  Pairing p = unpaired(a.size(), b.size());
  std::unordered_map<std::string, uint32_t> places;
  for (uint32_t i = 0; i < b.size(); ++i) places.emplace(name_of(sb, b[i]), i);
  for (uint32_t i = 0; i < a.size(); ++i)
    if (auto at = places.find(name_of(sa, a[i])); at != places.end()) p.add(i, at->second);
  return p;
}

Pairing by_place(size_t a, size_t b) {
  Pairing p = unpaired(a, b);
  for (uint32_t i = 0; i < std::min(a, b); ++i) p.add(i, i);
  return p;
}

std::vector<Hash> sorted(const IdVec<OpId, Hash>& hashes) {
  std::vector<Hash> list(hashes.begin(), hashes.end());
  std::sort(list.begin(), list.end());
  return list;
}

// Pairs a with b where a key stands once on each side, or, with `ties`, in the order of the lists.
void pair_equal(const std::vector<Hash>& a, const std::vector<Hash>& b, bool ties, Pairing& p) {
  std::map<Hash, std::pair<std::vector<uint32_t>, std::vector<uint32_t>>> groups;
  for (uint32_t i = 0; i < a.size(); ++i)
    if (p.to_b[i] == kNoPartner) groups[a[i]].first.push_back(i);
  for (uint32_t i = 0; i < b.size(); ++i)
    if (p.to_a[i] == kNoPartner) groups[b[i]].second.push_back(i);
  for (const auto& [key, group] : groups) {
    const auto& [of_a, of_b] = group;
    if (!ties && (of_a.size() != 1 || of_b.size() != 1)) continue;
    for (size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i) p.add(of_a[i], of_b[i]);
  }
}

// Names that were dealt out anew say nothing. Where they were kept, most inputs are inputs still, and most ops read values of the same
// names.
bool names_were_kept(const Graph& a, const Graph& b) {
  auto operands = [](const Graph& g, OpId op) {
    std::vector<std::string> names;
    for (const Operand& o : g[op].in) names.push_back(o.is_value() ? g[o.value].name : "");
    return names;
  };
  std::unordered_map<std::string, ValueId> of_b;
  for (size_t i = 0; i < b.values.size(); ++i) of_b.emplace(b.values[ValueId(i)].name, ValueId(i));
  size_t shared = 0, alike = 0;
  for (const Value& va : a.values) {
    const auto at = of_b.find(va.name);
    if (at == of_b.end()) continue;
    ++shared;
    const Value& vb = b[at->second];
    if (va.def.valid() != vb.def.valid()) continue;
    alike += va.def.valid() ? operands(a, va.def) == operands(b, vb.def) : va.dtype == vb.dtype && va.shape == vb.shape;
  }
  return 2 * alike >= shared;
}

class InterfaceFinder {
 public:
  InterfaceFinder(const Structure& a, const Structure& b) : a_(a), b_(b), names_kept_(names_were_kept(a.graph, b.graph)) {}

  Interface find() {
    const auto &in_a = a_.graph.inputs, &in_b = b_.graph.inputs;
    const Pairing names = named(in_a, in_b), places = by_place(in_a.size(), in_b.size());
    if (places.complete() && types_fit(places))
      if (auto found = exact(places)) return *found;
    if (names.complete() && names.reordered())
      if (auto found = exact(names)) return *found;
    // Where all names are kept, what stands at another name is a change.
    if (!names.complete() && in_a.size() == in_b.size())
      for (bool outputs_in_place : {true, false})
        if (auto inputs = by_structure(outputs_in_place))
          if (auto found = exact(*inputs)) return *found;
    return nearest(names);
  }

 private:
  // Names that stand in their old order were kept, too.
  template <class List>
  Pairing named(const List& a, const List& b) const {
    Pairing p = by_name(a_, a, b_, b);
    const bool kept = names_kept_ || (p.complete() && !p.reordered());
    return kept ? p : unpaired(a.size(), b.size());
  }

  bool types_fit(const Pairing& p) const {
    for (size_t i = 0; i < p.to_b.size(); ++i) {
      const ValueId va = a_.graph.inputs[i].value, vb = b_.graph.inputs[p.to_b[i]].value;
      if (a_.type(va) != b_.type(vb) && a_.graph[va].name != b_.graph[vb].name) return false;
    }
    return true;
  }

  // With these inputs, do the graphs have the same ops and outputs?
  std::optional<Interface> exact(const Pairing& inputs) const {
    if (a_.graph.ops.size() != b_.graph.ops.size() || a_.graph.outputs.size() != b_.graph.outputs.size()) return std::nullopt;
    const Labels labels = labels_of(inputs);
    const Hashes ha = from_inputs(a_, labels.a), hb = from_inputs(b_, labels.b);
    if (sorted(ha.op) != sorted(hb.op)) return std::nullopt;
    // What an output is written over, and how, tells it from another of the same value.
    auto said = [](const Structure& s, const Hashes& h, const std::vector<Hash>& input_labels) {
      std::vector<Hash> list;
      for (const Output& o : s.graph.outputs) {
        Hash sum = mix(h.value[o.value], o.alias ? input_labels[*o.alias] : 0);
        for (int64_t stride : o.strides.value_or(std::vector<int64_t>{})) sum = mix(sum, static_cast<Hash>(stride));
        list.push_back(sum);
      }
      return list;
    };
    const std::vector<Hash> out_a = said(a_, ha, labels.a), out_b = said(b_, hb, labels.b);
    Pairing outputs = by_place(out_a.size(), out_b.size());
    if (out_a != out_b) {
      const Pairing names = named(a_.graph.outputs, b_.graph.outputs);
      outputs = unpaired(out_a.size(), out_b.size());
      for (uint32_t i = 0; i < out_a.size(); ++i)
        if (names.to_b[i] != kNoPartner && out_a[i] == out_b[names.to_b[i]]) outputs.add(i, names.to_b[i]);
      // Where all names are kept, another value under a name is a change.
      if (!names.complete()) pair_equal(out_a, out_b, true, outputs);
      if (!outputs.complete()) return std::nullopt;
    }
    return Interface{inputs, outputs, true};
  }

  // What is done with an input tells it apart; of those that are alike, one after the other is picked and the others looked at again.
  std::optional<Pairing> by_structure(bool outputs_in_place) const {
    Labels in;
    for (const Input& i : a_.graph.inputs) in.a.push_back(says(a_, i));
    for (const Input& i : b_.graph.inputs) in.b.push_back(says(b_, i));
    Pairing p = unpaired(in.a.size(), in.b.size());
    for (size_t picked = 0;; ++picked) {
      if (!refine(in, outputs_in_place)) return std::nullopt;
      pair_equal(in.a, in.b, false, p);
      if (p.complete()) return p;
      if (picked == kMaxRefinements) break;
      const auto a = static_cast<uint32_t>(std::find(p.to_b.begin(), p.to_b.end(), kNoPartner) - p.to_b.begin());
      uint32_t b = 0;
      while (b < in.b.size() && (p.to_a[b] != kNoPartner || in.b[b] != in.a[a])) ++b;
      if (b == in.b.size()) return std::nullopt;
      in.a[a] = in.b[b] = mix(in.a[a], picked + 1);
    }
    pair_equal(in.a, in.b, true, p);
    return p;
  }

  // What an input says of itself, its name aside.
  static Hash says(const Structure& s, const Input& i) {
    Hash h = mix(s.type(i.value), i.scalar);
    for (const Size& stride : strides_of(s.graph, i)) h = mix(h, s.of(stride));
    const bool normal = i.init.kind == Init::kDefault && is_float(s.graph[i.value].dtype);
    h = mix(mix(h, normal ? Init::kNormal : i.init.kind), static_cast<Hash>(i.init.from) + 3 * static_cast<Hash>(i.init.to));
    h = mix(mix(h, std::bit_cast<Hash>(i.init.lo)), std::bit_cast<Hash>(i.init.hi));
    return mix(h, i.scalar_value ? std::bit_cast<Hash>(i.scalar_value->as_double()) : 0);
  }

  // Makes the labels of inputs as fine as their use tells. False when the two graphs do not have the same labels.
  bool refine(Labels& in, bool outputs_in_place) const {
    auto step = [&](const Structure& s, std::vector<Hash>& labels) {
      std::vector<Hash> out(s.graph.outputs.size(), 7);
      if (outputs_in_place)
        for (size_t i = 0; i < out.size(); ++i) out[i] = mix(7, i);
      const Hashes down = from_inputs(s, labels), up = from_outputs(s, out, &down);
      std::vector<Hash> over(labels.size());
      for (size_t i = 0; i < out.size(); ++i)
        if (const Output& o = s.graph.outputs[i]; o.alias) over[*o.alias] = mix(down.value[o.value], out[i]);
      for (size_t i = 0; i < labels.size(); ++i) labels[i] = mix(mix(labels[i], up.value[s.graph.inputs[i].value]), over[i]);
      std::vector<Hash> classes = labels;
      std::sort(classes.begin(), classes.end());
      return classes;
    };
    size_t distinct = 0;
    while (true) {
      std::vector<Hash> of_a = step(a_, in.a), of_b = step(b_, in.b);
      if (of_a != of_b) return false;
      const auto now = static_cast<size_t>(std::unique(of_a.begin(), of_a.end()) - of_a.begin());
      if (now == distinct || now == in.a.size()) return true;
      distinct = now;
    }
  }

  // The graphs differ: names first, then surroundings as far as they are alike, then the order of the lists.
  Interface nearest(const Pairing& names) const {
    Interface found{names, named(a_.graph.outputs, b_.graph.outputs), false};
    std::vector<Hash> type_a, type_b;
    for (const Input& i : a_.graph.inputs) type_a.push_back(a_.type(i.value));
    for (const Input& i : b_.graph.inputs) type_b.push_back(b_.type(i.value));
    for (int radius = kLargestRadius; radius > 0 && !all_paired(found.inputs); --radius) {
      const Hashes ha = surroundings(a_, radius), hb = surroundings(b_, radius);
      std::vector<Hash> in_a, in_b;
      for (const Input& i : a_.graph.inputs) in_a.push_back(ha.value[i.value]);
      for (const Input& i : b_.graph.inputs) in_b.push_back(hb.value[i.value]);
      pair_equal(in_a, in_b, false, found.inputs);
    }
    // What only one side has by name may be new: it gets a partner by its use, when the ops have theirs.
    if (std::none_of(names.to_b.begin(), names.to_b.end(), [](uint32_t b) { return b != kNoPartner; }))
      pair_equal(type_a, type_b, true, found.inputs);
    pair_outputs(found);
    return found;
  }

  void pair_outputs(Interface& found) const {
    Pairing& p = found.outputs;
    if (all_paired(p)) return;
    const Labels labels = labels_of(found.inputs);
    const Hashes ha = from_inputs(a_, labels.a), hb = from_inputs(b_, labels.b);
    auto pair = [&](auto of_a, auto of_b, bool ties) {
      std::vector<Hash> out_a, out_b;
      for (const Output& o : a_.graph.outputs) out_a.push_back(of_a(o.value));
      for (const Output& o : b_.graph.outputs) out_b.push_back(of_b(o.value));
      pair_equal(out_a, out_b, ties, p);
    };
    pair([&](ValueId v) { return ha.value[v]; }, [&](ValueId v) { return hb.value[v]; }, true);
    for (int radius = kLargestRadius; radius > 0 && !all_paired(p); --radius) {
      const Hashes near_a = surroundings(a_, radius), near_b = surroundings(b_, radius);
      pair([&](ValueId v) { return near_a.value[v]; }, [&](ValueId v) { return near_b.value[v]; }, false);
    }
    pair([&](ValueId v) { return a_.type(v); }, [&](ValueId v) { return b_.type(v); }, true);
    pair([](ValueId) { return 0; }, [](ValueId) { return 0; }, true);
  }

  static bool all_paired(const Pairing& p) {
    auto none = [](const std::vector<uint32_t>& list) { return std::find(list.begin(), list.end(), kNoPartner) == list.end(); };
    return none(p.to_b) || none(p.to_a);
  }

  const Structure &a_, &b_;
  const bool names_kept_;
};

}  // namespace

bool Pairing::complete() const { return to_a.size() == to_b.size() && std::find(to_b.begin(), to_b.end(), kNoPartner) == to_b.end(); }

bool Pairing::reordered() const {
  uint32_t last = 0;
  for (uint32_t b : to_b) {
    if (b == kNoPartner) continue;
    if (b < last) return true;
    last = b;
  }
  return false;
}

bool Pairing::add(uint32_t a, uint32_t b) {
  if (to_b[a] != kNoPartner || to_a[b] != kNoPartner) return false;
  to_b[a] = b;
  to_a[b] = a;
  return true;
}

Labels labels_of(const Pairing& pairing) {
  Labels labels;
  for (uint32_t i = 0; i < pairing.to_b.size(); ++i) labels.a.push_back(pairing.to_b[i] == kNoPartner ? mix(11, i) : mix(13, i));
  for (uint32_t i = 0; i < pairing.to_a.size(); ++i)
    labels.b.push_back(pairing.to_a[i] == kNoPartner ? mix(12, i) : mix(13, pairing.to_a[i]));
  return labels;
}

Interface pair_interfaces(const Structure& a, const Structure& b) { return InterfaceFinder(a, b).find(); }

}  // namespace fusec
