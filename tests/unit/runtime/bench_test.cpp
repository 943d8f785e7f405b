#include "runtime/bench.h"

#include "catch.h"

using namespace fusec;

TEST_CASE("quartiles by the exclusive method") {
  const Quartiles nine = quartiles({9, 1, 8, 2, 7, 3, 6, 4, 5});  // ranks 2.5, 5, 7.5
  CHECK(nine.q1 == 2.5);
  CHECK(nine.median == 5);
  CHECK(nine.q3 == 7.5);
  CHECK(nine.min == 1);
  CHECK(nine.n == 9);
  CHECK(quartiles({4, 2}).median == 3);
  CHECK(quartiles({4, 2}).q1 == 2);  // rank 0.75 lies before the first
  CHECK(quartiles({7}).q3 == 7);
  CHECK(quartiles({}).n == 0);
}

TEST_CASE("a benchmark is one JSON object") {
  BenchResult result;
  result.graph = "g";
  result.device = "NVIDIA H200";
  result.segments = 1;
  result.launches = 1;
  result.us = quartiles({10, 10, 10});
  result.bytes = 30000000;
  result.limit_gbps = 4200;
  result.per_segment = {{0, "g_s0", 9.5}};
  result.compile_ms = 100;
  result.segment_ms = 1.25;
  CHECK(bench_json(result) ==
        "{\"graph\":\"g\",\"device\":\"NVIDIA "
        "H200\",\"segments\":1,\"launches\":1,\"us\":{\"median\":10.0,\"q1\":10.0,\"q3\":10.0,\"min\":10.0,\"n\":3},"
        "\"bytes\":30000000,\"gbps\":3000.0,\"limit_gbps\":4200.0,\"per_segment\":[{\"id\":0,\"kernel\":\"g_s0\",\"us\":9.5}],\"compile_"
        "ms\":100.0,"
        "\"segment_ms\":1.25}\n");
}
