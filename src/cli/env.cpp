#include "cli/commands.h"

namespace fusec {

int run_env(const EnvCommand&) { throw Failure(Exit::kBug, "'env' is not in this build"); }

}  // namespace fusec
