// A comparison as text, as Markdown for a comment on a pull request, and as JSON (docs/diff.md has its schema).
#pragma once

#include <string>
#include <vector>

#include "diff/rules.h"

namespace fusec {

struct RenderOptions {
  bool graph = true, segments = true, cost = true;  // the sections
  bool brief = false;                               // one line a section
};

std::string render_text(const Comparison& c, const std::vector<Verdict>& verdicts, const RenderOptions& options);
std::string render_markdown(const Comparison& c, const std::vector<Verdict>& verdicts, const RenderOptions& options);
// `differs`: what the exit code says.
std::string render_json(const Comparison& c, const std::vector<Verdict>& verdicts, const RenderOptions& options, bool differs);

}  // namespace fusec
