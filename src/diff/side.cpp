#include "diff/side.h"

#include <algorithm>
#include <filesystem>
#include <future>

#include "diff/lines.h"
#include "driver/compile.h"
#include "driver/runnable.h"
#include "emit/report.h"
#include "parser/json.h"
#include "support/check.h"
#include "support/files.h"
#include "support/text.h"

namespace fusec {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kReportSuffix = ".report.json", kManifestSuffix = ".manifest.json";

[[noreturn]] void refuse(const std::string& why) { throw Failure(Exit::kBadInput, why); }

// What a JSON text is, by the keys of its object. Anything that is none of these is read as a graph, which says what is wrong with it.
enum class Content : uint8_t { kGraph, kReport, kManifest, kBenchmark, kDiff };

Content content_of(const std::string& text) {
  // A graph of 100,000 ops need not be parsed twice.
  constexpr std::string_view kTelling[] = {"\"segments\"", "\"launches\"", "\"graph\""};
  if (std::none_of(std::begin(kTelling), std::end(kTelling), [&](std::string_view word) { return text.find(word) != std::string::npos; }))
    return Content::kGraph;
  Diagnostics ignored;
  const auto document = JsonDocument::parse(text, ignored);
  if (!document || !document->root().is(JsonKind::kObject)) return Content::kGraph;
  const JsonValue root = document->root();
  auto has = [&](std::string_view key) { return root.find(key).has_value(); };
  if (has("ops")) return Content::kGraph;
  if (has("fail_on")) return Content::kDiff;
  if (has("files") && has("graph")) return Content::kManifest;
  if (has("us") && has("device")) return Content::kBenchmark;
  return has("segments") || has("totals") ? Content::kReport : Content::kGraph;
}

std::vector<std::string> files_ending_in(const std::string& folder, std::string_view suffix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() > suffix.size() && name.ends_with(suffix)) names.push_back(name.substr(0, name.size() - suffix.size()));
  }
  if (error) refuse(folder + ": " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// The one graph that a folder is about.
std::string only_graph(const std::string& folder) {
  std::vector<std::string> names = files_ending_in(folder, kReportSuffix), manifests = files_ending_in(folder, kManifestSuffix);
  names.insert(names.end(), manifests.begin(), manifests.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() == 1) return names[0];
  if (names.empty())
    refuse(folder + " holds no *" + std::string(kReportSuffix) + ": it is no folder that `fusec compile` wrote, or its files were deleted");
  std::string list;
  for (const std::string& name : names) list += "\n  " + folder + "/" + name + std::string(kManifestSuffix);
  refuse(folder + " holds several compiled graphs; give the manifest of one:" + list);
}

// A folder holds a report, and a manifest unless only the report was asked for. What the manifest lists has to be there.
Side read_folder(const std::string& path, const ReadOptions& options) {
  std::error_code none;
  Side side{Side::kFolder, path, {}, {}, {}};
  const bool by_manifest = !fs::is_directory(path, none);
  const std::string folder = by_manifest ? fs::path(path).parent_path().string() : path;
  const std::string prefix = folder.empty() ? "" : folder + "/";
  std::string name = fs::path(path).filename().string();
  name = by_manifest ? name.substr(0, name.size() - kManifestSuffix.size()) : only_graph(path);
  const std::string report = prefix + name + std::string(kReportSuffix), manifest = prefix + name + std::string(kManifestSuffix);
  auto there = [&](const std::string& file) { return fs::exists(file, none); };
  const std::string again = ": it was deleted in part; compile the graph again";
  if (!there(report)) refuse(path + " has " + name + std::string(kManifestSuffix) + " but no " + name + std::string(kReportSuffix) + again);
  side.report = read_report(read_file(report), report);
  if (!there(manifest)) {
    for (const char* left : {".cu", ".h", ".ptx"})
      if (there(prefix + name + left)) refuse(path + " has " + name + left + " but no " + name + std::string(kManifestSuffix) + again);
    side.kind = Side::kReport;
    return side;
  }
  CompiledFolder compiled = read_compiled(manifest, options);
  for (const ManifestFile& file : compiled.manifest.files)
    if (!there(prefix + file.name)) refuse(path + " lacks " + file.name + ", which its manifest lists" + again);
  if (compiled.graph.name != side.report->graph || compiled.manifest.segments != side.report->segments.size())
    refuse(path + ": the manifest and the report are not of one compilation; compile the graph again");
  side.graph = std::move(compiled.graph);
  return side;
}

// Nothing where an op has no kernel.
std::optional<ReportView> compiled_report(const Side& side, const std::string& arch, const ReadOptions& options, bool lower) {
  CompileOptions compile_options;
  compile_options.read = options;
  compile_options.target = target_for(arch);
  compile_options.stop_after_segment = !lower;
  Diagnostics refusals;
  const std::optional<Compilation> c = compile(side.source, compile_options, refusals);
  if (!c) return std::nullopt;
  return read_report(report_json(*c, compile_options.target, {}), side.path);
}

// Several at the same time, each in a thread.
std::vector<std::optional<ReportView>> compiled_reports(const std::vector<Side*>& sides, const std::string& arch,
                                                        const ReadOptions& options, bool lower) {
  std::vector<std::future<std::optional<ReportView>>> running;
  for (const Side* side : sides)
    running.push_back(std::async(std::launch::async, [&, side] { return compiled_report(*side, arch, options, lower); }));
  std::vector<std::optional<ReportView>> reports;
  for (auto& one : running) reports.push_back(one.get());
  return reports;
}

}  // namespace

bool is_folder_side(const std::string& path) {
  std::error_code none;
  return fs::is_directory(path, none) || (path.ends_with(kManifestSuffix) && path != kManifestSuffix);
}

Side read_side(const std::string& path, SourceText text, const ReadOptions& options, Diagnostics& diagnostics) {
  if (is_folder_side(path)) return read_folder(path, options);
  const std::string name = text.name();
  switch (content_of(text.text())) {
    case Content::kReport:
      return {Side::kReport, name, {}, {}, read_report(text.text(), name)};
    case Content::kManifest:
      refuse(name + " is a manifest: give its folder, or its path, whose end says so");
    case Content::kBenchmark:
      refuse(name + " is the result of a benchmark: `fusec bench-diff` compares those");
    case Content::kDiff:
      refuse(name + " is the result of `fusec diff`, and no side of one");
    case Content::kGraph:
      break;
  }
  Side side{Side::kGraph, name, std::move(text), {}, {}};
  side.graph = read_graph(side.source, options, diagnostics);
  return side;
}

void add_reports(const std::vector<Side*>& sides, const std::string& arch, const ReadOptions& options, bool lower) {
  std::vector<Side*> missing;
  for (Side* side : sides) {
    if (!side->report) missing.push_back(side);
    else lower = lower && side->report->lowered();
  }
  auto reports = compiled_reports(missing, arch, options, lower);
  if (lower && std::any_of(reports.begin(), reports.end(), [](const auto& r) { return !r; }))
    reports = compiled_reports(missing, arch, options, false);
  for (size_t i = 0; i < missing.size(); ++i) {
    FUSEC_CHECK(reports[i].has_value(), "a graph that was read is refused when it is segmented");
    missing[i]->report = std::move(reports[i]);
  }
}

Spots spots_of(const Side& side) {
  Spots spots;
  if (!side.graph) return spots;
  const Graph& g = *side.graph;
  const Lines lines(side.text());
  for (size_t i = 0; i < g.ops.size(); ++i) {
    const Op& op = g.ops[OpId(i)];
    Known known{{g.name_of(OpId(i)), std::string(name_of(op.kind)), "", lines.of(op.at)}, {}};
    for (const Operand& o : op.in)
      if (o.is_value()) known.operands.push_back(g[o.value].name);
    for (ValueId v : op.out)
      if (v.valid()) spots[g[v].name] = known;
  }
  return spots;
}

}  // namespace fusec
