// The segmentation report (JSON and Markdown) of a compilation.
#pragma once

#include <map>
#include <string>

#include "driver/compile.h"

namespace fusec {

struct KernelResources {
  int registers = 0, spill_bytes = 0;
};

// `resources`: by kernel name, when a cubin was made.
// `with_source`: the graph as read stands in the report, so that a report can be compared with another (`fusec diff`).
std::string report_json(const Compilation& compilation, const Target& target, const std::map<std::string, KernelResources>& resources,
                        bool with_source = true);
std::string report_markdown(const Compilation& compilation, const Target& target, const std::map<std::string, KernelResources>& resources);

}  // namespace fusec
