#include "driver/runnable.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "driver/artefacts.h"
#include "runtime/compile_cuda.h"
#include "runtime/nvrtc.h"
#include "support/files.h"
#include "support/sha256.h"

namespace fusec {

namespace fs = std::filesystem;

namespace {

constexpr const char* kManifestSuffix = ".manifest.json";

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

const std::string& image_of(const CudaBinary& binary) { return binary.cubin.empty() ? binary.ptx : binary.cubin; }

// Machine code runs on its own architecture and later minor versions of it; variants with a suffix on their own only.
bool runs_on(const std::string& arch, const DeviceInfo& device) {
  const ArchName name = parse_arch(arch);
  const int here = device.major * 10 + device.minor;
  if (!name.real) return name.suffix.empty() && name.number <= here;
  return name.number == here || (name.suffix.empty() && name.number / 10 == device.major && name.number <= here);
}

// The best file of a compiled folder for a device: machine code before PTX, newer architectures before older ones.
const ManifestFile* best_file(const Manifest& manifest, const DeviceInfo& device) {
  const ManifestFile* best = nullptr;
  auto rank = [](const ManifestFile& file) { return std::pair(file.kind == ManifestFile::kCubin, parse_arch(file.arch).number); };
  for (const ManifestFile& file : manifest.files) {
    if (file.kind != ManifestFile::kCubin && file.kind != ManifestFile::kPtx) continue;
    if (runs_on(file.arch, device) && (!best || rank(file) > rank(*best))) best = &file;
  }
  return best;
}

std::string only_manifest(const std::string& folder) {
  std::vector<std::string> manifests;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().string().ends_with(kManifestSuffix)) manifests.push_back(it->path().string());
  if (error) throw Failure(Exit::kBadInput, folder + ": " + error.message());
  std::sort(manifests.begin(), manifests.end());
  if (manifests.empty())
    throw Failure(Exit::kBadInput, folder + " holds no *" + kManifestSuffix +
                                       ": it is no folder to which `fusec compile` wrote code (--emit cu, ptx, cubin)");
  if (manifests.size() == 1) return manifests[0];
  std::string list;
  for (const std::string& path : manifests) list += "\n  " + path;
  throw Failure(Exit::kBadInput, folder + " holds several compiled graphs; give the manifest of one:" + list);
}

std::string read_checked(const std::string& folder, const ManifestFile& file) {
  const std::string path = folder + "/" + file.name;
  std::string content = read_file(path);
  if (sha256_hex(content) != file.sha256)
    throw Failure(Exit::kBadInput, path + " is not the file that its manifest describes (its hash differs). Compile the graph again.");
  return content;
}

}  // namespace

CudaBinary compile_for_device(const std::string& name, const std::string& source, const DeviceInfo& device, const CompileCache* cache) {
  const std::vector<int> known = Nvrtc::get().architectures();
  const int here = device.major * 10 + device.minor;
  if (known.empty() || std::find(known.begin(), known.end(), here) != known.end()) return compile_cuda(name, source, device.arch(), cache);
  // A GPU that this NVRTC does not know: the driver compiles PTX of the newest architecture before it.
  const auto newer = std::upper_bound(known.begin(), known.end(), here);
  if (newer == known.begin())
    throw Failure(Exit::kNoDevice, device.name + " (" + device.arch() + ") is older than what NVRTC " + Nvrtc::get().path +
                                       " compiles for (sm_" + std::to_string(known.front()) +
                                       " and newer): set CUDA_PATH to an older toolkit, or use --device cpu");
  return compile_cuda(name, source, "compute_" + std::to_string(*std::prev(newer)), cache);
}

Runnable make_runnable(Compilation compilation, const Target& target, const std::string& arch, const DeviceInfo& device,
                       const CompileCache* cache) {
  const auto start = Clock::now();
  Runnable runnable;
  runnable.manifest = manifest_of(compilation, target);
  const std::string& source = runnable.manifest.program.cuda_source;
  runnable.image = image_of(arch.empty() ? compile_for_device(compilation.graph.name, source, device, cache)
                                         : compile_cuda(compilation.graph.name, source, arch, cache));
  runnable.segment_ms = compilation.segment_ms;
  runnable.compile_ms = compilation.total_ms + ms_since(start);
  runnable.graph = std::move(compilation.graph);
  return runnable;
}

bool is_compiled(const std::string& path) {
  std::error_code none;
  return fs::is_directory(path, none) || path.ends_with(kManifestSuffix);
}

CompiledFolder read_compiled(const std::string& path, const ReadOptions& options) {
  std::error_code none;
  const std::string manifest = fs::is_directory(path, none) ? only_manifest(path) : path;
  CompiledFolder compiled;
  const std::string parent = fs::path(manifest).parent_path().string();
  compiled.folder = parent.empty() ? "." : parent;
  compiled.manifest = read_manifest(read_file(manifest), manifest);
  Diagnostics diagnostics;
  const SourceText text(manifest + " (graph)", compiled.manifest.graph_json);
  auto graph = read_graph(text, options, diagnostics);
  if (!graph) throw Failure(Exit::kBadInput, "the graph in " + manifest + " cannot be used:\n" + render(diagnostics, text, false));
  if (graph->inputs.size() != compiled.manifest.inputs || graph->outputs.size() != compiled.manifest.outputs)
    throw Failure(Exit::kBadInput, manifest + ": its graph has other inputs and outputs than its launches. Compile the graph again.");
  compiled.graph = std::move(*graph);
  return compiled;
}

Runnable make_runnable(CompiledFolder compiled, const DeviceInfo& device, const CompileCache* cache) {
  const auto start = Clock::now();
  Runnable runnable;
  if (const ManifestFile* file = best_file(compiled.manifest, device)) {
    runnable.image = read_checked(compiled.folder, *file);
  } else {
    const auto& files = compiled.manifest.files;
    const auto cu = std::find_if(files.begin(), files.end(), [](const ManifestFile& f) { return f.kind == ManifestFile::kCu; });
    if (cu == files.end())
      throw Failure(Exit::kBadInput,
                    compiled.folder + " holds no code that runs on " + device.name + ": compile with --arch " + device.arch());
    runnable.image = image_of(compile_for_device(compiled.graph.name, read_checked(compiled.folder, *cu), device, cache));
  }
  runnable.compile_ms = ms_since(start);
  runnable.graph = std::move(compiled.graph);
  runnable.manifest = std::move(compiled.manifest);
  return runnable;
}

}  // namespace fusec
