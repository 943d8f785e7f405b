#include "driver/artefacts.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "emit/report.h"
#include "parser/write_graph.h"
#include "runtime/compile_cuda.h"
#include "support/byte_sum.h"
#include "support/check.h"
#include "support/sha256.h"

namespace fusec {

namespace {

// PTX is for every GPU from its architecture on, so it is made for the least one; "a" and "f" variants are for one GPU only.
std::string arch_of_ptx(const std::vector<std::string>& archs) {
  auto rank = [](const std::string& arch) {
    const ArchName name = parse_arch(arch);
    return std::pair(!name.suffix.empty(), name.number);
  };
  return *std::min_element(archs.begin(), archs.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

std::string virtual_arch(const std::string& arch) {
  const ArchName name = parse_arch(arch);
  return "compute_" + std::to_string(name.number) + name.suffix;
}

// The architectures to compile for: every real one for machine code (which brings PTX along), and that of the PTX.
std::vector<std::string> archs_to_compile(const ArtefactOptions& options) {
  std::vector<std::string> archs;
  if (options.cubin)
    for (const std::string& arch : options.archs)
      if (parse_arch(arch).real && std::find(archs.begin(), archs.end(), arch) == archs.end()) archs.push_back(arch);
  if (options.cubin && archs.empty()) throw Failure(Exit::kBadInput, "--emit cubin needs a real architecture, such as --arch sm_90");
  if (options.ptx) {
    const std::string ptx = arch_of_ptx(options.archs);
    if (std::find(archs.begin(), archs.end(), ptx) == archs.end()) archs.push_back(virtual_arch(ptx));
  }
  return archs;
}

}  // namespace

Manifest manifest_of(const Compilation& compilation, const Target& target) {
  Manifest manifest;
  manifest.graph_json = write_graph(compilation.graph);
  manifest.symbols = compilation.rewritten.symbols;
  manifest.program = *compilation.program;
  manifest.segments = static_cast<uint32_t>(compilation.segmentation.segments.size());
  manifest.inputs = compilation.graph.inputs.size();
  manifest.outputs = compilation.graph.outputs.size();
  CostModel model(compilation.rewritten, target);
  for (const Segment& segment : compilation.segmentation.segments) {
    const SegmentCost cost = model.cost_of(segment);
    manifest.segment_bytes.push_back(byte_sum(cost.bytes_read, cost.bytes_written));
    add_bytes(manifest.bytes, manifest.segment_bytes.back());
  }
  return manifest;
}

Artefacts make_artefacts(const Compilation& compilation, const Target& target, const ArtefactOptions& options) {
  const std::string& name = compilation.graph.name;
  Artefacts made;
  std::map<std::string, KernelResources> resources;
  std::optional<std::pair<std::string, std::string>> seal;
  if (options.cu || options.ptx || options.cubin) {
    FUSEC_CHECK(compilation.program.has_value(), "a program was asked for");
    const Program& program = *compilation.program;
    Manifest manifest = manifest_of(compilation, target);
    auto add = [&](ManifestFile::Kind kind, const std::string& file, const std::string& arch, const std::string& content) {
      manifest.files.push_back({kind, file, arch, sha256_hex(content)});
      made.files.emplace_back(file, content);
    };
    add(ManifestFile::kCu, name + ".cu", "", program.cuda_source);
    add(ManifestFile::kHeader, name + ".h", "", program.header_source);
    const auto start = std::chrono::steady_clock::now();
    const std::string ptx_arch = options.ptx ? virtual_arch(arch_of_ptx(options.archs)) : "";
    for (const std::string& arch : archs_to_compile(options)) {
      const CudaBinary binary = compile_cuda(name, program.cuda_source, arch, options.cache);
      ++(binary.from_cache ? made.from_cache : made.compiled);
      if (!binary.cubin.empty()) add(ManifestFile::kCubin, name + "." + arch + ".cubin", arch, binary.cubin);
      if (virtual_arch(arch) == ptx_arch) add(ManifestFile::kPtx, name + ".ptx", ptx_arch, binary.ptx);
      if (resources.empty())
        for (const auto& [kernel, usage] : binary.usage) resources[kernel] = {usage.registers, usage.spill_bytes};
    }
    made.nvrtc_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    seal.emplace(name + ".manifest.json", write_manifest(manifest, compilation.graph));
  }
  made.files.emplace_back(name + ".report.json", report_json(compilation, target, resources));
  if (options.markdown) made.files.emplace_back(name + ".report.md", report_markdown(compilation, target, resources));
  if (options.html) made.files.emplace_back(name + ".report.html", report_html(compilation, target, resources, options.html_options));
  if (seal) made.files.push_back(std::move(*seal));
  return made;
}

}  // namespace fusec
