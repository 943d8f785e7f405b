// Numbers of the graph's dtypes, read from memory: for comparison and for messages. Bit for bit independent of the shim.
#pragma once

#include <cstddef>
#include <string>

namespace emu {

size_t number_bytes(const std::string& dtype);
// Equal bits, both NaN, or within relative · |b| + absolute. A tolerance of 0 tells -0 from 0.
bool same_number(const std::string& dtype, const char* a, const char* b, double relative, double absolute);
std::string number_text(const std::string& dtype, const char* a);

}  // namespace emu
