// Small graphs, compiled for sm_90 or another GPU.
#pragma once

#include <string>

#include "catch.h"
#include "driver/compile.h"

namespace fusec {

inline Compilation compiled(const std::string& text, bool phases = true, const std::string& arch = "sm_90") {
  Diagnostics diagnostics;
  CompileOptions options;
  options.target = target_for(arch);
  options.lower.phases = phases;
  const SourceText source("g.fusion.json", text);
  auto compilation = compile(source, options, diagnostics);
  INFO(render(diagnostics, source, false));
  REQUIRE(compilation);
  REQUIRE(compilation->program);
  return std::move(*compilation);
}

inline Program lowered(const std::string& text, bool phases = true, const std::string& arch = "sm_90") {
  return std::move(*compiled(text, phases, arch).program);
}

inline bool has(const Program& p, const std::string& text) { return p.cuda_source.find(text) != std::string::npos; }

}  // namespace fusec
