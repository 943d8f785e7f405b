// The compiler's contents page: source text → everything that can be written or run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emit/program.h"
#include "graph/graph.h"
#include "kernel/program.h"
#include "lower/lower.h"
#include "parser/read_graph.h"
#include "rewrite/rewrite.h"
#include "segment/segment.h"

namespace fusec {

struct CompileOptions {
  ReadOptions read;
  Target target;
  EmitOptions emit;
  LowerOptions lower;
  bool relaxed_casts = false;
  bool stop_after_segment = false;           // --emit report: no lowering, so ops without one are allowed
  std::vector<std::string> skip;             // optional passes by name
  std::vector<std::string> dump_after;       // stage names, or "all": text on stderr
  std::string stop_after;                    // a stage name: later ones do not run
  int64_t pass_limit = -1;                   // run at most this many optional passes
  std::optional<uint64_t> random_partition;  // its seed
  bool time_passes = false;
};

struct Compilation {
  Graph graph;      // as read
  Graph rewritten;  // what was segmented and lowered
  RewriteLog log;
  Segmentation segmentation;
  std::optional<Program> program;
  std::string stopped_text;  // with --stop-after: what that stage gave
  double segment_ms = 0, lower_ms = 0, total_ms = 0;
};

// The stages by name, in order: "read", the passes, "segment", "lower".
std::vector<std::string_view> stage_names();

// Nothing when `diagnostics` has errors. Failure(kBadInput) for a stage name that there is not.
std::optional<Compilation> compile(const SourceText& source, const CompileOptions& options, Diagnostics& diagnostics);

}  // namespace fusec
