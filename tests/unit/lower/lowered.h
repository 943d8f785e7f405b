// Small graphs, compiled for sm_90.
#pragma once

#include <string>

#include "catch.h"
#include "driver/compile.h"

namespace fusec {

inline Compilation compiled(const std::string& text, bool phases = true) {
  Diagnostics diagnostics;
  CompileOptions options;
  options.target = target_for("sm_90");
  options.lower.phases = phases;
  const SourceText source("g.fusion.json", text);
  auto compilation = compile(source, options, diagnostics);
  INFO(render(diagnostics, source, false));
  REQUIRE(compilation);
  REQUIRE(compilation->program);
  return std::move(*compilation);
}

inline Program lowered(const std::string& text, bool phases = true) { return std::move(*compiled(text, phases).program); }

inline bool has(const Program& p, const std::string& text) { return p.cuda_source.find(text) != std::string::npos; }

}  // namespace fusec
