#include "cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>

#include "cli/command_pages.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/crash.h"
#include "support/check.h"
#include "support/log.h"
#include "support/text.h"
#include "support/version.h"

namespace fusec {

namespace {

// --- values of options ---------------------------------------------------------------------------------------------------

template <class T>
using Choices = std::vector<std::pair<std::string_view, T>>;

[[noreturn]] void refuse(const std::string& option, const std::string& why) { throw Failure(Exit::kBadInput, option + ": " + why); }

template <class T>
T choose(const std::string& option, const std::string& text, const Choices<T>& choices) {
  std::vector<std::string_view> names;
  std::string list;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  const std::string near = nearest(text, names);
  refuse(option, "'" + text + "' is none of " + list + (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

template <class T>
T parse_integer(const std::string& option, const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) refuse(option, "'" + text + "' does not fit a 64-bit integer");
  if (error != std::errc() || end != text.data() + text.size())
    refuse(option, "'" + text + "' is not an integer" + (std::is_unsigned_v<T> ? " ≥ 0" : ""));
  return value;
}

double parse_percent(const std::string& option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 1000))
    refuse(option, "'" + text + "' is no percentage from 0 to 1000");
  return value;
}

void parse_dim(const std::string& text, DimOverrides& dims) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse("--dim", "'" + text + "' is not NAME=SIZE, as in --dim N=4096");
  const auto size = parse_integer<int64_t>("--dim", text.substr(equals + 1));
  if (size < 0) refuse("--dim", "the size of '" + text.substr(0, equals) + "' must be ≥ 0, not " + text.substr(equals + 1));
  dims[text.substr(0, equals)] = size;
}

void split_commas(const std::string& text, std::vector<std::string>& into) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) into.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

// --- options -------------------------------------------------------------------------------------------------------------

// One value; `use` receives its text.
CLI::Option* value(CLI::App& app, const std::string& names, const std::string& type, const std::string& help,
                   std::function<void(const std::string&)> use) {
  return app.add_option_function<std::string>(names, std::move(use), help)->type_name(type)->take_last();
}

// Any number of times, one value each; `use` receives them in turn.
CLI::Option* values(CLI::App& app, const std::string& names, const std::string& type, const std::string& help,
                    std::function<void(const std::string&)> use) {
  auto each = [use = std::move(use)](const std::vector<std::string>& all) {
    for (const std::string& one : all) use(one);
  };
  return app.add_option_function<std::vector<std::string>>(names, each, help)->type_name(type)->allow_extra_args(false);
}

void add_dim(CLI::App& app, DimOverrides& dims) {
  values(app, "--dim", "NAME=SIZE", "Override a size of the graph's dims", [&dims](const std::string& s) { parse_dim(s, dims); });
}

void add_arch(CLI::App& app, std::function<void(const std::string&)> use) {
  values(app, "--arch", "sm_NN", "GPU architecture; may be repeated (default: the GPU here, else sm_80)", [use](const std::string& text) {
    std::vector<std::string> archs;
    split_commas(text, archs);
    for (const std::string& arch : archs) {
      const size_t digits = arch.rfind("sm_", 0) == 0 ? 3 : arch.rfind("compute_", 0) == 0 ? 8 : 0;
      if (digits == 0 || arch.size() < digits + 2 || arch.find_first_not_of("0123456789", digits) < arch.size() - 1)
        refuse("--arch", "'" + arch + "' is no architecture; write it as sm_90");
      use(arch);
    }
  });
}

void add_compile_flags(CLI::App& app, CompileFlags& flags) {
  const std::string code = "Meaning", passes = "Passes";
  add_dim(app, flags.dims);
  app.add_flag("--relaxed-casts", flags.relaxed_casts, "Allow dropping a down-cast that only up-casts follow")->group(code);
  app.add_flag("--contract", flags.contract, "Allow contracting mul and add into fused multiply-adds")->group(code);
  app.add_flag("--deterministic", flags.deterministic, "The same bits in every run, also where updates collide")->group(code);
  app.add_flag("--unchecked-indices", flags.unchecked_indices, "Drop the range tests of indices")->group(code);
  app.add_flag("--separate-launches", flags.separate_launches, "Launch small kernels one by one, not as phases of one block")->group(code);
  value(app, "--scatter", "HOW",
        "How updates are spread: auto, direct (an atomic each), warp (one for all lanes of a warp that meet), shared (tables in shared "
        "memory), cached (tables of a part of the target), replicas (copies of the target), lists or sort (updates in a list for each row)",
        [&flags](const std::string& s) {
          flags.scatter = choose("--scatter", s,
                                 Choices<ScatterSchedule>{{"auto", ScatterSchedule::kAuto},
                                                          {"direct", ScatterSchedule::kDirect},
                                                          {"warp", ScatterSchedule::kWarp},
                                                          {"shared", ScatterSchedule::kShared},
                                                          {"cached", ScatterSchedule::kCached},
                                                          {"replicas", ScatterSchedule::kReplicas},
                                                          {"lists", ScatterSchedule::kLists},
                                                          {"sort", ScatterSchedule::kLists}});
        })
      ->group(code);
  auto list = [](std::vector<std::string>& into) { return [&into](const std::string& text) { split_commas(text, into); }; };
  values(app, "--skip", "PASS", "Leave a pass out", list(flags.skip))->group(passes);
  values(app, "--dump-after", "PASS", "Print the graph after a pass, or after 'all', on stderr", list(flags.dump_after))->group(passes);
  value(app, "--stop-after", "PASS", "Stop after a pass", [&flags](const std::string& s) { flags.stop_after = s; })->group(passes);
  value(app, "--pass-limit", "N", "Run at most N optional passes", [&flags](const std::string& s) {
    flags.pass_limit = parse_integer<int64_t>("--pass-limit", s);
    if (flags.pass_limit < 0) refuse("--pass-limit", "must be ≥ 0, not " + s);
  })->group(passes);
  value(app, "--partition", "HOW", "best, or random:SEED: kernels drawn at random, to test that the cut changes no result",
        [&flags](const std::string& s) {
          const std::string drawn = "random:";
          flags.random_partition.reset();
          if (s.starts_with(drawn)) flags.random_partition = parse_integer<uint64_t>("--partition", s.substr(drawn.size()));
          else if (s != "best") refuse("--partition", "'" + s + "' is neither best nor random:SEED, as in random:7");
        })
      ->group(passes);
  app.add_flag("--time-passes", flags.time_passes, "Print the time of each pass on stderr")->group(passes);
  app.add_flag("--no-cache", flags.no_cache, "Neither read nor write the compile cache");
}

// `examples`: one a line; what is said of exit codes comes last.
CLI::App& command(CLI::App& app, const std::string& name, const std::string& what, const std::string& examples) {
  CLI::App* added = app.add_subcommand(name, what);
  std::string lines;
  for (size_t begin = 0; begin < examples.size();) {
    const size_t end = std::min(examples.find('\n', begin), examples.size());
    begin = std::min(examples.find_first_not_of(' ', begin), end);
    const std::string line = examples.substr(begin, end - begin);
    lines += (line.starts_with("Exit") ? "\n" : "\n  ") + line;
    begin = end + 1;
  }
  added->footer("Examples:" + lines);
  return *added;
}

// --- the table -----------------------------------------------------------------------------------------------------------

struct CommandTable {
  std::string log_level = "warning", color = "auto";
  bool quiet = false;
  CheckCommand check;
  ShowCommand show;
  OpsCommand ops;
  CompileCommand compile;
  RunCommand run;
  ExplainCommand explain;
  ReduceCommand reduce;
  DiffCommand diff;
  BenchDiffCommand bench_diff;
  EnvCommand env;
  VersionCommand version;
  CompletionsCommand completions;
  ManCommand man;
};

void add_globals(CLI::App& app, CommandTable& t) {
  app.set_version_flag("--version", std::string("fusec ") + kVersion, "Print the version");
  app.add_flag("-q,--quiet", t.quiet, "Errors only on stderr");
  app.add_option("--log-level", t.log_level, "debug, info, warning, error, off")->type_name("LEVEL")->take_last();
  app.add_option("--color", t.color, "auto, always, never")->type_name("WHEN")->take_last();
}

void add_check(CLI::App& app, CheckCommand& c) {
  CLI::App& sub = command(app, "check", "Verify graphs and print every error",
                          "fusec check model.fusion.json --dim N=4096\n"
                          "fusec check --strict *.fusion.json\n"
                          "fusec show model.fusion.json --json | fusec check -\n"
                          "Exit: 0 good, 1 warnings with --strict, 2 errors");
  sub.add_option("graph", c.graphs, "Graph files, or - for stdin")->type_name("GRAPH");
  add_dim(sub, c.dims);
  sub.add_flag("--strict", c.strict, "Exit 1 when there are warnings");
  sub.add_flag("--json", c.json, "The diagnostics as JSON on stdout");
}

void add_show(CLI::App& app, ShowCommand& c) {
  CLI::App& sub = command(app, "show", "Print a graph as text, Graphviz or canonical JSON",
                          "fusec show model.fusion.json\n"
                          "fusec show model.fusion.json --dot | dot -Tsvg > model.svg");
  sub.add_option("graph", c.graph, "Graph file, or - for stdin")->type_name("GRAPH");
  add_dim(sub, c.dims);
  CLI::Option* dot = sub.add_flag("--dot", c.dot, "Graphviz");
  sub.add_flag("--json", c.json, "Canonical JSON: every default written out")->excludes(dot);
}

void add_ops(CLI::App& app, OpsCommand& c) {
  CLI::App& sub = command(app, "ops", "List the ops: operands, dtypes, attributes, support", "fusec ops\nfusec ops layer_norm --json");
  sub.add_option("op", c.op, "One op only")->type_name("OP");
  sub.add_flag("--json", c.json, "JSON on stdout");
}

void parse_report(const std::string& text, CompileCommand& c) {
  enum Format { kMarkdown, kHtml, kNoReport };
  std::vector<std::string> names;
  split_commas(text, names);
  if (names.empty()) refuse("--report", "names nothing; write for example --report md,html");
  c.report_markdown = c.report_html = false;
  for (const std::string& name : names) {
    const Format format = choose("--report", name, Choices<Format>{{"md", kMarkdown}, {"html", kHtml}, {"none", kNoReport}});
    c.report_markdown |= format == kMarkdown;
    c.report_html |= format == kHtml;
  }
}

void add_compile(CLI::App& app, CompileCommand& c) {
  CLI::App& sub = command(app, "compile", "Compile graphs to CUDA, PTX, cubins and a report",
                          "fusec compile model.fusion.json -o out --emit cu,cubin --arch sm_90\n"
                          "fusec compile model.fusion.json -o out --emit cu --report html\n"
                          "fusec compile models/*.fusion.json -o out -j 8\n"
                          "fusec compile - -o out --stop-after segment < model.fusion.json");
  sub.add_option("graph", c.graphs, "Graph files, or - for stdin")->type_name("GRAPH");
  value(sub, "-o,--out", "DIR", "Folder for what is written (default: here)", [&c](const std::string& text) {
    if (text.empty()) refuse("--out", "'' names no folder; '.' is this one");
    c.out = text;
  });
  values(sub, "--emit", "KINDS", "cu, ptx, cubin, report (list; default cu,ptx,report)", [&c](const std::string& text) {
    const Choices<EmitKind> kinds = {
        {"cu", EmitKind::kCu}, {"ptx", EmitKind::kPtx}, {"cubin", EmitKind::kCubin}, {"report", EmitKind::kReport}};
    std::vector<std::string> names;
    split_commas(text, names);
    if (names.empty()) refuse("--emit", "names nothing; write for example --emit cu,ptx");
    for (const std::string& name : names) c.emit.push_back(choose("--emit", name, kinds));
  });
  add_arch(sub, [&c](const std::string& arch) { c.archs.push_back(arch); });
  const std::string reports = "Reports";
  value(sub, "--report", "FORMATS", "The reports for people, beside the JSON one: md, html or none (list; default md)",
        [&c](const std::string& text) { parse_report(text, c); })
      ->group(reports);
  value(sub, "--measured", "FILE", "Times for the HTML report: what 'fusec run GRAPH --bench --json' printed",
        [&c](const std::string& text) { c.measured = text; })
      ->group(reports);
  value(sub, "--layout", "BY", "Who places the HTML report's ops: dot or layers (default dot, where it is installed and quick enough)",
        [&c](const std::string& text) { c.layers = choose("--layout", text, Choices<bool>{{"dot", false}, {"layers", true}}); })
      ->group(reports);
  value(sub, "-j,--jobs", "N", "Graphs to compile at a time (default: as many as there are cores)", [&c](const std::string& text) {
    c.jobs = parse_integer<int64_t>("--jobs", text);
    if (c.jobs < 1 || c.jobs > 1024) refuse("--jobs", "must be from 1 to 1024, not " + text);
  });
  sub.add_flag("--json", c.json, "What was written, as JSON on stdout");
  add_compile_flags(sub, c.flags);
}

void add_run(CLI::App& app, RunCommand& c) {
  CLI::App& sub = command(app, "run", "Run a graph, or what compile wrote",
                          "fusec run model.fusion.json --device cpu --outputs out.safetensors\n"
                          "fusec run model.fusion.json --inputs in.npz --verify\n"
                          "fusec run out --bench\n"
                          "Exit: 0 done, 1 --verify found a difference, 2 bad input, 3 no GPU, 4 the GPU refused");
  sub.add_option("graph", c.graph, "Graph file, - for stdin, or a folder that compile wrote")->type_name("GRAPH");
  value(sub, "--device", "DEVICE", "gpu or cpu (default gpu)", [&c](const std::string& text) {
    c.device = choose("--device", text, Choices<RunCommand::Device>{{"gpu", RunCommand::kGpu}, {"cpu", RunCommand::kCpu}});
  });
  sub.add_option("--inputs", c.inputs, "Tensor file: .safetensors, .npz or .npy; what it lacks is generated")
      ->type_name("FILE")
      ->take_last();
  sub.add_option("--outputs", c.outputs, "Tensor file to write")->type_name("FILE")->take_last();
  value(sub, "--seed", "N", "Seed of generated inputs (default 0)",
        [&c](const std::string& s) { c.seed = parse_integer<uint64_t>("--seed", s); });
  sub.add_flag("--verify", c.verify, "Compare with the CPU reference; exit 1 when they differ");
  sub.add_flag("--bench", c.bench, "Measure GPU time");
  sub.add_flag("--json", c.json, "JSON on stdout");
  add_arch(sub, [&c](const std::string& arch) { c.arch = arch; });
  add_compile_flags(sub, c.flags);
}

void add_explain(CLI::App& app, ExplainCommand& c) {
  CLI::App& sub = command(app, "explain", "Say why ops share a kernel or do not, and what the other way would cost",
                          "fusec explain model.fusion.json\n"
                          "fusec explain model.fusion.json y z\n"
                          "fusec explain model.fusion.json --what-if y+z --what-if u/v --what-if 0+1");
  sub.add_option("graph", c.graph, "Graph file, or - for stdin")->type_name("GRAPH");
  sub.add_option("value", c.values,
                 "Values to explain, by name, or segments, by number; two values in a row are explained as a pair (default: everything)")
      ->type_name("VALUE");
  values(sub, "--what-if", "MERGE",
         "Try it the other way: A+B in one kernel, A/B in two, A/ for A in memory. A and B are values, or segments of a merge; may be "
         "repeated",
         [&c](const std::string& text) { c.what_ifs.push_back(text); });
  sub.add_flag("--json", c.json, "JSON on stdout");
  add_dim(sub, c.flags.dims);
  add_arch(sub, [&c](const std::string& arch) { c.arch = arch; });
  sub.add_flag("--relaxed-casts", c.flags.relaxed_casts, "Explain what compile --relaxed-casts does");
}

void add_reduce(CLI::App& app, ReduceCommand& c) {
  CLI::App& sub = command(app, "reduce", "Make a graph that fails smaller while it fails",
                          "fusec reduce model.fusion.json --check 'fusec run {} --verify' -o small.fusion.json");
  sub.add_option("graph", c.graph, "Graph file, or - for stdin")->type_name("GRAPH");
  value(sub, "--check", "COMMAND", "Shell command; {} is the graph. A graph is kept while it ends as for the whole graph",
        [&c](const std::string& text) { c.check = text; });
  value(sub, "-o,--out", "FILE", "Where the smallest graph goes (default: NAME.reduced.fusion.json)",
        [&c](const std::string& text) { c.out = text; });
  auto number = [](const std::string& option, int64_t& into) {
    return [option, &into](const std::string& text) {
      into = parse_integer<int64_t>(option, text);
      if (into < 1) refuse(option, "must be ≥ 1, not " + text);
    };
  };
  value(sub, "--max-tries", "N", "Runs of the command (default 2000)", number("--max-tries", c.max_tries));
  value(sub, "--timeout", "SECONDS", "Of one run (default 60); a run that takes longer is one way to end",
        number("--timeout", c.timeout_s));
  sub.add_flag("--json", c.json, "JSON on stdout");
}

void add_diff(CLI::App& app, DiffCommand& c) {
  CLI::App& sub = command(app, "diff", "Compare two versions of a graph: ops, segments, cost",
                          "fusec diff old.fusion.json new.fusion.json --fail-on wide-edges,edge-bytes:5\n"
                          "fusec diff base/ head/ --markdown > comment.md\n"
                          "git show HEAD:model.fusion.json | fusec diff - model.fusion.json --brief\n"
                          "Exit: 0 same, 1 they differ (with --fail-on: by one of its rules), 2 trouble");
  sub.add_option("sides", c.sides, "Two of: graph file, report, folder that compile wrote one graph to, manifest; one may be - for stdin")
      ->type_name("A B");
  add_dim(sub, c.dims);
  add_arch(sub, [&c](const std::string& arch) { c.arch = arch; });
  value(sub, "--only", "SECTION", "Compare and show one section: graph, segments or cost", [&c](const std::string& text) {
    c.only = choose(
        "--only", text,
        Choices<DiffCommand::Only>{{"graph", DiffCommand::kGraph}, {"segments", DiffCommand::kSegments}, {"cost", DiffCommand::kCost}});
  });
  values(sub, "--fail-on", "RULES", "Exit 1 only for: graph, segments, edge-bytes[:PCT], launches, wide-edges, time[:PCT] (list)",
         [&c](const std::string& text) {
           const size_t before = c.fail_on.size();
           split_commas(text, c.fail_on);
           if (c.fail_on.size() == before) refuse("--fail-on", "names nothing; write for example --fail-on wide-edges");
         });
  CLI::Option* json = sub.add_flag("--json", c.json, "JSON on stdout (docs/diff.md has its schema)");
  sub.add_flag("--markdown", c.markdown, "Markdown, for a comment on a pull request")->excludes(json);
  sub.add_flag("--brief", c.brief, "One line a section")->excludes(json);
}

void add_bench_diff(CLI::App& app, BenchDiffCommand& c) {
  CLI::App& sub = command(app, "bench-diff", "Compare two results of run --bench --json: SAME, FAST, SLOW or UNSURE",
                          "fusec bench-diff old.json new.json --threshold 2\n"
                          "Exit: 0 nothing is SLOW, 1 something is, 2 trouble");
  sub.add_option("files", c.files, "Old and new: objects of run --bench --json, one or several; one may be - for stdin")
      ->type_name("OLD NEW");
  value(sub, "--threshold", "PCT", "A change of the median below this is none (default 3)",
        [&c](const std::string& text) { c.threshold = parse_percent("--threshold", text); });
  sub.add_flag("--allow-missing", c.allow_missing, "A graph that OLD has and NEW lacks is no trouble");
  sub.add_flag("--json", c.json, "JSON on stdout");
}

void add_rest(CLI::App& app, CommandTable& t) {
  command(app, "env", "Say what was found here: NVRTC, driver, GPU, cache", "fusec env --json")
      .add_flag("--json", t.env.json, "JSON on stdout");
  command(app, "version", "Print the version", "fusec version --json").add_flag("--json", t.version.json, "JSON on stdout");
  CLI::App& completions = command(app, "completions", "Print completions for a shell: bash, zsh or fish",
                                  "fusec completions bash > ~/.local/share/bash-completion/completions/fusec\n"
                                  "fusec completions zsh > ~/.zfunc/_fusec\n"
                                  "fusec completions fish > ~/.config/fish/completions/fusec.fish");
  completions.add_option("shell", t.completions.shell, "bash, zsh or fish")->type_name("SHELL");
  CLI::App& man = command(app, "man", "Print a manual page, or write all of them",
                          "fusec man compile | man -l -\nfusec man -o ~/.local/share/man/man1");
  man.add_option("page", t.man.page, "A command (default: fusec itself)")->type_name("PAGE");
  value(man, "-o,--out", "DIR", "Write every page to this folder", [&t](const std::string& text) { t.man.out = text; });
}

// --- the table as data ---------------------------------------------------------------------------------------------------

OptionPage page_of(const CLI::Option& option) {
  OptionPage page;
  for (const std::string& name : option.get_lnames()) page.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) page.names.push_back("-" + name);
  const bool flag = option.get_items_expected_max() == 0;
  page.type = flag ? "" : option.get_type_name();
  page.help = option.get_description();
  page.group = option.get_group() == "Options" || option.get_positional() ? "" : option.get_group();
  page.repeated = option.get_expected_max() > 1;
  return page;
}

CommandPages pages_of(const CLI::App& app) {
  CommandPages pages{"a fusion compiler for graphs of tensor operations", app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) pages.globals.push_back(page_of(*option));
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandPage page{sub->get_name(), sub->get_description(), sub->get_footer(), {}, {}};
    for (const CLI::Option* option : sub->get_options()) {
      if (option == sub->get_help_ptr()) continue;  // one of fusec itself
      (option->get_positional() ? page.arguments : page.options).push_back(page_of(*option));
    }
    pages.commands.push_back(std::move(page));
  }
  return pages;
}

int print_completions(CompletionsCommand& c, const CommandPages& pages) {
  if (c.shell.empty()) throw Failure(Exit::kBadInput, "'fusec completions' needs a shell: bash, zsh or fish");
  return choose("completions", c.shell, Choices<bool>{{"bash", true}, {"zsh", true}, {"fish", true}}), run_completions(c, pages);
}

int print_man(ManCommand& c, const CommandPages& pages) {
  Choices<bool> names{{"", true}};
  for (const CommandPage& page : pages.commands) names.emplace_back(page.name, true);
  return choose("man", c.page, names), run_man(c, pages);
}

// --- misspelt and missing arguments --------------------------------------------------------------------------------------

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = nearest(word, std::vector<std::string_view>(names.begin(), names.end()));
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

// What CLI11 could not place: an unknown command, option or argument.
void refuse_extras(const CLI::App& app) {
  std::vector<std::string> extras = app.remaining(true);
  std::erase(extras, "--");  // ends the options, and is none
  if (extras.empty()) return;
  const auto chosen = app.get_subcommands();
  std::vector<std::string> options = option_names(app);
  if (chosen.empty()) {
    std::vector<std::string> commands;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) commands.push_back(sub->get_name());
    for (const std::string& word : extras)
      if (word.empty() || word[0] != '-')
        throw Failure(Exit::kBadInput, "no command '" + word + "'" + did_you_mean(word, commands) + " ('fusec --help' lists them)");
  } else {
    const std::vector<std::string> own = option_names(*chosen[0]);
    options.insert(options.end(), own.begin(), own.end());
  }
  const std::string& word = extras[0];
  const std::string where = chosen.empty() ? "fusec" : "fusec " + chosen[0]->get_name();
  if (word.size() > 1 && word[0] == '-') {
    const std::string name = word.substr(0, word.find('='));
    if (std::find(options.begin(), options.end(), name) != options.end())
      throw Failure(Exit::kBadInput, "'" + name + "' stands behind the command, as in: " + where + " " + name);
    throw Failure(Exit::kBadInput,
                  "'" + where + "' has no option '" + name + "'" + did_you_mean(name, options) + " ('" + where + " --help' lists them)");
  }
  throw Failure(Exit::kBadInput, "'" + where + "' does not take the argument '" + word + "'");
}

void need_graph(bool given, const std::string& name) {
  if (!given) throw Failure(Exit::kBadInput, "'fusec " + name + "' needs a graph, as in: fusec " + name + " model.fusion.json");
}

// --- running -------------------------------------------------------------------------------------------------------------

Console console_from(const CommandTable& t) {
  const Choices<LogLevel> levels = {{"debug", LogLevel::kDebug},
                                    {"info", LogLevel::kInfo},
                                    {"warning", LogLevel::kWarning},
                                    {"error", LogLevel::kError},
                                    {"off", LogLevel::kOff}};
  const LogLevel level = choose("--log-level", t.log_level, levels);
  set_log_level(t.quiet && level < LogLevel::kError ? LogLevel::kError : level);
  enum When { kAuto, kAlways, kNever };
  const When when = choose("--color", t.color, Choices<When>{{"auto", kAuto}, {"always", kAlways}, {"never", kNever}});
  return {t.quiet, when == kAlways || (when == kAuto && stderr_has_colour())};
}

int dispatch(const CLI::App& app, CommandTable& t, const Console& console) {
  const std::string name = app.get_subcommands()[0]->get_name();
  t.check.console = t.show.console = t.ops.console = t.compile.console = t.run.console = t.explain.console = t.reduce.console =
      t.env.console = console;
  t.diff.console = t.bench_diff.console = console;
  if (name == "check") return need_graph(!t.check.graphs.empty(), name), run_check(t.check);
  if (name == "show") return need_graph(!t.show.graph.empty(), name), run_show(t.show);
  if (name == "ops") return run_ops(t.ops);
  if (name == "compile") return need_graph(!t.compile.graphs.empty(), name), run_compile(t.compile);
  if (name == "run") return need_graph(!t.run.graph.empty(), name), run_run(t.run);
  if (name == "explain") return need_graph(!t.explain.graph.empty(), name), run_explain(t.explain);
  if (name == "reduce") return need_graph(!t.reduce.graph.empty(), name), run_reduce(t.reduce);
  if (name == "diff") return run_diff(t.diff);
  if (name == "bench-diff") return run_bench_diff(t.bench_diff);
  if (name == "env") return run_env(t.env);
  if (name == "version") return run_version(t.version);
  if (name == "completions") return print_completions(t.completions, pages_of(app));
  if (name == "man") return print_man(t.man, pages_of(app));
  FUSEC_CHECK(false, "command '" + name + "' is not dispatched");
  return static_cast<int>(Exit::kBug);
}

int parse_and_run(int argc, char** argv, bool& colour) {
  CommandTable table;
  CLI::App app("fusec: a fusion compiler for graphs of tensor operations.", "fusec");
  app.require_subcommand(0, 1);
  app.allow_extras()->fallthrough();  // what is left over gets our own message
  app.footer(
      "Exit codes: 0 done, 1 the answer is no, 2 bad usage or input, 3 no GPU, driver or NVRTC, 4 refused by the GPU or its compiler, 70 a "
      "bug in fusec.\n'fusec COMMAND --help' tells more. Example: fusec compile model.fusion.json -o out");
  add_globals(app, table);
  add_check(app, table.check);
  add_show(app, table.show);
  add_ops(app, table.ops);
  add_compile(app, table.compile);
  add_run(app, table.run);
  add_explain(app, table.explain);
  add_reduce(app, table.reduce);
  add_diff(app, table.diff);
  add_bench_diff(app, table.bench_diff);
  add_rest(app, table);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_result(app.help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print_result(std::string(version.what()) + "\n");
    return 0;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // "--out: 1 required DIR missing"
    throw Failure(Exit::kBadInput, text.substr(0, text.find(':')) + " needs a value");
  } catch (const CLI::ConversionError& error) {
    const std::string text = error.what();  // "Could not convert: --strict = maybe"
    const size_t name = text.find("--");
    if (name == std::string::npos) throw Failure(Exit::kBadInput, text);
    throw Failure(Exit::kBadInput, text.substr(name, text.find(' ', name) - name) + " takes no value; leave it out or write it alone");
  } catch (const CLI::Error& error) {
    throw Failure(Exit::kBadInput, error.what());
  }
  refuse_extras(app);
  const Console console = console_from(table);
  colour = console.colour;
  if (app.get_subcommands().empty()) {
    std::fputs(app.help().c_str(), stderr);
    return static_cast<int>(Exit::kBadInput);
  }
  return dispatch(app, table, console);
}

// What --json prints when a command gives up before it has a result.
void print_failure_json(int argc, char** argv, Exit exit, const std::string& text) {
  const bool wanted = std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
  if (!wanted || anything_printed()) return;
  print_result("{\"error\": " + json_quote(text) + ", \"exit\": " + std::to_string(static_cast<int>(exit)) + "}\n");
  std::fflush(stdout);
}

int give_up(int argc, char** argv, Exit exit, const std::string& text, bool colour) {
  report_failure(text, colour);
  print_failure_json(argc, argv, exit, text);
  return static_cast<int>(exit);
}

int report_bug(int argc, char** argv, const std::string& message, bool colour) {
  report_failure("this is a bug in fusec, not in your graph: " + message, colour);
  const std::string folder = write_reproducer(argc, argv, message);
  if (!folder.empty()) std::fprintf(stderr, "  note: a reproducer is in %s; please attach it to a report\n", folder.c_str());
  print_failure_json(argc, argv, Exit::kBug, message);
  return static_cast<int>(Exit::kBug);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not kill us between two files
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(), with a message
  report_crashes(argc, argv);
  bool colour = false;
  try {
    colour = stderr_has_colour();
    const int exit = parse_and_run(argc, argv, colour);
    finish_output();
    return exit;
  } catch (const Failure& failure) {
    if (failure.exit == Exit::kBug) return report_bug(argc, argv, failure.what(), colour);
    return give_up(argc, argv, failure.exit, failure.what(), colour);
  } catch (const std::bad_alloc&) {
    return give_up(argc, argv, Exit::kRefused,
                   "out of memory: the graph or its data are too large here; make its sizes smaller (--dim), or run where there is more",
                   colour);
  } catch (const std::exception& error) {
    return report_bug(argc, argv, error.what(), colour);
  }
}

}  // namespace fusec
