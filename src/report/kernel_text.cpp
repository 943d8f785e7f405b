#include "report/kernel_text.h"

namespace fusec {

std::string kernel_text(const std::string& source, const std::string& kernel) {
  const std::string start = "extern \"C\" __global__";
  for (size_t at = source.find(start); at != std::string::npos; at = source.find(start, at + 1)) {
    const size_t open = source.find('(', source.find('\n', at));  // the line after says NAME(parameters
    const size_t end = source.find("\n}\n", at);
    if (open == std::string::npos || end == std::string::npos) return "";
    const size_t name = source.find_last_of(" \n*&", open) + 1;
    if (source.compare(name, open - name, kernel) == 0 && open - name == kernel.size()) return source.substr(at, end + 3 - at);
  }
  return "";
}

}  // namespace fusec
