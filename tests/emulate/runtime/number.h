// Numbers of the graph's dtypes, read from memory: for comparison and for messages. Bit for bit independent of the shim.
#pragma once

#include <cstddef>
#include <string>

namespace emu {

struct NumberFormat {
  const char* name;
  size_t bytes;
  int exponent_bits, mantissa_bits;  // 0 0: an integer
  bool is_signed;
};

// That of a dtype by its name.
const NumberFormat& number_format(const std::string& dtype);
// Equal bits, both NaN, or within relative · |b| + absolute. A tolerance of 0 tells -0 from 0.
bool same_number(const NumberFormat& format, const char* a, const char* b, double relative, double absolute);
std::string number_text(const NumberFormat& format, const char* a);

}  // namespace emu
