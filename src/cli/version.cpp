#include "support/version.h"

#include <string>

#include "cli/commands.h"
#include "cli/console.h"

namespace fusec {

int run_version(const VersionCommand& command) {
  const std::string version = kVersion;
  print_result(command.json ? "{\"fusec\": \"" + version + "\", \"format\": 1, \"report\": 1}\n" : "fusec " + version + "\n");
  return 0;
}

}  // namespace fusec
