// The files that a compilation leaves: NAME.cu, NAME.h, NAME.ptx, NAME.sm_90.cubin, reports, manifest.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "driver/compile.h"
#include "report/html.h"
#include "runtime/compile_cache.h"
#include "runtime/manifest.h"
#include "support/publish.h"

namespace fusec {

struct ArtefactOptions {
  bool cu = true, ptx = true, cubin = false;  // none of them: reports only
  bool markdown = true, html = false;
  HtmlOptions html_options;
  std::vector<std::string> archs;  // "sm_90", "compute_80", …; not empty when ptx or cubin are wanted
  const CompileCache* cache = nullptr;
};

struct Artefacts {
  NamedFiles files;  // the manifest last, as the seal of the set
  double nvrtc_ms = 0;
  size_t compiled = 0, from_cache = 0;  // calls of NVRTC, and those that the cache saved
};

// Failures are those of compile_cuda; kBadInput for machine code without a real architecture.
Artefacts make_artefacts(const Compilation& compilation, const Target& target, const ArtefactOptions& options);

// The manifest of a lowered compilation, without files.
Manifest manifest_of(const Compilation& compilation, const Target& target);

}  // namespace fusec
