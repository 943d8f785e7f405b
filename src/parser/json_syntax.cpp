#include "parser/json_syntax.h"

#include <algorithm>

#include "parser/json.h"

namespace fusec {

size_t JsonPosition::skip_space(size_t from) const { return std::min(text.find_first_not_of(" \t\r\n", from), text.size()); }

size_t JsonPosition::separator() const {
  const size_t next = skip_space(cursor);
  const char wanted = last == kKey ? ':' : last == kValue && !brackets.empty() ? ',' : '\0';
  return wanted != '\0' && next < text.size() && text[next] == wanted ? next : std::string_view::npos;
}

size_t JsonPosition::token_begin() const {
  const size_t s = separator();
  return skip_space(s == std::string_view::npos ? cursor : s + 1);
}

namespace {

struct Problem {
  size_t begin = 0, length = 1;
  std::string text;
};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What the grammar allows at the position, in words.
std::string expected(const JsonPosition& at) {
  const bool separated = at.separator() != std::string_view::npos;
  const bool in_object = !at.brackets.empty() && at.brackets.back() == '{';
  switch (at.last) {
    case JsonPosition::kStart:
      return "a JSON object";
    case JsonPosition::kOpen:
      return in_object ? "a key in double quotes or '}'" : "a value or ']'";
    case JsonPosition::kKey:
      return separated ? "a value" : "':' after the key";
    case JsonPosition::kValue:
      break;
  }
  if (at.brackets.empty()) return "the end of the file";
  if (separated) return in_object ? "a key in double quotes" : "a value";
  return in_object ? "',' or '}'" : "',' or ']'";
}

// The unread part of a \u escape at `i` (behind the 'u'), or -1 when it has no four hexadecimal digits.
int hex4(std::string_view text, size_t i) {
  int value = 0;
  for (size_t k = i; k < i + 4; ++k) {
    const char c = k < text.size() ? text[k] : ' ';
    const int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// The fault of the escape whose backslash is at `i`, or length 0.
Problem escape_problem(std::string_view text, size_t i) {
  const char c = i + 1 < text.size() ? text[i + 1] : ' ';
  if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) return {i, 0, ""};
  if (c != 'u') return {i, 2, "no such escape in a string; a backslash itself is written \\\\"};
  const int code = hex4(text, i + 2);
  if (code < 0) return {i, 2, "\\u takes four hexadecimal digits"};
  const bool high = code >= 0xD800 && code < 0xDC00, low = code >= 0xDC00 && code < 0xE000;
  const bool paired = high && text.substr(i + 6, 2) == "\\u" && hex4(text, i + 8) >= 0xDC00 && hex4(text, i + 8) < 0xE000;
  if ((high && !paired) || low) return {i, 6, "half of a surrogate pair"};
  return {i, 0, ""};
}

// The fault of the string that begins at `begin`, or length 0 when it is well formed.
Problem string_problem(std::string_view text, size_t begin) {
  const size_t line_end = std::min(text.find('\n', begin), text.size());
  for (size_t i = begin + 1; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"') return {begin, 0, ""};
    if (c == '\n' || c == '\r') return {begin, line_end - begin, "this string is not closed on its line"};
    if (c < 0x20) return {i, 1, "a control character in a string; write it as an escape such as \\t or \\u0001"};
    if (c == '\\') {
      if (Problem p = escape_problem(text, i); p.length > 0) return p;
      const bool unicode = text[i + 1] == 'u', high = unicode && hex4(text, i + 2) >= 0xD800 && hex4(text, i + 2) < 0xDC00;
      i += high ? 12 : unicode ? 6 : 2;
      continue;
    }
    const size_t n = utf8_length(text.substr(i, 4));
    if (n == 0) return {i, 1, "invalid UTF-8 in a string"};
    i += n;
  }
  return {begin, line_end - begin, "the file ends inside this string"};
}

Problem word_problem(std::string_view text, size_t begin, const std::string& wanted) {
  size_t end = begin;
  while (end < text.size() && (is_word(text[end]) || std::string_view("+-.").find(text[end]) != std::string_view::npos)) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  std::string bare;
  for (char c : word)
    if (c != '+' && c != '-') bare += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  Problem p{begin, std::max<size_t>(1, word.size()), quoted(word) + " is no JSON"};
  if (bare == "nan") return p.text += "; write the string \"nan\"", p;
  if (bare == "inf" || bare == "infinity")
    return p.text += std::string("; write the string \"") + (word[0] == '-' ? "-inf" : "inf") + "\"", p;
  if (bare == "true" || bare == "false") return p.text += "; write " + bare, p;
  if (bare == "none" || bare == "null" || bare == "nil") return p.text += "; write null", p;
  if (is_digit(word[0]) || word[0] == '-' || word[0] == '+' || word[0] == '.') return p.text = quoted(word) + " is no JSON number", p;
  return p.text += "; expected " + wanted + ", and strings stand in double quotes", p;
}

Problem end_problem(const JsonPosition& at) {
  if (at.last == JsonPosition::kStart) return {0, 1, "the file is empty; expected a JSON object"};
  return {at.cursor, 1, "the file ends here; expected " + expected(at)};
}

// Text that cannot be JSON in UTF-8 from its first bytes on; length 0 where nothing speaks against it.
Problem encoding_problem(std::string_view text, size_t begin) {
  const std::string_view head = text.substr(begin, 4);
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF") || (head.size() == 4 && head.find('\0') != std::string_view::npos))
    return {begin, 1, "the file is UTF-16 or UTF-32; a graph is UTF-8"};
  if (head.starts_with("\xEF\xBB\xBF")) return {begin, 3, "a second byte order mark; one is skipped"};
  return {begin, 0, ""};
}

Problem overflow_problem(std::string_view text, size_t begin) {
  const size_t end = std::min(text.find_first_not_of("+-.0123456789eE", begin), text.size());
  const std::string number(text.substr(begin, end - begin));
  if (number.find_first_of(".eE") == std::string::npos)
    return {begin, end - begin, "the integer " + quoted(number) + " does not fit 64 bits"};
  return {begin, end - begin, "the number " + quoted(number) + " is beyond the range of f64; infinity is written as the string \"inf\""};
}

Problem find_problem(const JsonPosition& at, bool overflow) {
  const std::string_view text = at.text;
  const size_t begin = at.token_begin(), separator = at.separator();
  if (begin >= text.size()) return end_problem(at);
  const char c = text[begin];
  if (overflow) return overflow_problem(text, begin);
  if (at.last == JsonPosition::kStart)
    if (Problem p = encoding_problem(text, begin); p.length > 0) return p;
  if (c == '/' || c == '#')
    return {begin, std::min(text.find('\n', begin), text.size()) - begin, "JSON has no comments; use \"doc\" or, on an op, \"note\""};
  if ((c == ']' || c == '}') && at.last == JsonPosition::kValue && separator != std::string_view::npos)
    return {separator, 1, std::string("a comma before '") + c + "'; JSON has no trailing commas"};
  const std::string wanted = expected(at);
  // "01" and "1.2.3" are read as a number and something behind it: the whole is to blame.
  if (at.last == JsonPosition::kValue && begin == at.cursor && is_word(text[begin - 1]) &&
      (is_word(c) || c == '.' || c == '-' || c == '+')) {
    size_t whole = begin;
    while (whole > 0 && (is_word(text[whole - 1]) || std::string_view("+-.").find(text[whole - 1]) != std::string_view::npos)) --whole;
    return word_problem(text, whole, wanted);
  }
  if (at.last == JsonPosition::kValue && at.brackets.empty()) return {begin, 1, "text after the end of the graph"};
  if (c == '"') {
    if (Problem p = string_problem(text, begin); p.length > 0) return p;
    return {begin, 1, "expected " + wanted + " before this string"};
  }
  if (c == '\'') return {begin, 1, "strings stand in double quotes"};
  const bool takes_word = wanted.find("value") != std::string::npos || at.last == JsonPosition::kStart || is_word(c);
  if (is_word(c) || ((c == '-' || c == '+' || c == '.') && takes_word)) {
    // A good number or literal in the wrong place is not the one to blame.
    const bool literal = text.substr(begin, 4) == "true" || text.substr(begin, 5) == "false" || text.substr(begin, 4) == "null";
    if (wanted.find("value") == std::string::npos && (is_digit(c) || literal)) return {begin, 1, "expected " + wanted};
    return word_problem(text, begin, wanted);
  }
  const size_t n = utf8_length(text.substr(begin, 4));
  if (n == 0) return {begin, 1, "invalid UTF-8; expected " + wanted};
  return {begin, n, "expected " + wanted + ", not " + quoted(text.substr(begin, n))};
}

}  // namespace

void report_syntax_error(const JsonPosition& at, bool overflow, Diagnostics& diagnostics) {
  const Problem p = find_problem(at, overflow);
  diagnostics.error("json-syntax", {static_cast<uint32_t>(p.begin), static_cast<uint32_t>(p.begin + p.length)}, p.text);
}

}  // namespace fusec
