#include "segment/min_cut.h"

#include "catch.h"

using namespace fusec;

TEST_CASE("the minimum cut of a small graph") {
  // source → a (3), source → b (2), a → b (1), a → sink (2), b → sink (2): 4
  MinCut cut;
  const uint32_t source = cut.add_node(), a = cut.add_node(), b = cut.add_node(), sink = cut.add_node();
  cut.add_edge(source, a, 3);
  cut.add_edge(source, b, 2);
  cut.add_edge(a, b, 1);
  cut.add_edge(a, sink, 2);
  cut.add_edge(b, sink, 2);
  CHECK(cut.solve(source, sink) == 4.0);
  CHECK(cut.on_source_side(source));
  CHECK(!cut.on_source_side(sink));
}

TEST_CASE("the cut nearest the sink is found") {
  MinCut cut;
  const uint32_t source = cut.add_node(), a = cut.add_node(), b = cut.add_node(), sink = cut.add_node();
  cut.add_edge(source, a, 1);
  cut.add_edge(a, b, 1);
  cut.add_edge(b, sink, MinCut::kInfinite);
  CHECK(cut.solve(source, sink) == 1.0);
  CHECK(cut.on_source_side(a));
  CHECK(!cut.on_source_side(b));
}
