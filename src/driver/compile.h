// The compiler's contents page: source text → everything that can be written or run.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  LowerOptions lower;
  bool relaxed_casts = false;
  bool stop_after_segment = false;        // --emit report: no lowering, so ops without one are allowed
  std::vector<std::string> skip;          // optional passes by name
  std::vector<std::string> dump_after;    // pass names, or "all": text on stderr
  int64_t pass_limit = -1;                // run at most this many optional passes
  bool time_passes = false;
};

struct Compilation {
  Graph graph;      // as read
  Graph rewritten;  // what was segmented and lowered
  RewriteLog log;
  Segmentation segmentation;
  std::optional<Program> program;
  double segment_ms = 0, lower_ms = 0, total_ms = 0;
};

// Nothing when `diagnostics` has errors.
std::optional<Compilation> compile(const SourceText& source, const CompileOptions& options, Diagnostics& diagnostics);

}  // namespace fusec
