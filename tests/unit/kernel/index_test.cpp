// Index expressions: quotients and remainders that vanish, the splits that others ask for, bounds and alignment.
#include "kernel/index.h"

#include "catch.h"

using namespace fusec;

TEST_CASE("a quotient takes what the divisor divides and drops a rest that fits") {
  const Symbols none;
  IndexSpace space(none);
  const AtomId h = space.add_variable("h", 32), d = space.add_variable("d", 128);
  const Index linear = space.variable(h) * Size(128) + space.variable(d);
  CHECK(space.quotient(linear, 128) == space.variable(h));
  CHECK(space.remainder(linear, 128) == space.variable(d));
  CHECK_FALSE(space.wanted_split());
}

TEST_CASE("a variable that does not fit asks to be split, forwards and flipped") {
  const Symbols none;
  for (const int64_t sign : {1, -1}) {
    IndexSpace space(none);
    const AtomId i = space.add_variable("i", 32);
    space.quotient(space.variable(i) * Size(sign) + Index(sign < 0 ? 31 : 0), 4);
    REQUIRE(space.wanted_split());
    CHECK(space.wanted_split()->variable == i);
    CHECK(space.wanted_split()->inner == Size(4));
  }
}

TEST_CASE("what is divided is never negative") {
  const Symbols none;
  IndexSpace space(none);
  const AtomId i = space.add_variable("i", 100);
  // 130·k - 7·i + 5 mod 130, with i up to 99
  const Index r = space.remainder(Index(1000) - space.variable(i) * Size(7), 130);
  REQUIRE(r.terms.size() == 1);
  const Atom& atom = space[r.terms[0].first];
  CHECK(atom.kind == Atom::kRemainder);
  CHECK(space.lowest(atom.operand) >= 0);
  // The operand is congruent to 1000 - 7·i.
  CHECK((atom.operand.constant.value() - 1000) % 130 == 0);
}

TEST_CASE("quotient and remainder of one operand fold back") {
  const Symbols none;
  IndexSpace space(none);
  const AtomId i = space.add_variable("i", 35);
  const Index q = space.quotient(space.variable(i), 6), r = space.remainder(space.variable(i), 6);
  CHECK(space.simplify(q * Size(6) + r) == space.variable(i));
  CHECK_FALSE(space.simplify(q * Size(5) + r) == space.variable(i));
}

TEST_CASE("bounds and alignment") {
  const Symbols none;
  IndexSpace space(none);
  const AtomId i = space.add_variable("i", 10), v = space.add_variable("v", 8);
  const Index index = space.variable(i) * Size(24) + space.variable(v) - Index(16);
  CHECK(space.lowest(index) == -16);
  CHECK(space.highest(index) == 9 * 24 + 7 - 16);
  CHECK(space.alignment(index, v, 8) == 8);
  CHECK(space.alignment(index + Index(4), v, 8) == 4);
  CHECK(space.alignment(index + Index(1), v, 8) == 1);
}

TEST_CASE("symbols: a run-time extent divides itself, and bounds follow its maximum") {
  Symbols symbols;
  Symbol n;
  n.name = "N";
  n.max = 1000;
  n.multiple_of = 16;
  const Size N = Size::symbol(symbols.push(n));
  IndexSpace space(symbols);
  const AtomId row = space.add_variable("row", 5), column = space.add_variable("column", N);
  const Index linear = space.variable(row) * N + space.variable(column);
  CHECK(space.quotient(linear, N) == space.variable(row));
  CHECK(space.remainder(linear, N) == space.variable(column));
  CHECK(space.highest(linear) <= 5000);
  CHECK(space.is_nonnegative(Index(N - 1) - space.variable(column)));
  CHECK(space.alignment(linear, column, 16) == 16);
}
