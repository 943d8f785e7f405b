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
  result.per_segment = {{0, "g_s0", 9.5, 9.25, 9.75}};
  result.segment_bytes = {19000000};
  result.samples = {10, 10, 10};
  result.compile_ms = 100;
  result.segment_ms = 1.25;
  CHECK(bench_json(result) ==
        "{\"graph\":\"g\",\"device\":\"NVIDIA "
        "H200\",\"segments\":1,\"launches\":1,\"us\":{\"median\":10.0,\"q1\":10.0,\"q3\":10.0,\"min\":10.0,\"n\":3},"
        "\"bytes\":30000000,\"gbps\":3000.0,\"limit_gbps\":4200.0,\"per_segment\":[{\"id\":0,\"kernel\":\"g_s0\",\"us\":9.5,\"q1\":9.25,"
        "\"q3\":9."
        "75,\"bytes\":19000000,\"gbps\":2000.0}],\"compile_ms\":100.0,\"segment_ms\":1.25,\"samples\":[10.0,10.0,10.0],\"warnings\":[]}\n");
}

TEST_CASE("the table of a benchmark") {
  BenchResult r;
  r.graph = "g";
  r.device = "a GPU";
  r.segments = 2;
  r.launches = 3;
  r.us = quartiles({30, 31, 32});
  r.bytes = int64_t{96} << 20;
  r.segment_bytes = {int64_t{64} << 20, int64_t{32} << 20};
  r.limit_gbps = 4000;
  r.per_segment = {{0, "g_s0+g_s0_2", 20, 20, 20}, {1, "g_s1", 12, 12, 12}};
  CHECK(bench_text(r) ==
        "g on a GPU: 2 segments, 3 launches\n"
        "  segment        time       bytes         rate  of a copy  kernels\n"
        "        0    20.00 us    64.0 MiB    3355 GB/s       84 %  g_s0+g_s0_2\n"
        "        1    12.00 us    32.0 MiB    2796 GB/s       70 %  g_s1\n"
        "      all    31.00 us    96.0 MiB    3247 GB/s       81 %\n"
        "  all: median of 3 replays, L2 cache overwritten before each; quartiles 30.00 and 32.00, least 30.00 us\n"
        "  segments are timed alone, so that launching is in each of them\n"
        "  a plain copy reaches 4000 GB/s; compiled in 0.0 ms, segmentation 0.0 ms of it\n"
        "  warning: noisy: half of the replays lie 6 % apart; does something else use the GPU?\n");
  r.bytes.reset();
  r.segment_bytes.clear();
  CHECK(bench_text(r).find("        1    12.00 us           -            -          -  g_s1\n") != std::string::npos);
}

TEST_CASE("doubtful times are told, good ones are not") {
  auto doubts = [](std::vector<double> samples, double before, double after, double peak) {
    BenchResult r;
    r.us = quartiles(samples);
    r.samples = std::move(samples);
    r.limit_gbps = before;
    r.limit_gbps_after = after;
    r.peak_gbps = peak;
    return doubts_about(r);
  };
  auto only = [](const std::vector<std::string>& list, const std::string& part) {
    return list.size() == 1 && list[0].find(part) != std::string::npos;
  };
  const std::vector<double> steady(99, 50.0);
  CHECK(doubts(steady, 4200, 4180, 4917).empty());
  CHECK(doubts(steady, 4200, 4180, 0).empty());
  std::vector<double> noisy, drifting, tiny;
  for (int i = 0; i < 99; ++i) {
    noisy.push_back(i % 2 ? 50 : 58);
    drifting.push_back(i < 66 ? 50 : 54);
    tiny.push_back(i % 2 ? 2.0 : 2.4);  // steps of the clock
  }
  CHECK(only(doubts(noisy, 4200, 4180, 4917), "noisy: half of the replays lie 14 % apart"));
  CHECK(doubts(tiny, 4200, 4180, 4917).empty());
  bool drift = false;
  for (const std::string& doubt : doubts(drifting, 4200, 4180, 4917))
    drift |= doubt.find("the last replays take 8 % longer") != std::string::npos;
  CHECK(drift);
  CHECK(only(doubts(steady, 4200, 3700, 4917), "went from 4200 to 3700 GB/s"));
  CHECK(only(doubts(steady, 2000, 2010, 4917), "reaches 2000 GB/s of the memory's 4917"));
}
