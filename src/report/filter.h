// Runs a program that turns its standard input into its standard output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fusec {

// The output; nothing when the program is not there, fails, or takes longer. It is killed then.
std::optional<std::string> run_filter(const std::vector<std::string>& command, const std::string& input, int64_t timeout_ms);

}  // namespace fusec
