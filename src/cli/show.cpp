#include "cli/commands.h"
#include "cli/console.h"
#include "graph/print.h"
#include "parser/read_graph.h"
#include "parser/write_graph.h"

namespace fusec {

int run_show(const ShowCommand& command) {
  const SourceText source = read_source(command.graph);
  Diagnostics diagnostics;
  const auto graph = read_graph(source, {command.dims}, diagnostics);
  report(diagnostics, source, command.console);
  if (!graph) return refuse_graph(diagnostics, source, command.json);
  print_result(command.dot ? print_dot(*graph) : command.json ? write_graph(*graph) : print(*graph));
  return 0;
}

}  // namespace fusec
