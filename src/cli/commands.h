// The commands of fusec: one struct of plain options and one function each. cli.cpp fills the structs in, <command>.cpp runs them.
// A command returns its exit code, or throws Failure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lower/lower.h"
#include "support/diag.h"

namespace fusec {

// How to talk to the terminal; from the global options.
struct Console {
  bool quiet = false;   // errors only
  bool colour = false;  // on stderr
};

using DimOverrides = std::map<std::string, int64_t>;  // --dim NAME=SIZE

struct CheckCommand {
  Console console;
  std::vector<std::string> graphs;  // paths, "-" for stdin
  DimOverrides dims;
  bool strict = false;  // exit 1 on warnings
  bool json = false;
};
int run_check(const CheckCommand& command);

struct ShowCommand {
  Console console;
  std::string graph;
  DimOverrides dims;
  bool dot = false;
  bool json = false;  // the graph as canonical JSON
};
int run_show(const ShowCommand& command);

struct OpsCommand {
  Console console;
  std::string op;  // one op only; "" for all
  bool json = false;
};
int run_ops(const OpsCommand& command);

// What decides the generated code, for `compile` and `run` alike.
struct CompileFlags {
  DimOverrides dims;
  bool relaxed_casts = false;
  bool contract = false;
  bool deterministic = false;
  bool unchecked_indices = false;
  bool separate_launches = false;
  ScatterSchedule scatter = ScatterSchedule::kAuto;
  std::vector<std::string> skip;        // pass names
  std::vector<std::string> dump_after;  // pass names, or "all"
  std::string stop_after;               // pass name, or ""
  int64_t pass_limit = -1;
  std::optional<uint64_t> random_partition;  // its seed
  bool time_passes = false;
  bool no_cache = false;  // neither read nor write the compile cache
};

enum class EmitKind : uint8_t { kCu, kPtx, kCubin, kReport };

struct CompileCommand {
  Console console;
  std::vector<std::string> graphs;
  std::string out = ".";           // folder
  std::vector<EmitKind> emit;      // empty: the default set (.cu, .h, PTX, manifest, report)
  std::vector<std::string> archs;  // "sm_90"; empty: the GPU here, else sm_80
  CompileFlags flags;
  bool report_markdown = true, report_html = false;  // the reports for people, beside the JSON one
  std::string measured;                              // what `run --bench --json` printed, for the HTML report
  bool layers = false;                               // places of the HTML report's drawing: not by dot
  int64_t jobs = 0;                                  // graphs at a time; 0: as many as there are cores
  bool json = false;                                 // one object about what was written, on stdout
};
int run_compile(const CompileCommand& command);

struct RunCommand {
  Console console;
  std::string graph;  // a graph file, "-", or a folder that `compile` wrote
  enum Device : uint8_t { kGpu, kCpu } device = kGpu;
  std::string inputs, outputs;  // tensor files, "" when absent
  uint64_t seed = 0;
  bool verify = false;
  bool bench = false;
  bool json = false;
  std::string arch;  // "" : the device's own
  CompileFlags flags;
};
int run_run(const RunCommand& command);

struct ExplainCommand {
  Console console;
  std::string graph;
  std::vector<std::string> values;    // names of values, or numbers of segments; empty: everything
  std::vector<std::string> what_ifs;  // "A+B", "A/B", "A/"
  std::string arch;                   // "": the GPU here, else sm_80
  CompileFlags flags;
  bool json = false;
};
int run_explain(const ExplainCommand& command);

struct ReduceCommand {
  Console console;
  std::string graph;
  std::string check;  // a shell command; {} is the graph's path
  std::string out;    // "": NAME.reduced.fusion.json here
  int64_t max_tries = 2000, timeout_s = 60;
  bool json = false;
};
int run_reduce(const ReduceCommand& command);

struct DiffCommand {
  Console console;
  std::vector<std::string> sides;  // two: graph files, reports, folders; "-" for one
  DimOverrides dims;
  std::string arch;  // "": that of a report among the sides, else sm_80
  bool json = false, markdown = false, brief = false;
  enum Only : uint8_t { kAll, kGraph, kSegments, kCost } only = kAll;
  std::vector<std::string> fail_on;  // rules
};
int run_diff(const DiffCommand& command);

struct BenchDiffCommand {
  Console console;
  std::vector<std::string> files;  // two: old, new; "-" for one
  double threshold = 3;            // percent
  bool allow_missing = false;
  bool json = false;
};
int run_bench_diff(const BenchDiffCommand& command);

struct EnvCommand {
  Console console;
  bool json = false;
};
int run_env(const EnvCommand& command);

struct CommandPages;  // cli/command_pages.h

struct CompletionsCommand {
  std::string shell;  // bash, zsh, fish
};
int run_completions(const CompletionsCommand& command, const CommandPages& pages);

struct ManCommand {
  std::string page;  // a command; "": fusec itself
  std::string out;   // a folder for all pages; "": one page on stdout
};
int run_man(const ManCommand& command, const CommandPages& pages);

struct VersionCommand {
  bool json = false;
};
int run_version(const VersionCommand& command);

}  // namespace fusec
