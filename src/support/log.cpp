#include "support/log.h"

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace fusec {

namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    const auto colour = stderr_has_colour() ? spdlog::color_mode::always : spdlog::color_mode::never;
    spdlog::logger made("fusec", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(colour));
    made.set_pattern("fusec: %^%l%$: %v");
    made.set_level(spdlog::level::warn);
    return made;
  }();
  return instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(level_of(level)); }

void log(LogLevel level, const std::string& text) { logger().log(level_of(level), spdlog::string_view_t(text)); }

bool stderr_has_colour() {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color && *no_color) return false;
  const char* term = std::getenv("TERM");
  if (!term || std::string_view(term) == "dumb" || std::string_view(term) == "unknown") return false;
  return ::isatty(STDERR_FILENO) == 1;
}

}  // namespace fusec
