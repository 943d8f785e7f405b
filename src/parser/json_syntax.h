// Why a text is no JSON: the offending token, found from where the last good one ended, and a message about it.
#pragma once

#include <string>
#include <string_view>

#include "support/diag.h"

namespace fusec {

// Where a reader of JSON stands: behind its last good token.
struct JsonPosition {
  enum Last { kStart, kOpen, kKey, kValue };
  std::string_view text;
  size_t cursor = 0;     // end of the last token
  Last last = kStart;    // what that token was: nothing yet, an opening bracket, a key, a whole value
  std::string brackets;  // the open ones

  size_t skip_space(size_t from) const;
  // Where the separator that belongs behind the last token stands, or npos when it is not there.
  size_t separator() const;
  // Where the next token begins: behind white space and that separator.
  size_t token_begin() const;
};

// Reports what is wrong with the token at `at.token_begin()`. `overflow`: it is a number that no double can hold.
void report_syntax_error(const JsonPosition& at, bool overflow, Diagnostics& diagnostics);

}  // namespace fusec
