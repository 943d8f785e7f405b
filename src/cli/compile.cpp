#include "cli/commands.h"

namespace fusec {

int run_compile(const CompileCommand&) { throw Failure(Exit::kBug, "'compile' is not in this build"); }

}  // namespace fusec
