#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/compile_flags.h"
#include "cli/console.h"
#include "cli/diagnostics_json.h"
#include "cli/in_order.h"
#include "cli/progress.h"
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

// What became of one graph, before anything is printed or written.
struct Compiled {
  SourceText source;
  Diagnostics diagnostics;
  std::optional<Compilation> compilation;
  Artefacts made;
};

Compiled compile_one(const std::string& path, const CompileCommand& command, const CompileOptions& options,
                     const ArtefactOptions& artefacts) {
  Compiled c;
  c.source = read_source(path);
  c.compilation = compile(c.source, options, c.diagnostics);
  if (!c.compilation || !options.stop_after.empty()) return c;
  ArtefactOptions wanted = artefacts;
  if (!command.measured.empty())
    wanted.html_options.measured = read_measured(read_source(command.measured).text(), c.compilation->graph.name);
  c.made = make_artefacts(*c.compilation, options.target, wanted);
  return c;
}

class Results {
 public:
  explicit Results(const CompileCommand& command) : command_(command) {}

  // False when the graph has errors, which are reported.
  bool take(const std::string& path, Compiled c) {
    report(c.diagnostics, c.source, command_.console);
    if (!c.compilation) {
      json_.push_back(nlohmann::ordered_json::parse(diagnostics_json(c.source, c.diagnostics)));
      return false;
    }
    const std::string& name = c.compilation->graph.name;
    if (!command_.flags.stop_after.empty()) {
      if (command_.json)
        json_.push_back({{"graph", name}, {"stopped_after", command_.flags.stop_after}, {"text", c.compilation->stopped_text}});
      else print_result(c.compilation->stopped_text);
      return true;
    }
    if (!names_.insert(name).second)
      throw Failure(Exit::kBadInput,
                    path + ": a graph called '" + name + "' was written to " + command_.out + " already; give this one another name");
    publish_files(command_.out, c.made.files);
    if (command_.json) json_.push_back(to_json(*c.compilation, c.made, command_.out));
    else if (!command_.console.quiet) print_result(to_text(*c.compilation, c.made, command_.out));
    return true;
  }
  void take(const std::string& path, const Failure& failure) {
    report_failure(failure.what(), command_.console.colour);
    json_.push_back(nlohmann::ordered_json::parse(failure_json(path, failure.what())));
  }
  std::string json() const {
    return nlohmann::ordered_json{{"graphs", json_}}.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }

 private:
  const CompileCommand& command_;
  std::set<std::string> names_;  // of the graphs that were written
  nlohmann::ordered_json json_ = nlohmann::ordered_json::array();
};

// Dumps and times of passes stay in one piece.
size_t jobs_for(const CompileCommand& command) {
  if (!command.flags.dump_after.empty() || command.flags.time_passes) return 1;
  return command.jobs > 0 ? static_cast<size_t>(command.jobs) : std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

int run_compile(const CompileCommand& command) {
  ArtefactOptions artefacts = artefacts_for(command);
  const std::optional<CompileCache> cache = cache_from(command.flags);
  artefacts.cache = cache ? &*cache : nullptr;
  CompileOptions options = options_from(command.flags, artefacts.archs.front());
  options.stop_after_segment = !artefacts.cu && !artefacts.ptx && !artefacts.cubin;

  Results results(command);
  int exit = static_cast<int>(Exit::kDone);
  size_t at = 0;
  Progress progress(command.console);
  auto say = [&] {
    const std::string& path = command.graphs[std::min(at, command.graphs.size() - 1)];
    progress.say("compiling " +
                 (command.graphs.size() > 1 ? std::to_string(at + 1) + " of " + std::to_string(command.graphs.size()) + ": " : "") + path);
  };
  say();
  try {
    in_order(
        command.graphs.size(), jobs_for(command), [&](size_t i) { return compile_one(command.graphs[i], command, options, artefacts); },
        [&](size_t i, Compiled compiled) {
          progress.pause();
          if (!results.take(command.graphs[i], std::move(compiled))) exit = static_cast<int>(Exit::kBadInput);
          at = i + 1;
          say();
        });
  } catch (const Failure& failure) {
    progress.pause();
    if (!command.json || failure.exit == Exit::kBug) throw;
    // Those before it were written, and the result says so.
    results.take(command.graphs[at], failure);
    exit = static_cast<int>(failure.exit);
  }
  if (command.json) print_result(results.json());
  return exit;
}

}  // namespace fusec
