// What fusec says to its user: errors, warnings and notes with a place in a source text, and the failures that end a command.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fusec {

// Exit codes of every command.
enum class Exit : int { kDone = 0, kNo = 1, kBadInput = 2, kNoDevice = 3, kRefused = 4, kBug = 70 };

// Ends a command with an exit code and one message; thrown by runtime and command code, caught in main.
struct Failure : std::runtime_error {
  Failure(Exit code, const std::string& message) : std::runtime_error(message), exit(code) {}
  Exit exit;
};

// Byte offsets [begin, end) into the source text; begin == end == 0 means "no place".
struct Span {
  uint32_t begin = 0, end = 0;
  bool known() const { return end > begin; }
  bool operator==(const Span&) const = default;
};

// A text with a name, and the line and column (both from 1, columns in UTF-8 code points) of its offsets.
class SourceText {
 public:
  SourceText() = default;
  SourceText(std::string name, std::string text);

  struct Place {
    uint32_t line, column;
  };
  Place place(uint32_t offset) const;
  std::string_view line(uint32_t line) const;  // without its end-of-line
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }

 private:
  std::string name_, text_;
  std::vector<uint32_t> line_starts_;
};

enum class Severity { kError, kWarning };

struct Note {
  Span at;
  std::string text;
};

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string word;  // the rule's name, e.g. "shape-mismatch"
  Span at;
  std::string text;
  std::vector<Note> notes;
};

// Collects diagnostics; keeps the first kMaxErrors errors and counts the rest.
class Diagnostics {
 public:
  static constexpr size_t kMaxErrors = 20;

  // Returns the stored diagnostic so that notes can be added (a dummy beyond the limit).
  Diagnostic& error(std::string word, Span at, std::string text);
  Diagnostic& warning(std::string word, Span at, std::string text);
  bool has_errors() const { return errors_ > 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
  Diagnostic dropped_;
  size_t errors_ = 0;
};

// "file:line:col: error[word]: text", the source line with a caret, and the notes. Colour only when asked for.
std::string render(const Diagnostics& diagnostics, const SourceText& source, bool colour, bool errors_only = false);

// The candidate nearest to `word` by edit distance, or "" when none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace fusec
