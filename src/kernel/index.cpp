#include "kernel/index.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "support/check.h"

namespace fusec {

Size Index::coefficient(AtomId atom) const {
  for (const auto& [a, c] : terms)
    if (a == atom) return c;
  return Size(0);
}

Index operator+(const Index& a, const Index& b) {
  Index sum(a.constant + b.constant);
  auto i = a.terms.begin(), j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->first < j->first)) {
      sum.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->first < i->first) {
      sum.terms.push_back(*j++);
    } else {
      Size c = i->second + j->second;
      if (!c.is(0)) sum.terms.emplace_back(i->first, std::move(c));
      ++i, ++j;
    }
  }
  return sum;
}

Index operator*(const Index& a, const Size& factor) {
  if (factor.is(0)) return Index();
  Index product(a.constant * factor);
  for (const auto& [atom, c] : a.terms) product.terms.emplace_back(atom, c * factor);
  return product;
}

Index operator-(const Index& a, const Index& b) { return a + b * Size(-1); }

namespace {

// ⌊v / d⌋ for d > 0.
int64_t floor_quotient(int64_t v, int64_t d) { return v >= 0 ? v / d : -((-v + d - 1) / d); }

// size = first − second, neither with a negative coefficient.
std::pair<Size, Size> sides_of(const Size& size) {
  Size positive = std::max<int64_t>(size.constant(), 0), negative = std::max<int64_t>(-size.constant(), 0);
  for (const Size::Term& t : size.terms()) {
    Size monomial = t.coefficient < 0 ? -t.coefficient : t.coefficient;
    for (SymbolId s : t.symbols) monomial *= Size::symbol(s);
    (t.coefficient < 0 ? negative : positive) += monomial;
  }
  return {positive, negative};
}

}  // namespace

std::pair<Index, Index> sides_of(const Index& index) {
  auto [positive_constant, negative_constant] = sides_of(index.constant);
  Index positive(positive_constant), negative(negative_constant);
  for (const auto& [atom, c] : index.terms) {
    const auto [more, less] = sides_of(c);
    if (!more.is(0)) positive.terms.emplace_back(atom, more);
    if (!less.is(0)) negative.terms.emplace_back(atom, less);
  }
  return {std::move(positive), std::move(negative)};
}

AtomId IndexSpace::add_variable(std::string name, const Size& extent, bool may_split) {
  Atom atom;
  atom.may_split = may_split;
  atom.name = std::move(name);
  atom.lowest = 0;
  atom.highest = extent - 1;
  atom.variables = {AtomId(atoms_.size())};
  return atoms_.push(std::move(atom));
}

AtomId IndexSpace::add_data(NodeId node, const Size& extent, std::vector<AtomId> variables) {
  for (size_t i = 0; i < atoms_.size(); ++i)
    if (atoms_[AtomId(i)].kind == Atom::kData && atoms_[AtomId(i)].node == node) return AtomId(i);
  Atom atom;
  atom.kind = Atom::kData;
  atom.node = node;
  atom.data = {node};
  atom.lowest = 0;
  atom.highest = extent - 1;
  atom.variables = std::move(variables);
  return atoms_.push(std::move(atom));
}

Index IndexSpace::variable(AtomId atom) const {
  Index i;
  i.terms.emplace_back(atom, Size(1));
  return i;
}

AtomId IndexSpace::intern(Atom atom) {
  for (size_t i = 0; i < atoms_.size(); ++i) {
    const Atom& a = atoms_[AtomId(i)];
    if (a.kind == atom.kind && a.divisor == atom.divisor && a.operand == atom.operand) return AtomId(i);
  }
  atom.depth = depth(atom.operand) + 1;
  atom.variables = variables_in(atom.operand);
  atom.data = data_of(atom.operand);
  return atoms_.push(std::move(atom));
}

std::vector<AtomId> IndexSpace::variables_in(const Index& operand) const {
  std::vector<AtomId> variables;
  for (const auto& [inner, c] : operand.terms)
    variables.insert(variables.end(), atoms_[inner].variables.begin(), atoms_[inner].variables.end());
  std::sort(variables.begin(), variables.end());
  variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
  return variables;
}

std::vector<NodeId> IndexSpace::data_of(const Index& a) const {
  std::vector<NodeId> nodes;
  for (const auto& [atom, c] : a.terms)
    for (NodeId node : atoms_[atom].data)
      if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  return nodes;
}

void IndexSpace::set_data_variables(const std::function<std::vector<AtomId>(NodeId)>& variables_of) {
  for (Atom& atom : atoms_) {  // an atom's operand has lower numbers
    if (atom.kind == Atom::kData) atom.variables = variables_of(atom.node);
    else if (atom.kind != Atom::kVariable) atom.variables = variables_in(atom.operand);
  }
}

int IndexSpace::depth(const Index& a) const {
  int most = 0;
  for (const auto& [atom, c] : a.terms) most = std::max(most, atoms_[atom].depth);
  return most;
}

Size IndexSpace::bound(const Index& a, bool upper) const {
  Size sum = a.constant;
  for (const auto& [atom, c] : a.terms) {
    const Atom& at = atoms_[atom];
    const bool nonnegative = lower_bound(c, *symbols_) >= 0;
    sum += c * (nonnegative == upper ? at.highest : at.lowest);
  }
  return sum;
}

// A coefficient that may have either sign leaves no bound.
bool IndexSpace::has_indefinite_sign(const Index& a) const {
  return std::any_of(a.terms.begin(), a.terms.end(),
                     [&](const auto& t) { return lower_bound(t.second, *symbols_) < 0 && upper_bound(t.second, *symbols_) > 0; });
}

int64_t IndexSpace::lowest(const Index& a) const {
  if (has_indefinite_sign(a)) return INT64_MIN;
  try {
    return lower_bound(bound(a, false), *symbols_);
  } catch (const std::overflow_error&) {
    return INT64_MIN;
  }
}

int64_t IndexSpace::highest(const Index& a) const {
  if (has_indefinite_sign(a)) return INT64_MAX;
  try {
    return upper_bound(bound(a, true), *symbols_);
  } catch (const std::overflow_error&) {
    return INT64_MAX;
  }
}

// The rest is never negative where that can be arranged: generated code divides unsigned numbers.
std::pair<Index, Index> IndexSpace::divide_terms(const Index& a, const Size& divisor) const {
  auto [whole, rest] = split_terms(a, divisor);
  const int64_t least = lowest(rest);
  if (least >= 0) return {std::move(whole), std::move(rest)};
  if (divisor.is_constant() && least > INT64_MIN / 2) {
    const int64_t up = (-least + divisor.value() - 1) / divisor.value();
    return {whole - Index(up), rest + Index(divisor * Size(up))};
  }
  return {Index(), a};
}

std::pair<Index, Index> IndexSpace::split_terms(const Index& a, const Size& divisor) const {
  Index whole, rest;
  for (const auto& [atom, c] : a.terms) {
    if (auto q = c.exact_quotient(divisor)) whole.terms.emplace_back(atom, *q);
    else rest.terms.emplace_back(atom, c);
  }
  if (auto q = a.constant.exact_quotient(divisor)) {
    whole.constant = *q;
  } else if (a.constant.is_constant() && divisor.is_constant()) {
    const int64_t d = divisor.value(), v = a.constant.value();
    const int64_t floor = floor_quotient(v, d);
    whole.constant = floor;
    rest.constant = v - floor * d;
  } else {
    rest.constant = a.constant;
  }
  return {std::move(whole), std::move(rest)};
}

void IndexSpace::want_split(const Index& rest, const Size& divisor) {
  if (wanted_split_) return;
  for (const auto& [atom, c] : rest.terms) {
    if (atoms_[atom].kind != Atom::kVariable || !atoms_[atom].may_split) continue;
    const bool backward = upper_bound(c, *symbols_) < 0;  // flipped
    const auto inner = divisor.exact_quotient(backward ? Size(0) - c : c);
    if (!inner || inner->is(1) || lower_bound(*inner, *symbols_) <= 0) continue;
    const Size whole = extent(atom);
    const auto outer = whole.exact_quotient(*inner);
    if (!outer || outer->is(1) || outer->is(0)) continue;
    wanted_split_ = Split{atom, *inner};
    return;
  }
}

Index IndexSpace::quotient(const Index& a, const Size& divisor) {
  if (divisor.is(1)) return a;
  auto [whole, rest] = divide_terms(a, divisor);
  const Index below = Index(divisor - 1) - rest;  // ≥ 0 where rest < divisor
  if (is_nonnegative(rest) && is_nonnegative(below)) return whole;
  want_split(rest, divisor);
  Atom atom;
  atom.kind = Atom::kQuotient;
  atom.operand = rest;
  atom.divisor = divisor;
  const Size top = bound(rest, true), bottom = bound(rest, false);
  if (top.is_constant() && bottom.is_constant() && divisor.is_constant()) {
    const int64_t d = divisor.value();
    atom.lowest = floor_quotient(bottom.value(), d);
    atom.highest = floor_quotient(top.value(), d);
  } else {
    const auto q = (top + 1).exact_quotient(divisor);
    atom.lowest = lower_bound(bottom, *symbols_) >= 0 ? Size(0) : bottom;
    atom.highest = q ? *q - 1 : top;
  }
  return whole + variable(intern(std::move(atom)));
}

Index IndexSpace::remainder(const Index& a, const Size& divisor) {
  if (divisor.is(1)) return Index();
  auto [whole, rest] = divide_terms(a, divisor);
  const Index below = Index(divisor - 1) - rest;
  if (is_nonnegative(rest) && is_nonnegative(below)) return rest;
  want_split(rest, divisor);
  Atom atom;
  atom.kind = Atom::kRemainder;
  atom.operand = rest;
  atom.divisor = divisor;
  atom.lowest = 0;
  atom.highest = divisor - 1;
  return variable(intern(std::move(atom)));
}

Index IndexSpace::simplify(Index a) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [atom, c] : a.terms) {
      const Atom& mod = atoms_[atom];
      if (mod.kind != Atom::kRemainder) continue;
      for (const auto& [other, k] : a.terms) {
        const Atom& div = atoms_[other];
        // c·(x mod d) + c·d·⌊x/d⌋ = c·x
        if (div.kind != Atom::kQuotient || div.divisor != mod.divisor || div.operand != mod.operand || !(k == c * mod.divisor)) continue;
        const Size factor = c;
        const Index x = mod.operand;
        const AtomId m = atom, d = other;
        std::erase_if(a.terms, [&](const auto& t) { return t.first == m || t.first == d; });
        a = a + x * factor;
        changed = true;
        break;
      }
      if (changed) break;
    }
  }
  return a;
}

int64_t IndexSpace::alignment(const Index& a, AtomId skip, int64_t limit) const {
  int64_t divisor = known_divisor(a.constant, *symbols_);
  for (const auto& [atom, c] : a.terms)
    if (atom != skip) divisor = std::gcd(divisor, known_divisor(c, *symbols_));
  int64_t power = 1;
  while (power < limit && (divisor % (power * 2)) == 0) power *= 2;
  return power;
}

Index IndexSpace::substitute(const Index& a, const std::vector<std::pair<AtomId, Index>>& replacements) {
  std::map<AtomId, Index> done;  // an atom may occur in many others
  return substitute(a, replacements, done);
}

Index IndexSpace::substitute(const Index& a, const std::vector<std::pair<AtomId, Index>>& replacements, std::map<AtomId, Index>& done) {
  Index result(a.constant);
  for (const auto& [atom, c] : a.terms) {
    if (auto it = done.find(atom); it != done.end()) {
      result = result + it->second * c;
      continue;
    }
    const Atom at = atoms_[atom];  // a copy: interning may move the atoms
    Index replaced;
    if (at.kind == Atom::kVariable || at.kind == Atom::kData) {
      auto r = std::find_if(replacements.begin(), replacements.end(), [&, id = atom](const auto& p) { return p.first == id; });
      replaced = r == replacements.end() ? variable(atom) : r->second;
    } else {
      const Index operand = substitute(at.operand, replacements, done);
      replaced = at.kind == Atom::kQuotient ? quotient(operand, at.divisor) : remainder(operand, at.divisor);
    }
    result = result + replaced * c;
    done.emplace(atom, std::move(replaced));
  }
  return simplify(std::move(result));
}

bool IndexSpace::depends_on(const Index& a, AtomId variable) const {
  return std::any_of(a.terms.begin(), a.terms.end(), [&](const auto& term) {
    const auto& variables = atoms_[term.first].variables;
    return std::binary_search(variables.begin(), variables.end(), variable);
  });
}

}  // namespace fusec
