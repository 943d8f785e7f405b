#include "cli/compile_flags.h"

#include "runtime/device.h"

namespace fusec {

CompileOptions options_from(const CompileFlags& flags, const std::string& arch) {
  CompileOptions options;
  options.read.dims = flags.dims;
  options.target = target_for(arch);
  options.emit.contract = flags.contract;
  options.lower.check_indices = !flags.unchecked_indices;
  options.lower.phases = !flags.separate_launches;
  options.lower.deterministic = flags.deterministic;
  options.lower.scatter = flags.scatter;
  options.relaxed_casts = flags.relaxed_casts;
  options.skip = flags.skip;
  options.dump_after = flags.dump_after;
  options.stop_after = flags.stop_after;
  options.pass_limit = flags.pass_limit;
  options.random_partition = flags.random_partition;
  options.time_passes = flags.time_passes;
  return options;
}

std::string arch_here() {
  std::string missing;
  const auto device = find_cuda_device(missing);
  return device ? device->arch() : kDefaultArch;
}

std::optional<CompileCache> cache_from(const CompileFlags& flags) {
  if (flags.no_cache) return std::nullopt;
  return CompileCache::from_environment();
}

}  // namespace fusec
