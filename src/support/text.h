// Spelling texts and numbers: for JSON and for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fusec {

// A JSON string literal, quotes included; malformed UTF-8 becomes U+FFFD.
std::string json_quote(std::string_view text);
// The shortest JSON number that reads back as the same double, always with a fraction or an exponent; "nan", "inf", "-inf" quoted.
std::string json_number(double value);
// Control characters and malformed UTF-8 made visible, as in a path inside a message.
std::string escaped(std::string_view text);
// Text from the file inside a message: escaped, cut when long.
std::string shown(std::string_view text);
std::string quoted(std::string_view text);  // in single quotes

// The length of the well-formed UTF-8 sequence (no surrogates, nothing overlong) at the start of a text; 0 when there is none.
size_t utf8_length(std::string_view text);

}  // namespace fusec
