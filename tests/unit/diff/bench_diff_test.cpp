#include "diff/bench_diff.h"

#include <cmath>

#include "catch.h"
#include "support/diag.h"

using namespace fusec;

namespace {

BenchRecord record(double median, double half, double n = 100) {
  return {"g", "gpu", median, median - half, median + half, median - 2 * half, n, 4000, {}};
}

BenchVerdict::Word word(const BenchRecord& a, const BenchRecord& b) { return diff_bench({a}, {b}, 0.03).at(0).word; }

}  // namespace

TEST_CASE("the spread decides, not two medians") {
  using V = BenchVerdict;
  const BenchRecord quiet = record(100, 1), noisy = record(100, 12);
  CHECK(word(quiet, quiet) == V::kSame);
  CHECK(word(quiet, record(100.5, 1)) == V::kSame);
  CHECK(word(quiet, record(110, 1)) == V::kSlow);
  CHECK(word(quiet, record(90, 1)) == V::kFast);
  // Ten per cent again, but within the quartiles; and noise that hides whether there is a difference.
  CHECK(word(noisy, record(110, 12)) == V::kUnsure);
  CHECK(word(record(100, 12, 20), record(100.1, 12, 20)) == V::kUnsure);
  // Spreads that are apart by less than the threshold.
  CHECK(word(record(100, 0.1), record(102, 0.1)) == V::kSame);
}

TEST_CASE("what speaks against a verdict makes it unsure") {
  using V = BenchVerdict;
  const BenchRecord quiet = record(100, 1);
  CHECK(word(quiet, record(110, 1, 3)) == V::kUnsure);
  BenchRecord other = record(110, 1);
  other.device = "another";
  CHECK(word(quiet, other) == V::kUnsure);
  other = record(110, 1);
  other.min = 90;  // the fastest run was faster than all before
  CHECK(word(quiet, other) == V::kUnsure);
  other = record(110, 1);
  other.limit_gbps = 3600;  // a plain copy became as slow
  CHECK(word(quiet, other) == V::kUnsure);
  other.limit_gbps = 3990;
  CHECK(word(quiet, other) == V::kSlow);
}

TEST_CASE("samples are ranked where both files have them") {
  using V = BenchVerdict;
  BenchRecord a = record(100, 1), b = record(110, 1), mixed = b;
  for (int i = 0; i < 40; ++i) {
    a.samples.push_back(99 + 0.05 * i);
    b.samples.push_back(109 + 0.05 * i);
    mixed.samples.push_back(i % 2 ? 90 + 0.01 * i : 110);
  }
  CHECK(word(a, b) == V::kSlow);
  CHECK(word(a, mixed) == V::kUnsure);
}

TEST_CASE("one object, several, or a list; runs of one graph are taken together") {
  const std::string one = R"({"graph": "g", "device": "gpu", "us": {"median": 10, "q1": 9, "q3": 11, "min": 8, "n": 50}})";
  const std::string two = R"({"graph": "g", "device": "gpu", "us": {"median": 12, "q1": 11, "q3": 14, "min": 9, "n": 50}})";
  CHECK(read_bench(one, "f").size() == 1);
  CHECK(read_bench("[" + one + ", " + one + "]", "f").size() == 1);
  const auto both = read_bench(one + "\n" + two + "\n", "f");
  REQUIRE(both.size() == 1);
  CHECK(both[0].median == Approx(11));
  CHECK(both[0].q1 == 9);
  CHECK(both[0].q3 == 14);
  CHECK(both[0].min == 8);
  CHECK(both[0].n == 100);
  CHECK_THROWS_AS(read_bench("", "f"), Failure);
  CHECK_THROWS_AS(read_bench(one + " x", "f"), Failure);
  CHECK_THROWS_AS(read_bench(R"({"error": "no GPU", "exit": 3})", "f"), Failure);
}
