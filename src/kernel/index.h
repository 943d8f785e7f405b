// Symbolic index expressions: linear combinations of loop variables and of quotients and remainders of such combinations.
// Views compose into them, so that a chain of reshape, permute, slice and pad costs nothing but the index of one load.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/size.h"
#include "support/ids.h"

namespace fusec {

struct AtomTag;
using AtomId = Id<AtomTag>;
struct NodeTag;
using NodeId = Id<NodeTag>;

// constant + Σ coefficient · atom, terms sorted by atom, no zero coefficients.
struct Index {
  Size constant;
  std::vector<std::pair<AtomId, Size>> terms;

  Index() = default;
  Index(Size c) : constant(std::move(c)) {}  // NOLINT: sizes are indices
  Index(int64_t c) : constant(c) {}          // NOLINT
  bool is_constant() const { return terms.empty(); }
  // The coefficient of an atom, 0 when it does not occur.
  Size coefficient(AtomId atom) const;
  bool operator==(const Index&) const = default;
};

Index operator+(const Index& a, const Index& b);
Index operator-(const Index& a, const Index& b);
Index operator*(const Index& a, const Size& factor);

// A loop variable in [0, extent), or ⌊operand / divisor⌋, or operand mod divisor, or an index that a node reads from memory.
struct Atom {
  enum Kind : uint8_t { kVariable, kQuotient, kRemainder, kData } kind = kVariable;
  std::string name;  // variables, and what name_shared_atoms names
  Index operand;
  Size divisor;
  NodeId node;                    // kData
  Size lowest, highest;           // inclusive bounds, as polynomials
  std::vector<AtomId> variables;  // that it depends on, sorted
  bool may_split = true;          // variables: whether `wanted_split` may name it
  std::vector<NodeId> data;       // whose values it contains, each once
  int depth = 0;                  // of quotients and remainders inside each other; 0 for variables
};

// index = first − second, neither with a negative coefficient: sides that unsigned arithmetic can compare.
std::pair<Index, Index> sides_of(const Index& index);

class IndexSpace {
 public:
  explicit IndexSpace(const Symbols& symbols) : symbols_(&symbols) {}

  // A variable in [0, extent); its Index is just itself.
  AtomId add_variable(std::string name, const Size& extent, bool may_split = true);
  Index variable(AtomId atom) const;
  // The value of a node, in [0, extent); it depends on `variables`.
  AtomId add_data(NodeId node, const Size& extent, std::vector<AtomId> variables);
  Size extent(AtomId variable) const { return atoms_[variable].highest + 1; }

  // Floor division and its remainder by a positive size. Where the quotient cannot be simplified, a split of a variable that
  // would allow it is remembered in `wanted_split`.
  Index quotient(const Index& a, const Size& divisor);
  Index remainder(const Index& a, const Size& divisor);
  // Σ with q·(a/q) + a mod q folded back into a.
  Index simplify(Index a);

  struct Split {
    AtomId variable;
    Size inner;  // the variable becomes outer · inner + rest
  };
  const std::optional<Split>& wanted_split() const { return wanted_split_; }

  // Least and greatest value over all variables, as 64-bit integers (saturated when unbounded).
  int64_t lowest(const Index& a) const;
  int64_t highest(const Index& a) const;
  bool is_nonnegative(const Index& a) const { return lowest(a) >= 0; }
  bool is_negative(const Index& a) const { return highest(a) < 0; }
  // The greatest power of two ≤ limit that divides every coefficient and the constant, with `skip`'s term left out.
  int64_t alignment(const Index& a, AtomId skip, int64_t limit) const;

  // Replaces variables; quotients and remainders that contain them are built again.
  Index substitute(const Index& a, const std::vector<std::pair<AtomId, Index>>& replacements);
  // True if the atom, or a quotient or remainder over it, or data that depends on it, occurs.
  bool depends_on(const Index& a, AtomId variable) const;
  // The nodes whose values occur, each once.
  std::vector<NodeId> data_of(const Index& a) const;
  bool reads_data(const Index& a) const { return !data_of(a).empty(); }
  // Asks anew what data depends on, after variables were replaced.
  void set_data_variables(const std::function<std::vector<AtomId>(NodeId)>& variables_of);

  // Gives a quotient or remainder a name, to be computed once under it.
  void set_name(AtomId id, std::string name) { atoms_[id].name = std::move(name); }
  // The deepest nesting of quotients and remainders in the index.
  int depth(const Index& a) const;

  const Atom& operator[](AtomId id) const { return atoms_[id]; }
  size_t size() const { return atoms_.size(); }
  const Symbols& symbols() const { return *symbols_; }

 private:
  Index substitute(const Index& a, const std::vector<std::pair<AtomId, Index>>& replacements, std::map<AtomId, Index>& done);
  AtomId intern(Atom atom);
  // Splits a into (multiple of divisor) / divisor and the rest.
  std::pair<Index, Index> divide_terms(const Index& a, const Size& divisor) const;
  std::pair<Index, Index> split_terms(const Index& a, const Size& divisor) const;
  void want_split(const Index& rest, const Size& divisor);
  std::vector<AtomId> variables_in(const Index& operand) const;
  Size bound(const Index& a, bool upper) const;
  bool has_indefinite_sign(const Index& a) const;

  const Symbols* symbols_;
  IdVec<AtomId, Atom> atoms_;
  std::optional<Split> wanted_split_;
};

}  // namespace fusec
