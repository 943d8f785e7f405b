// What a loader needs to run a compiled graph, as JSON: the graph, the launches with their dimensions as formulas of run-time sizes,
// parameters, workspace, files and their hashes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernel/program.h"

namespace fusec {

struct ManifestFile {
  enum Kind : uint8_t { kCu, kHeader, kPtx, kCubin } kind = kCu;
  std::string name;    // in the manifest's folder
  std::string arch;    // of PTX and cubins
  std::string sha256;  // hex
  bool operator==(const ManifestFile&) const = default;
};

struct Manifest {
  std::string graph_json;  // the graph as read, canonical; it describes inputs and outputs
  Symbols symbols;         // those of the program's sizes
  Program program;         // without its texts
  uint32_t segments = 0;
  int64_t bytes = 0;                   // that the segments read and write, for the typical sizes
  std::vector<int64_t> segment_bytes;  // each of them; empty in what an earlier fusec wrote
  size_t inputs = 0, outputs = 0;      // how many the graph has
  std::vector<ManifestFile> files;
};

std::string write_manifest(const Manifest& manifest, const Graph& graph);
// `path` is for messages. Failure(kBadInput) for anything that write_manifest does not write; every index is in range afterwards.
Manifest read_manifest(const std::string& text, const std::string& path);

}  // namespace fusec
