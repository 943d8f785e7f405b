// Makes a graph that shows a fault smaller while it shows it: for bug reports and tests.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace fusec {

struct Reduction {
  std::string text;  // the smallest graph found
  size_t ops_before = 0, ops_after = 0;
  size_t tries = 0;  // calls of `is_bad`
};

struct ReduceOptions {
  size_t max_tries = 2000;
  // Called with every smaller graph that is still bad, so that it outlives whatever ends this process.
  std::function<void(const std::string&)> keep = [](const std::string&) {};
};

// `is_bad` tells whether a graph still shows the fault; it must hold for `text`. Edits: outputs and ops go (the results of an op become
// inputs, or its operand), inputs are merged, extents shrink wherever they stand, attributes and literals become plain. A graph that
// keeps the format's rules gives graphs that do; of others only parts are left out. Failure(kBadInput) when `text` is no JSON object.
Reduction reduce_graph(const std::string& text, const std::function<bool(const std::string&)>& is_bad, const ReduceOptions& options);

}  // namespace fusec
