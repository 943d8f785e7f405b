// Progress and diagnostics of the program itself, on stderr (spdlog behind one translation unit).
#pragma once

#include <string>

namespace fusec {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
void set_log_level(LogLevel level);
void log(LogLevel level, const std::string& text);
// Colour on stderr: a terminal, NO_COLOR unset or empty, TERM neither dumb nor unknown.
bool stderr_has_colour();

}  // namespace fusec
