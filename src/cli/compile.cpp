#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/compile_flags.h"
#include "cli/console.h"
#include "cli/diagnostics_json.h"
#include "driver/artefacts.h"
#include "runtime/device.h"
#include "support/publish.h"
#include "support/quantity.h"

namespace fusec {

namespace {

bool wants(const CompileCommand& command, EmitKind kind) {
  return std::find(command.emit.begin(), command.emit.end(), kind) != command.emit.end();
}

// What to write: as listed; by default everything that the architectures give, machine code for those named or here.
ArtefactOptions artefacts_for(const CompileCommand& command) {
  ArtefactOptions options;
  options.markdown = command.report_markdown;
  options.html = command.report_html;
  options.html_options.use_dot = !command.layers;
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
  std::string text = compilation.graph.name + ": " + count_text(compilation.segmentation.segments.size(), "segment");
  if (compilation.program) text += ", " + count_text(compilation.program->launches.size(), "launch");
  text += " → " + folder + ":";
  for (const auto& [name, content] : made.files) text += " " + name;
  return text + "\n";
}

struct Results {
  const CompileCommand& command;
  std::set<std::string> names;  // of the graphs that were written
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
};

// False when the graph has errors, which are reported.
bool compile_one(const std::string& path, const CompileOptions& options, const ArtefactOptions& artefacts, Results& results) {
  const CompileCommand& command = results.command;
  const SourceText source = read_source(path);
  Diagnostics diagnostics;
  const auto compilation = compile(source, options, diagnostics);
  report(diagnostics, source, command.console);
  if (!compilation) {
    results.json.push_back(nlohmann::ordered_json::parse(diagnostics_json(source, diagnostics)));
    return false;
  }
  if (!options.stop_after.empty()) {
    if (command.json)
      results.json.push_back(
          {{"graph", compilation->graph.name}, {"stopped_after", options.stop_after}, {"text", compilation->stopped_text}});
    else print_result(compilation->stopped_text);
    return true;
  }
  const std::string& name = compilation->graph.name;
  if (!results.names.insert(name).second)
    throw Failure(Exit::kBadInput,
                  path + ": a graph called '" + name + "' was written to " + command.out + " already; give this one another name");
  ArtefactOptions wanted = artefacts;
  if (!command.measured.empty()) wanted.html_options.measured = read_measured(read_source(command.measured).text(), name);
  const Artefacts made = make_artefacts(*compilation, options.target, wanted);
  publish_files(command.out, made.files);
  if (command.json) results.json.push_back(to_json(*compilation, made, command.out));
  else if (!command.console.quiet) print_result(to_text(*compilation, made, command.out));
  return true;
}

}  // namespace

int run_compile(const CompileCommand& command) {
  ArtefactOptions artefacts = artefacts_for(command);
  const std::optional<CompileCache> cache = cache_from(command.flags);
  artefacts.cache = cache ? &*cache : nullptr;
  CompileOptions options = options_from(command.flags, artefacts.archs.front());
  options.stop_after_segment = !artefacts.cu && !artefacts.ptx && !artefacts.cubin;

  Results results{command, {}, {}};
  int exit = static_cast<int>(Exit::kDone);
  for (const std::string& path : command.graphs) {
    try {
      if (!compile_one(path, options, artefacts, results)) exit = static_cast<int>(Exit::kBadInput);
    } catch (const Failure& failure) {
      if (!command.json || failure.exit == Exit::kBug) throw;
      // Those before it were written, and the result says so.
      report_failure(failure.what(), command.console.colour);
      results.json.push_back(nlohmann::ordered_json::parse(failure_json(path, failure.what())));
      exit = static_cast<int>(failure.exit);
      break;
    }
  }
  if (command.json)
    print_result(nlohmann::ordered_json{{"graphs", results.json}}.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  return exit;
}

}  // namespace fusec
