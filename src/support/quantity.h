// Quantities as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace fusec {

std::string size_text(int64_t bytes);  // "256 B", "1.5 MiB"
std::string us_text(double us);        // "12.3"
// "3 segments", "1 launch", "2 launches"
std::string count_text(size_t n, const std::string& what);

}  // namespace fusec
