#include "diff/segment_diff.h"

#include "catch.h"
#include "diff/report_view.h"
#include "support/diag.h"

using namespace fusec;

namespace {

// A report whose segments hold these ops, with edges given as JSON.
ReportView report(const std::vector<std::string>& segments, const std::string& edges = "", int wide = 0) {
  std::string text = R"({"version": 1, "graph": "g", "fusec": "0.1.0", "arch": "sm_90", "segments": [)";
  for (size_t i = 0; i < segments.size(); ++i)
    text += (i ? ", " : "") + std::string(R"({"id": )") + std::to_string(i) +
            R"(, "kernel": "k", "kind": "pointwise", "recomputed": [], "bytes_read": 4, "bytes_written": 4, "ops": [)" + segments[i] + "]}";
  text += R"(], "cast_groups": [], "origin": {}, "merged": {}, "edges": [)" + edges + R"(], "totals": {"segments": )" +
          std::to_string(segments.size()) + R"(, "launches": 1, "edge_bytes": 8, "wide_edges": )" + std::to_string(wide) +
          R"(, "bytes": 8}})";
  return read_report(text, "g.report.json");
}

SegmentDiff diff(const ReportView& a, const ReportView& b) {
  GraphDiff names;
  names.by_name = true;
  return diff_segments(a, b, names, {}, {});
}

std::string edge(const std::string& dtype, int bytes, const std::string& more = "") {
  return R"({"value": "p", "dtype": ")" + dtype + R"(", "bytes": )" + std::to_string(bytes) + R"(, "from": 0, "to": [1], "why": "rows")" +
         more + "}";
}

}  // namespace

TEST_CASE("segments are merged, split, recut, added and removed by the ops that they share") {
  const ReportView two = report({R"("p", "q")", R"("r", "s")"}), one = report({R"("p", "q", "r", "s")"});
  const ReportView other = report({R"("p", "r")", R"("q", "s")"}), more = report({R"("p", "q")", R"("r", "s")", R"("t")"});
  CHECK(diff(two, report({R"("r", "s")", R"("q", "p")"})).recuts.empty());
  auto kind = [](const SegmentDiff& d) {
    REQUIRE(d.recuts.size() == 1);
    return d.recuts[0].kind;
  };
  CHECK(kind(diff(two, one)) == Recut::kMerged);
  CHECK(kind(diff(one, two)) == Recut::kSplit);
  CHECK(kind(diff(two, other)) == Recut::kRecut);
  CHECK(kind(diff(two, more)) == Recut::kAdded);
  CHECK(kind(diff(more, two)) == Recut::kRemoved);
}

TEST_CASE("edges widen and narrow by their dtype; newly wide ones are listed") {
  const std::vector<std::string> cut = {R"("p")", R"("q")"};
  const ReportView narrow = report(cut, edge("bf16", 16)), wide = report(cut, edge("f32", 32, R"(, "narrow_bytes": 16)"), 1);
  const SegmentDiff d = diff(narrow, wide);
  REQUIRE(d.edges.size() == 1);
  CHECK(d.edges[0].kind == EdgeChange::kWidened);
  REQUIRE(d.wide.size() == 1);
  CHECK(*d.wide[0].b->narrow_bytes == 16);
  const SegmentDiff back = diff(wide, narrow);
  CHECK(back.edges[0].kind == EdgeChange::kNarrowed);
  CHECK(back.wide.empty());
  CHECK(diff(wide, wide).same_segments());
  CHECK(diff(wide, wide).wide.empty());
  CHECK(diff(narrow, report(cut, edge("f16", 16))).edges[0].kind == EdgeChange::kChanged);
}

TEST_CASE("a report of another version or shape is refused by name") {
  CHECK_THROWS_AS(read_report("{}", "r"), Failure);
  CHECK_THROWS_AS(read_report(R"({"version": 2})", "r"), Failure);
  CHECK_THROWS_AS(report({R"("p")"}, R"({"value": "p", "dtype": "f32", "bytes": 1, "from": 0, "to": [3], "why": ""})"), Failure);
}
