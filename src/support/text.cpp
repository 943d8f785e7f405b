#include "support/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace fusec {

size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const size_t n = lead < 0x80                   ? 1
                   : lead >= 0xC2 && lead < 0xE0 ? 2
                   : lead >= 0xE0 && lead < 0xF0 ? 3
                   : lead >= 0xF0 && lead < 0xF5 ? 4
                                                 : 0;
  if (n == 0 || n > text.size()) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool bad = n > 2 && ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) >= 0xA0) || (lead == 0xF0 && byte(1) < 0x90) ||
                             (lead == 0xF4 && byte(1) >= 0x90));
  return bad ? 0 : n;
}

namespace {

// Appends the well-formed UTF-8 of `text` with control characters (and what `extra` names) escaped.
void append_escaped(std::string& out, std::string_view text, std::string_view extra, std::string_view replacement) {
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    size_t n = utf8_length(text);
    if (n == 0) {
      out += replacement;
      n = 1;
    } else if (c < 0x20 || c == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : code;
    } else {
      if (n == 1 && extra.find(text[0]) != std::string_view::npos) out += '\\';
      out += text.substr(0, n);
    }
    text.remove_prefix(n);
  }
}

}  // namespace

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  append_escaped(out, text, "\"\\", "\xEF\xBF\xBD");
  return out += '"';
}

std::string json_number(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  std::string out(digits, end);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text, "", "?");
  return out;
}

std::string shown(std::string_view text) {
  constexpr size_t kShown = 80;
  size_t length = std::min(text.size(), kShown);
  while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  return escaped(text.substr(0, length)) + (length < text.size() ? "..." : "");
}

std::string quoted(std::string_view text) { return "'" + shown(text) + "'"; }

}  // namespace fusec
