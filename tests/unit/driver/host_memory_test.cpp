#include "driver/host_memory.h"

#include "catch.h"
#include "graph/builder.h"
#include "support/diag.h"

using namespace fusec;

TEST_CASE("the peak of a graph's values counts what is alive together", "[driver]") {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::kF32, {100});
  ValueId v = x;
  for (int i = 0; i < 5; ++i) v = b.value(OpKind::kNeg, {operand(v)}, "n" + std::to_string(i));
  b.output(v);
  CHECK(input_bytes(graph) == 400);
  CHECK(peak_value_bytes(graph) == 800);  // an operand and a result
  b.output(ValueId(size_t{1}));           // n0, to the end
  CHECK(peak_value_bytes(graph) == 1200);
}

TEST_CASE("sizes beyond every machine are refused, not wrapped", "[driver]") {
  Graph graph;
  Builder b(graph);
  Attrs attrs;
  attrs.shape = {int64_t{1} << 31, int64_t{1} << 30};
  b.output(b.value(OpKind::kFull, {}, "y", &attrs, DType::kU8));
  b.output(b.value(OpKind::kFull, {}, "z", &attrs, DType::kI16));
  CHECK(peak_value_bytes(graph) >= int64_t{3} << 61);
  CHECK_NOTHROW(require_host_memory(1 << 20, "these values"));
  CHECK_THROWS_AS(require_host_memory(peak_value_bytes(graph), "these values"), Failure);
}
