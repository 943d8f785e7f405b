#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/compile_flags.h"
#include "cli/console.h"
#include "driver/artefacts.h"
#include "runtime/device.h"
#include "support/files.h"

namespace fusec {

namespace {

constexpr const char* kDefaultArch = "sm_80";

bool wants(const CompileCommand& command, EmitKind kind) {
  return std::find(command.emit.begin(), command.emit.end(), kind) != command.emit.end();
}

// What to write: as listed; by default everything that the architectures give, machine code for those named or here.
ArtefactOptions artefacts_for(const CompileCommand& command) {
  ArtefactOptions options;
  options.markdown = command.report_markdown;
  options.archs = command.archs;
  bool here = false;
  if (options.archs.empty()) {
    std::string missing;
    const auto device = find_cuda_device(missing);
    here = device.has_value();
    options.archs = {device ? device->arch() : kDefaultArch};
  }
  if (command.emit.empty()) {
    const bool some_real =
        std::any_of(options.archs.begin(), options.archs.end(), [](const std::string& arch) { return arch.starts_with("sm_"); });
    options.cubin = some_real && (here || !command.archs.empty());
  } else {
    options.cu = wants(command, EmitKind::kCu);
    options.ptx = wants(command, EmitKind::kPtx);
    options.cubin = wants(command, EmitKind::kCubin);
  }
  return options;
}

nlohmann::ordered_json to_json(const Compilation& compilation, const Artefacts& made, const std::string& folder) {
  nlohmann::ordered_json json = {{"graph", compilation.graph.name},
                                 {"out", folder},
                                 {"files", nlohmann::ordered_json::array()},
                                 {"segments", compilation.segmentation.segments.size()},
                                 {"launches", compilation.program ? compilation.program->launches.size() : 0},
                                 {"compile_ms", compilation.total_ms},
                                 {"segment_ms", compilation.segment_ms},
                                 {"nvrtc_ms", made.nvrtc_ms},
                                 {"from_cache", made.from_cache > 0 && made.compiled == 0}};
  for (const auto& [name, content] : made.files) json["files"].push_back(name);
  return json;
}

std::string to_text(const Compilation& compilation, const Artefacts& made, const std::string& folder) {
  auto count = [](size_t n, const std::string& what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : what.back() == 'h' ? "es" : "s");
  };
  std::string text = compilation.graph.name + ": " + count(compilation.segmentation.segments.size(), "segment");
  if (compilation.program) text += ", " + count(compilation.program->launches.size(), "launch");
  text += " → " + folder + ":";
  for (const auto& [name, content] : made.files) text += " " + name;
  return text + "\n";
}

}  // namespace

int run_compile(const CompileCommand& command) {
  ArtefactOptions artefacts = artefacts_for(command);
  const std::optional<CompileCache> cache = cache_from(command.flags);
  artefacts.cache = cache ? &*cache : nullptr;
  CompileOptions options = options_from(command.flags, artefacts.archs.front());
  options.stop_after_segment = !artefacts.cu && !artefacts.ptx && !artefacts.cubin;

  int exit = 0;
  std::set<std::string> names;
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const std::string& path : command.graphs) {
    const SourceText source = read_source(path);
    Diagnostics diagnostics;
    const auto compilation = compile(source, options, diagnostics);
    report(diagnostics, source, command.console);
    if (!compilation) {
      exit = static_cast<int>(Exit::kBadInput);
      continue;
    }
    if (!options.stop_after.empty()) {
      print_result(compilation->stopped_text);
      continue;
    }
    if (!names.insert(compilation->graph.name).second)
      throw Failure(Exit::kBadInput, path + ": a graph called '" + compilation->graph.name + "' was written to " + command.out +
                                         " already; give this one another name");
    const Artefacts made = make_artefacts(*compilation, options.target, artefacts);
    write_files(command.out, made.files);
    if (command.json) results.push_back(to_json(*compilation, made, command.out));
    else if (!command.console.quiet) print_result(to_text(*compilation, made, command.out));
  }
  if (command.json)
    print_result(nlohmann::ordered_json{{"graphs", results}}.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  return exit;
}

}  // namespace fusec
