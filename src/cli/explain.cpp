#include "driver/explain.h"

#include "cli/commands.h"
#include "cli/compile_flags.h"
#include "cli/console.h"

namespace fusec {

int run_explain(const ExplainCommand& command) {
  const SourceText source = read_source(command.graph);
  CompileOptions options = options_from(command.flags, command.arch.empty() ? arch_here() : command.arch);
  options.stop_after_segment = true;  // ops without a kernel are explained as well
  Diagnostics diagnostics;
  const auto compilation = compile(source, options, diagnostics);
  report(diagnostics, source, command.console);
  if (!compilation) return refuse_graph(diagnostics, source, command.json);
  const Explanation explanation = explain(*compilation, options.target, {command.values, command.what_ifs});
  print_result(command.json ? explanation_json(explanation) : explanation_text(explanation));
  return static_cast<int>(Exit::kDone);
}

}  // namespace fusec
