#include "graph/size.h"

#include <stdexcept>

#include "catch.h"

using namespace fusec;

namespace {
struct Sizes {
  Symbols symbols;
  Size n, m;
  Sizes() {
    n = Size::symbol(symbols.push({"N", 4096, 16, 131072}));
    m = Size::symbol(symbols.push({"M", 10}));
  }
  std::string text(const Size& s) const { return to_string(s, symbols); }
};
}  // namespace

TEST_CASE("sizes are polynomials in normal form") {
  Sizes s;
  CHECK(s.text(Size(4096)) == "4096");
  CHECK(s.text(s.n * s.m) == "N*M");
  CHECK(s.text(s.n + s.n + 128) == "2*N+128");
  CHECK(s.text(Size(0) - s.n - 1) == "-N-1");
  CHECK((s.n + s.m) * (s.n - s.m) == s.n * s.n - s.m * s.m);
  CHECK((s.n - s.n).is(0));
  CHECK((s.n * 0).is_constant());
  CHECK(s.n != s.m);
  CHECK((s.n < s.m) != (s.m < s.n));
}

TEST_CASE("sizes never wrap") {
  Sizes s;
  const Size big = int64_t{1} << 62;
  CHECK_THROWS_AS(big + big, std::overflow_error);
  CHECK_THROWS_AS(big * 2, std::overflow_error);
  CHECK_THROWS_AS(Size(INT64_MIN) - 1, std::overflow_error);
  CHECK_THROWS_AS(s.n * big * 2, std::overflow_error);
  CHECK_THROWS_AS(evaluate(s.n * s.m, SymbolValues(2, int64_t{1} << 40)), std::overflow_error);
}

TEST_CASE("exact quotients of polynomials") {
  Sizes s;
  CHECK(Size(12).exact_quotient(4) == Size(3));
  CHECK_FALSE(Size(13).exact_quotient(4));
  CHECK_FALSE(Size(13).exact_quotient(0));
  CHECK(Size(0).exact_quotient(s.n) == Size(0));
  CHECK((s.n * s.m * 6).exact_quotient(s.m * 2) == s.n * 3);
  CHECK((s.n * s.n - s.m * s.m).exact_quotient(s.n + s.m) == s.n - s.m);
  CHECK_FALSE((s.n + 1).exact_quotient(s.n));
  CHECK_FALSE(s.n.exact_quotient(2));  // not as a polynomial, though N is promised to be even
}

TEST_CASE("bounds and divisors follow from the promises") {
  Sizes s;
  CHECK(upper_bound(s.n * 2 + 1, s.symbols) == 262145);
  CHECK(lower_bound(s.n * 2 + 1, s.symbols) == 1);
  CHECK(upper_bound(s.m, s.symbols) == INT64_MAX);
  CHECK(lower_bound(Size(5) - s.m, s.symbols) == INT64_MIN);
  CHECK(upper_bound(Size(5) - s.m, s.symbols) == 5);
  CHECK(known_divisor(s.n * 3, s.symbols) == 48);
  CHECK(known_divisor(s.n * 3 + 8, s.symbols) == 8);
  CHECK(known_divisor(s.m * 3, s.symbols) == 3);
  CHECK(known_divisor(Size(0), s.symbols) == 0);
}

TEST_CASE("derived symbols are quotients rounded down") {
  Sizes s;
  Symbol half{"H"};
  half.derived = true;
  half.numerator = s.m + 1;
  half.denominator = 2;
  const Size h = Size::symbol(s.symbols.push(half));
  const SymbolValues values = typical_values(s.symbols);
  CHECK(evaluate(h, values) == 5);
  CHECK(evaluate(h * 2 + s.n, values) == 4106);
}

TEST_CASE("shapes: element counts and strides") {
  Sizes s;
  CHECK(element_count({}) == Size(1));
  CHECK(element_count({s.n, 3}) == s.n * 3);
  CHECK(element_count({int64_t{1} << 40, int64_t{1} << 40, 0}) == Size(0));
  CHECK_THROWS_AS(element_count({int64_t{1} << 40, int64_t{1} << 40}), std::overflow_error);
  CHECK(row_major_strides({2, s.n, 3}) == std::vector<Size>{s.n * 3, 3, 1});
  CHECK(row_major_strides({0, int64_t{1} << 40, int64_t{1} << 40}).size() == 3);
  CHECK(to_string(Shape{64, s.n}, s.symbols) == "[64,N]");
  CHECK(to_string(Shape{}, s.symbols) == "[]");
}
