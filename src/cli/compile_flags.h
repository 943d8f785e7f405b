// From the flags that `compile` and `run` share to what the driver takes.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.h"
#include "driver/compile.h"
#include "runtime/compile_cache.h"

namespace fusec {

// `arch` decides the target.
CompileOptions options_from(const CompileFlags& flags, const std::string& arch);
// Nothing with --no-cache, or where no cache folder can be named.
std::optional<CompileCache> cache_from(const CompileFlags& flags);

}  // namespace fusec
