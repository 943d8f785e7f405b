// The device functions that generated code may call. Only those that a program mentions are printed.
#pragma once

#include <string>

namespace fusec {

// #include lines and function definitions (those named fs_*, Vec, and what they need) for everything that `code` mentions.
std::string prelude_for(const std::string& code);

}  // namespace fusec
