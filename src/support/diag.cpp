#include "support/diag.h"

#include <algorithm>
#include <numeric>

#include "support/text.h"

namespace fusec {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The code points of a text: every byte that does not continue one.
uint32_t code_points(std::string_view text) {
  return static_cast<uint32_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

}  // namespace

SourceText::SourceText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(static_cast<uint32_t>(i + 1));
}

SourceText::Place SourceText::place(uint32_t offset) const {
  if (line_starts_.empty()) return {1, 1};
  offset = std::min(offset, static_cast<uint32_t>(text_.size()));
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  uint32_t start = *(next - 1);
  if (start == 0 && text_.starts_with(kByteOrderMark)) start = std::min<uint32_t>(offset, kByteOrderMark.size());
  // An offset inside a character is that character's.
  while (offset > start && offset < text_.size() && continues(text_[offset])) --offset;
  return {static_cast<uint32_t>(next - line_starts_.begin()), code_points(std::string_view(text_).substr(start, offset - start)) + 1};
}

std::string_view SourceText::line(uint32_t line) const {
  if (line == 0 || line > line_starts_.size()) return {};
  const uint32_t begin = line_starts_[line - 1];
  const size_t end = line < line_starts_.size() ? line_starts_[line] - 1 : text_.size();
  std::string_view text = std::string_view(text_).substr(begin, end - begin);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (begin == 0 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

Diagnostic& Diagnostics::error(std::string word, Span at, std::string text) {
  if (++errors_ > kMaxErrors) return dropped_ = {};
  return all_.emplace_back(Diagnostic{Severity::kError, std::move(word), at, std::move(text), {}});
}

Diagnostic& Diagnostics::warning(std::string word, Span at, std::string text) {
  const auto is_warning = [](const Diagnostic& d) { return d.severity == Severity::kWarning; };
  if (static_cast<size_t>(std::count_if(all_.begin(), all_.end(), is_warning)) >= kMaxErrors) return dropped_ = {};
  return all_.emplace_back(Diagnostic{Severity::kWarning, std::move(word), at, std::move(text), {}});
}

namespace {

struct Style {
  std::string_view bold, red, magenta, green, reset;
};
constexpr Style kPlain{"", "", "", "", ""};
constexpr Style kColour{"\x1b[1m", "\x1b[1;31m", "\x1b[1;35m", "\x1b[1;32m", "\x1b[0m"};

std::string place_text(const SourceText& source, Span at) {
  if (!at.known()) return escaped(source.name());
  const SourceText::Place p = source.place(at.begin);
  return escaped(source.name()) + ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
}

// One printable column per code point: tabs and control characters become a space, malformed bytes a question mark.
std::vector<std::string_view> columns(std::string_view text) {
  std::vector<std::string_view> cells;
  while (!text.empty()) {
    const size_t n = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    cells.push_back(n == 0 ? "?" : c < 0x20 || c == 0x7F ? " " : text.substr(0, n));
    text.remove_prefix(std::max<size_t>(n, 1));
  }
  return cells;
}

// The part of a line that is shown: about kShown columns around the caret.
constexpr size_t kShown = 150;

void append_source_line(std::string& out, const SourceText& source, Span at, const Style& style) {
  const SourceText::Place p = source.place(at.begin);
  const std::string_view text = source.line(p.line);
  const size_t start = std::min(text.size(), static_cast<size_t>(source.text().data() + at.begin - text.data()));
  // Bytes first, so that a line of many megabytes is not decoded.
  size_t from = start > 4 * kShown ? start - 4 * kShown : 0;
  while (from < start && continues(text[from])) ++from;
  size_t to = std::min(text.size(), start + 4 * kShown);
  while (to < text.size() && continues(text[to])) ++to;
  const std::vector<std::string_view> cells = columns(text.substr(from, to - from));
  const size_t caret = columns(text.substr(from, start - from)).size();
  const size_t marked = columns(text.substr(start, std::min<size_t>(to - start, at.end - at.begin))).size();

  size_t first = 0;
  if (from > 0 || cells.size() > kShown) first = caret > kShown / 2 ? caret - kShown / 2 : 0;
  const size_t last = std::min(cells.size(), first + kShown);
  const bool cut_left = first > 0 || from > 0, cut_right = last < cells.size() || to < text.size();

  const std::string number = std::to_string(p.line);
  out += "  " + number + " | ";
  if (cut_left) out += "...";
  for (size_t i = first; i < last; ++i) out += cells[i];
  if (cut_right) out += "...";
  out += "\n  " + std::string(number.size(), ' ') + " | " + std::string((cut_left ? 3 : 0) + caret - first, ' ');
  out += style.green;
  out += "^" + std::string(std::max<size_t>(1, std::min(marked, std::max(last, caret + 1) - caret)) - 1, '~');
  out += style.reset;
  out += '\n';
}

void append(std::string& out, const Diagnostic& d, const SourceText& source, const Style& style) {
  const bool error = d.severity == Severity::kError;
  const std::string place = place_text(source, d.at);
  out += style.bold;
  if (!place.empty()) out += place + ": ";
  out += style.reset;
  out += error ? style.red : style.magenta;
  out += std::string(error ? "error[" : "warning[") + d.word + "]:";
  out += style.reset;
  out += " " + d.text + "\n";
  if (d.at.known()) append_source_line(out, source, d.at, style);
  for (const Note& n : d.notes) out += "  note: " + (n.at.known() ? place_text(source, n.at) + ": " : "") + n.text + "\n";
}

}  // namespace

std::string render(const Diagnostics& diagnostics, const SourceText& source, bool colour, bool errors_only) {
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& d : diagnostics.all())
    if (!errors_only || d.severity == Severity::kError) sorted.push_back(&d);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) { return a->at.begin < b->at.begin; });
  std::string out;
  for (const Diagnostic* d : sorted) append(out, *d, source, colour ? kColour : kPlain);
  const size_t errors = diagnostics.error_count();
  if (errors > Diagnostics::kMaxErrors)
    out += std::to_string(errors) + " errors were found; the first " + std::to_string(Diagnostics::kMaxErrors) + " are shown\n";
  return out;
}

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Damerau-Levenshtein with adjacent transpositions (optimal string alignment), letter case ignored.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr size_t kLongest = 200;  // nobody mistypes more than that, and the distance is quadratic
  if (word.size() > kLongest) return "";
  std::string_view best;
  // A third of the letters may be wrong; of one or two letters none, else every short name would be near.
  size_t limit = word.size() < 3 ? 0 : std::max<size_t>(1, word.size() / 3);
  bool found = false;
  for (std::string_view c : candidates) {
    const size_t difference = c.size() > word.size() ? c.size() - word.size() : word.size() - c.size();
    if (difference > limit) continue;
    const size_t distance = edit_distance(word, c);
    if (distance > limit || (found && distance == limit)) continue;
    best = c;
    limit = distance;
    found = true;
  }
  return std::string(best);
}

}  // namespace fusec
