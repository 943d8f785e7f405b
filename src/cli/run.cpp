#include "cli/commands.h"

namespace fusec {

int run_run(const RunCommand&) { throw Failure(Exit::kBug, "'run' is not in this build"); }

}  // namespace fusec
