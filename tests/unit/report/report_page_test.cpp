#include <chrono>

#include "catch.h"
#include "report/filter.h"
#include "report/html.h"
#include "report/kernel_text.h"
#include "report/picture.h"
#include "unit/segment/graphs.h"

using namespace fusec;

namespace {

bool overlap(const Box& a, const Box& b) { return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h; }

// Nothing lies on anything else, every op is inside its segment's box.
void check_places(const Picture& p) {
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const PictureNode& n = p.nodes[i];
    for (size_t j = i + 1; j < p.nodes.size(); ++j) CHECK(!overlap(n.box, p.nodes[j].box));
    for (size_t s = 0; s < p.segments.size(); ++s) {
      const Box& box = p.segments[s];
      const bool inside = n.box.x >= box.x && n.box.x + n.box.w <= box.x + box.w && n.box.y >= box.y && n.box.y + n.box.h <= box.y + box.h;
      if (!n.is_input && n.segment == s) CHECK(inside);
      else CHECK(!overlap(n.box, box));
    }
  }
  for (size_t s = 0; s < p.segments.size(); ++s)
    for (size_t t = s + 1; t < p.segments.size(); ++t) CHECK(!overlap(p.segments[s], p.segments[t]));
}

std::string refusal(const std::string& json, const std::string& graph) {
  try {
    read_measured(json, graph);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("places by layers: nothing covers anything") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    const Graph g = testing::random_graph(seed, 20 + 6 * seed);
    Picture p = make_picture(g, testing::segment_h200(g));
    place_in_layers(p);
    check_places(p);
  }
}

TEST_CASE("places by dot: nothing covers anything") {
  if (!run_filter({"dot", "-V"}, "", 5000)) {
    WARN("skipped: no dot (apt-get install graphviz)");
    return;
  }
  for (unsigned seed = 0; seed < 4; ++seed) {
    INFO("seed " << seed);
    const Graph g = testing::random_graph(seed, 30);
    Picture p = make_picture(g, testing::segment_h200(g));
    REQUIRE(place_with_dot(p, 60000));
    CHECK(p.layout == "dot");
    for (const PictureLink& link : p.links) CHECK(link.curve.size() % 3 == 1);
    check_places(p);
  }
}

TEST_CASE("dot that takes too long is left") {
  const Graph g = testing::random_graph(1, 200);
  Picture p = make_picture(g, testing::segment_h200(g));
  const auto start = std::chrono::steady_clock::now();
  CHECK(!place_with_dot(p, 1));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  CHECK(p.layout.empty());
}

TEST_CASE("a filter's output comes back whole, or not at all") {
  std::string megabyte(1 << 20, 'x');
  CHECK(run_filter({"cat"}, megabyte, 20000) == megabyte);
  CHECK(run_filter({"head", "-c", "3"}, megabyte, 20000) == "xxx");
  CHECK(!run_filter({"sleep", "30"}, "", 50));
  CHECK(!run_filter({"false"}, "", 20000));
  CHECK(!run_filter({"no-such-program-here"}, "", 20000));
}

TEST_CASE("a kernel is cut out of its file") {
  const std::string file =
      "helper() {\n}\n\nextern \"C\" __global__ void __launch_bounds__(128)\nk_1(int *a) {\n  if (a) {\n  }\n}\n\n"
      "extern \"C\" __global__ void __launch_bounds__(128)\nk_10(int *a) {\n  return;\n}\n\nint launch() {\n}\n";
  CHECK(kernel_text(file, "k_1").ends_with("if (a) {\n  }\n}\n"));
  CHECK(kernel_text(file, "k_10").starts_with("extern \"C\" __global__ void __launch_bounds__(128)\nk_10("));
  CHECK(kernel_text(file, "k").empty());
  CHECK(kernel_text("", "k").empty());
}

TEST_CASE("the page holds nothing that a text of the graph put there as markup") {
  CompileOptions options;
  options.target = target_for("sm_90");
  options.stop_after_segment = true;
  Diagnostics diagnostics;
  const auto c = compile(
      SourceText(
          "g.fusion.json",
          R"({"version": 1, "name": "g", "doc": "</script><script>alert(1)</script>@@DATA@@", "inputs": [{"name": "x", "dtype": "f32", "shape": [4]}],
    "ops": [{"op": "neg", "in": ["x"], "out": "y"}], "outputs": ["y"]})"),
      options, diagnostics);
  REQUIRE(c.has_value());
  HtmlOptions html;
  html.use_dot = false;
  const std::string page = report_html(*c, options.target, {}, html);
  CHECK(page == report_html(*c, options.target, {}, html));
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  CHECK(page.find("\\u003c/script\\u003e") != std::string::npos);
  CHECK(page.find("http://") == page.find("http://www.w3.org/2000/svg"));
  CHECK(page.find("https://") == std::string::npos);
  size_t scripts = 0;
  for (size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++scripts;
  CHECK(scripts == 2);
}

TEST_CASE("measured times are those of the graph, or refused") {
  const std::string good = R"({"graph": "g", "us": {"median": 5.5}, "limit_gbps": 100, "per_segment": [{"id": 1, "us": 2}]})";
  CHECK(read_measured(good, "g").segment_us.at(1) == 2);
  CHECK(refusal(good, "h") == "--measured: times of the graph 'g', not of 'h'");
  for (const char* bad :
       {"", "[]", "{}", R"({"graph": "g", "us": 5, "per_segment": []})", R"({"graph": "g", "us": {"median": 1}, "per_segment": [5]})"})
    CHECK(refusal(bad, "g") == "--measured: not what 'fusec run GRAPH --bench --json' prints");
}
