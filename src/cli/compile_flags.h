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
inline constexpr const char* kDefaultArch = "sm_80";
// The architecture of the GPU here, else sm_80.
std::string arch_here();
// Nothing with --no-cache, or where no cache folder can be named.
std::optional<CompileCache> cache_from(const CompileFlags& flags);

}  // namespace fusec
