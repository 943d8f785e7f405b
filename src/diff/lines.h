// Lines of a source text by offset. SourceText::place counts columns as well, which takes long in a file that is one line.
#pragma once

#include <algorithm>
#include <vector>

#include "support/diag.h"

namespace fusec {

class Lines {
 public:
  // Null where there is no text: then no line is known.
  explicit Lines(const SourceText* source) {
    if (!source) return;
    starts_.push_back(0);
    const std::string& text = source->text();
    for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
      starts_.push_back(static_cast<uint32_t>(at + 1));
  }
  // From 1; 0 for a place that is not known.
  uint32_t of(Span at) const {
    if (!at.known() || starts_.empty()) return 0;
    return static_cast<uint32_t>(std::upper_bound(starts_.begin(), starts_.end(), at.begin) - starts_.begin());
  }

 private:
  std::vector<uint32_t> starts_;
};

}  // namespace fusec
