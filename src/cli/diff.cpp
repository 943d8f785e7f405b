#include <algorithm>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/diagnostics_json.h"
#include "diff/compare.h"
#include "diff/render.h"

namespace fusec {

namespace {

void check_arguments(const DiffCommand& command) {
  const auto& sides = command.sides;
  if (sides.size() != 2)
    throw Failure(Exit::kBadInput, "'fusec diff' compares two: " + std::to_string(sides.size()) +
                                       (sides.size() == 1 ? " was given" : " were given") +
                                       ". As in: fusec diff old.fusion.json new.fusion.json");
  if (sides[0] == "-" && sides[1] == "-") throw Failure(Exit::kBadInput, "only one side can be read from stdin: '-' was given twice");
}

// Nothing when the graph has errors, which are reported.
std::optional<Side> read(const std::string& path, const DiffCommand& command) {
  Diagnostics diagnostics;
  SourceText text = is_folder_side(path) ? SourceText() : read_source(path);
  Side side = read_side(path, std::move(text), {command.dims}, diagnostics);
  Console console = command.console;
  console.quiet = true;  // warnings about either graph are no part of a comparison
  report(diagnostics, side.source, console);
  if (side.graph || side.report) return side;
  refuse_graph(diagnostics, side.source, command.json);
  return std::nullopt;
}

// What stands for a difference where no rule was given.
bool differs(const Comparison& c, const RenderOptions& shown) {
  if (shown.graph && !c.graph.same()) return true;
  if (!c.segments) return false;
  return (shown.segments && !c.segments->same_segments()) || (shown.cost && !c.segments->same_cost());
}

}  // namespace

int run_diff(const DiffCommand& command) {
  check_arguments(command);
  std::vector<Rule> rules;
  for (const std::string& rule : command.fail_on) rules.push_back(parse_rule(rule));

  std::optional<Side> a = read(command.sides[0], command);
  if (!a) return static_cast<int>(Exit::kBadInput);
  std::optional<Side> b = read(command.sides[1], command);
  if (!b) return static_cast<int>(Exit::kBadInput);

  using Only = DiffCommand::Only;
  const bool all = command.only == Only::kAll;
  const RenderOptions shown{all || command.only == Only::kGraph, all || command.only == Only::kSegments, all || command.only == Only::kCost,
                            command.brief};
  CompareOptions options{{command.dims}, command.arch, shown.segments || shown.cost};
  for (const Rule& rule : rules) options.segments = options.segments || rule.kind != Rule::kGraph;
  const Comparison c = compare(std::move(*a), std::move(*b), options);

  std::vector<Verdict> verdicts;
  for (const Rule& rule : rules) verdicts.push_back(judge(rule, c));
  const bool no =
      rules.empty() ? differs(c, shown) : std::any_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.broken; });
  if (command.json) print_result(render_json(c, verdicts, shown, no));
  else if (command.markdown) print_result(render_markdown(c, verdicts, shown));
  else if (!command.console.quiet) print_result(render_text(c, verdicts, shown));
  return static_cast<int>(no ? Exit::kNo : Exit::kDone);
}

}  // namespace fusec
