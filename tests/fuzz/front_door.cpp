#include "fuzz/front_door.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "driver/compile.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "parser/write_graph.h"
#include "support/check.h"

namespace fusec {

namespace {

// What the text means, printed: so that a graph is compared with what is written of it.
void check_round_trip(const Graph& graph) {
  const std::string written = write_graph(graph);
  Diagnostics diagnostics;
  const SourceText source("written.fusion.json", written);
  const auto again = read_graph(source, {}, diagnostics);
  FUSEC_CHECK(again.has_value(), "what was written is not read again:\n" + render(diagnostics, source, false) + written);
  FUSEC_CHECK(print(*again) == print(graph), "what was written means something else:\n" + written);
  FUSEC_CHECK(write_graph(*again) == written, "written twice, it differs:\n" + written);
}

Compilation segmented(const SourceText& source) {
  CompileOptions options;
  options.target = target_for("sm_90");
  options.stop_after_segment = true;
  Diagnostics diagnostics;
  auto compilation = compile(source, options, diagnostics);  // verifies after every pass
  FUSEC_CHECK(compilation.has_value(), "a good graph is refused:\n" + render(diagnostics, source, false));
  return std::move(*compilation);
}

using Partition = std::set<std::set<std::string>>;

// The segments by the names of their ops. Equal ops stay apart: which of them is kept depends on their order.
Partition partition_of(const std::string& text) {
  CompileOptions options;
  options.target = target_for("sm_90");
  options.stop_after_segment = true;
  options.skip = {"share_equal_ops"};
  Diagnostics diagnostics;
  const auto compilation = compile(SourceText("fuzz.fusion.json", text), options, diagnostics);
  FUSEC_CHECK(compilation.has_value(), "a graph is good in one order of its ops only");
  Partition partition;
  for (const Segment& segment : compilation->segmentation.segments) {
    std::set<std::string> names;
    for (const OpId op : segment.ops) names.insert(compilation->rewritten.name_of(op));
    partition.insert(std::move(names));
  }
  return partition;
}

// The order of the ops decides nothing.
void check_order(const std::string& text) {
  auto root = nlohmann::ordered_json::parse(text.substr(text.find('{')));
  std::reverse(root["ops"].begin(), root["ops"].end());
  const std::string reversed = root.dump();
  FUSEC_CHECK(partition_of(text) == partition_of(reversed), "reversing the ops changes the segments");
}

// What the gate lets through has a kernel.
void check_lowering(const SourceText& source) {
  CompileOptions options;
  options.target = target_for("sm_90");
  for (const bool deterministic : {false, true}) {
    options.lower.deterministic = deterministic;
    Diagnostics diagnostics;
    const auto compilation = compile(source, options, diagnostics);
    FUSEC_CHECK(compilation.has_value() == !diagnostics.has_errors(), "refused without a word");
  }
}

}  // namespace

bool try_front_door(const std::string& text) {
  if (text.size() > kMaxFuzzBytes) return false;
  const SourceText source("fuzz.fusion.json", text);
  Diagnostics diagnostics;
  const auto graph = read_graph(source, {}, diagnostics);
  FUSEC_CHECK(graph.has_value() == !diagnostics.has_errors(), "a graph and errors, or neither");
  render(diagnostics, source, true);
  if (!graph) return false;
  verify(*graph);
  check_round_trip(*graph);
  const Compilation compilation = segmented(source);
  // Every op of an output is in one segment.
  std::set<OpId> placed;
  for (const Segment& segment : compilation.segmentation.segments)
    for (const OpId op : segment.ops) FUSEC_CHECK(placed.insert(op).second, "an op is in two segments");
  FUSEC_CHECK(placed.size() == compilation.rewritten.ops.size(), "an op is in no segment");
  check_order(text);
  check_lowering(source);
  return true;
}

}  // namespace fusec
