// Internal checks, on in every build. A failed check is a bug in fusec: it is thrown, and main reports it and exits 70.
#pragma once

#include <stdexcept>
#include <string>

namespace fusec {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition, const std::string& what) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + condition + (what.empty() ? "" : ": ") + what);
}

}  // namespace fusec

// FUSEC_CHECK(condition, message): the message is a std::string expression, evaluated only on failure.
#define FUSEC_CHECK(condition, ...)                                                                    \
  do {                                                                                                 \
    if (!(condition)) ::fusec::check_failed(__FILE__, __LINE__, #condition, std::string(__VA_ARGS__)); \
  } while (false)
