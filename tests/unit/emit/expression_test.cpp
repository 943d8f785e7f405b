// Index expressions as C text.
#include "emit/expression.h"

#include "catch.h"

using namespace fusec;

TEST_CASE("a quotient that is subtracted is negated as a whole") {
  const Symbols none;
  IndexSpace space(none);
  const AtomId i = space.add_variable("i0", 58);
  const Index q = space.quotient(space.variable(i), 7);
  CHECK(index_text(space, Index(8) - q, false) == "-(i0 / 7) + 8");
  CHECK(index_text(space, space.variable(i) * Size(9) - q, false) == "i0 * 9 - i0 / 7");
  CHECK(index_text(space, q * Size(4) + Index(1), false) == "(i0 / 7) * 4 + 1");
  CHECK(index_text(space, Index(64) - space.variable(i) * Size(2), false) == "-i0 * 2 + 64");
}

TEST_CASE("wide products are made wide by their constant") {
  const Symbols none;
  IndexSpace space(none);
  const AtomId i = space.add_variable("lane", 8);
  CHECK(index_text(space, space.variable(i) * Size(600000000), true) == "lane * 600000000LL");
  CHECK(index_text(space, space.variable(i) * Size(600000000), false) == "lane * 600000000");
}

TEST_CASE("sizes of several factors stand in parentheses") {
  Symbols symbols;
  Symbol n, m;
  n.name = "N", m.name = "M";
  const Size N = Size::symbol(symbols.push(n)), M = Size::symbol(symbols.push(m));
  CHECK(size_text(N * M, symbols, false) == "((unsigned)N * (unsigned)M)");
  CHECK(size_text(N, symbols, true) == "N");
  CHECK(size_text(N * Size(2) + Size(1), symbols, true) == "(2 * N + 1)");
}
