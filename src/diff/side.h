// One side of a comparison: a graph file, a report, or a folder that `fusec compile` wrote.
#pragma once

#include <optional>
#include <string>

#include "diff/report_view.h"
#include "diff/segment_diff.h"
#include "graph/graph.h"
#include "parser/read_graph.h"

namespace fusec {

struct Side {
  enum Kind : uint8_t { kGraph, kReport, kFolder } kind = kGraph;
  std::string path;                  // as given; "<stdin>"
  SourceText source;                 // kGraph
  std::optional<Graph> graph;        // not for kReport
  std::optional<ReportView> report;  // for kGraph once it was segmented
  const SourceText* text() const { return kind == kGraph ? &source : nullptr; }
  const std::string& name() const { return graph ? graph->name : report->graph; }
};

// `text`: the content, of a file or stdin; folders and manifests are read here. Failure(kBadInput) for a folder, manifest or report that
// cannot be used; a graph with errors leaves them in `diagnostics` and `source`, and no graph.
Side read_side(const std::string& path, SourceText text, const ReadOptions& options, Diagnostics& diagnostics);
// Whether read_side reads the path itself.
bool is_folder_side(const std::string& path);

// Rewrites and segments the graphs among the sides that have no report yet. They are lowered too, which tells launches exactly, where
// `lower` allows it and every side is, or can be, lowered: so both are told alike.
void add_reports(const std::vector<Side*>& sides, const std::string& arch, const ReadOptions& options, bool lower);

// The ops of a side by the names of their results.
Spots spots_of(const Side& side);

}  // namespace fusec
