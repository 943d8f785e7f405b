#include <filesystem>

#include "cli/command_pages.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "support/publish.h"

namespace fusec {

int run_completions(const CompletionsCommand& command, const CommandPages& pages) {
  print_result(completions(pages, command.shell));
  return static_cast<int>(Exit::kDone);
}

int run_man(const ManCommand& command, const CommandPages& pages) {
  if (command.out.empty()) {
    print_result(manual_page(pages, command.page));
    return static_cast<int>(Exit::kDone);
  }
  NamedFiles files{{"fusec.1", manual_page(pages, "")}};
  for (const CommandPage& page : pages.commands) files.emplace_back("fusec-" + page.name + ".1", manual_page(pages, page.name));
  publish_files(command.out, files);
  return static_cast<int>(Exit::kDone);
}

}  // namespace fusec
