#include "parser/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parser/json_syntax.h"
#include "support/check.h"

namespace fusec {

namespace {

// The length of the JSON number at the start of a text, which is known to begin with one.
size_t number_length(std::string_view text) {
  size_t i = 0;
  auto digits = [&] {
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
  };
  auto skip = [&](std::string_view any) {
    const bool found = i < text.size() && any.find(text[i]) != std::string_view::npos;
    i += found;
    return found;
  };
  skip("-");
  if (!skip("0")) digits();
  if (skip(".")) digits();
  if (skip("eE")) {
    skip("+-");
    digits();
  }
  return i;
}

}  // namespace

// Follows nlohmann's events, which carry no places: between two tokens there is only white space and at most one separator, so the
// next token begins where those end.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonBuilder(JsonDocument& document, std::string_view text, Diagnostics& diagnostics)
      : document_(document), diagnostics_(diagnostics), at_{text, 0, JsonPosition::kStart, {}} {}

  bool parse() {
    const std::string_view text = at_.text;
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (text.starts_with(kMark)) at_.cursor = kMark.size();
    if (text.substr(at_.cursor).starts_with(kMark)) return syntax_error();  // nlohmann would skip it, and places be off by it
    if (!nlohmann::json::sax_parse(text.data() + at_.cursor, text.data() + text.size(), this)) return false;
    // nlohmann takes a NUL byte for the end.
    if (at_.token_begin() == text.size()) return true;
    return syntax_error();
  }

  bool null() override { return literal(JsonKind::kNull, 4); }
  bool boolean(bool v) override {
    if (!literal(JsonKind::kBool, v ? 4 : 5)) return false;
    document_.nodes_.back().as.boolean = v;
    return true;
  }
  bool number_integer(number_integer_t v) override {
    if (!number(JsonKind::kInteger)) return false;
    document_.nodes_.back().as.integer = v;
    return true;
  }
  bool number_unsigned(number_unsigned_t v) override {
    if (!number(v > INT64_MAX ? JsonKind::kUnsigned : JsonKind::kInteger)) return false;
    document_.nodes_.back().as.unsigned_integer = v;  // the same bits as the integer
    return true;
  }
  bool number_float(number_float_t v, const string_t&) override {
    if (!number(JsonKind::kNumber)) return false;
    JsonDocument::Node& node = document_.nodes_.back();
    // An integer beyond 64 bits arrives here rounded.
    if (written(node.span).find_first_of(".eE") == std::string_view::npos) node.kind = JsonKind::kBigInteger;
    node.as.number = v;
    return true;
  }
  bool string(string_t& v) override { return text_node(v, JsonPosition::kValue); }
  bool key(string_t& v) override { return text_node(v, JsonPosition::kKey); }
  bool binary(binary_t&) override { return false; }  // never in text

  bool start_object(size_t) override { return open(JsonKind::kObject); }
  bool end_object() override {
    report_duplicate_keys(open_.back());
    return close();
  }
  bool start_array(size_t) override { return open(JsonKind::kArray); }
  bool end_array() override { return close(); }

  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& e) override {
    // Out of range: a number beyond any double. Integers of hundreds of digits arrive here as well.
    number_overflow_ = e.id == 406;
    return syntax_error();
  }

 private:
  std::string_view written(Span s) const { return at_.text.substr(s.begin, s.end - s.begin); }

  bool syntax_error() {
    if (!failed_) report_syntax_error(at_, number_overflow_, diagnostics_);
    failed_ = true;
    return false;
  }

  bool limit_error(size_t begin, std::string text) {
    diagnostics_.error("json-limit", {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + 1)}, std::move(text));
    failed_ = true;
    return false;
  }

  // Appends a node for the token at [begin, begin + length) and moves behind it.
  bool add(JsonKind kind, size_t begin, size_t length, JsonPosition::Last last) {
    if (document_.nodes_.size() >= JsonDocument::kMaxValues)
      return limit_error(begin, "the file has more than " + std::to_string(JsonDocument::kMaxValues) + " JSON values");
    JsonDocument::Node node;
    node.kind = kind;
    node.span = {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + length)};
    node.next = static_cast<uint32_t>(document_.nodes_.size() + 1);
    document_.nodes_.push_back(node);
    at_.cursor = begin + length;
    at_.last = last;
    return true;
  }

  bool literal(JsonKind kind, size_t length) { return add(kind, at_.token_begin(), length, JsonPosition::kValue); }

  bool number(JsonKind kind) {
    const size_t begin = at_.token_begin();
    return add(kind, begin, number_length(at_.text.substr(begin)), JsonPosition::kValue);
  }

  bool text_node(string_t& decoded, JsonPosition::Last last) {
    const size_t begin = at_.token_begin();
    size_t end = begin + 1;
    bool escapes = false;
    while (at_.text[end] != '"') {
      const bool escape = at_.text[end] == '\\';
      escapes |= escape;
      end += escape ? 2 : 1;
    }
    if (!add(JsonKind::kString, begin, end + 1 - begin, last)) return false;
    document_.nodes_.back().as.decoded = escapes ? &document_.decoded_.emplace_back(std::move(decoded)) : nullptr;
    return true;
  }

  bool open(JsonKind kind) {
    const size_t begin = at_.token_begin();
    if (open_.size() >= JsonDocument::kMaxDepth)
      return limit_error(begin, "brackets are nested more than " + std::to_string(JsonDocument::kMaxDepth) + " deep");
    if (!add(kind, begin, 1, JsonPosition::kOpen)) return false;
    open_.push_back(static_cast<uint32_t>(document_.nodes_.size() - 1));
    at_.brackets.push_back(at_.text[begin]);
    return true;
  }

  bool close() {
    const size_t begin = at_.token_begin();
    JsonDocument::Node& node = document_.nodes_[open_.back()];
    node.span.end = static_cast<uint32_t>(begin + 1);
    node.next = static_cast<uint32_t>(document_.nodes_.size());
    open_.pop_back();
    at_.brackets.pop_back();
    at_.cursor = begin + 1;
    at_.last = JsonPosition::kValue;
    return true;
  }

  void report_duplicate_keys(uint32_t object) {
    keys_.clear();
    for (uint32_t i = object + 1; i < document_.nodes_.size(); i = document_.nodes_[i + 1].next) keys_.push_back(i);
    auto name = [&](uint32_t i) { return key_text(i); };
    if (keys_.size() > 16) std::stable_sort(keys_.begin(), keys_.end(), [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
    for (size_t i = 1; i < keys_.size(); ++i) {
      if (diagnostics_.error_count() > Diagnostics::kMaxErrors) return;
      // Sorted, equal keys are neighbours; few are compared pairwise.
      for (size_t j = keys_.size() > 16 ? i - 1 : 0; j < i; ++j) {
        if (name(keys_[i]) != name(keys_[j])) continue;
        diagnostics_.error("duplicate-key", document_.nodes_[keys_[i]].span, "the key " + quoted(name(keys_[i])) + " is given twice")
            .notes.push_back({document_.nodes_[keys_[j]].span, "first here"});
        break;
      }
    }
  }

  std::string_view key_text(uint32_t i) const {
    const JsonDocument::Node& n = document_.nodes_[i];
    return n.as.decoded ? std::string_view(*n.as.decoded) : written({n.span.begin + 1, n.span.end - 1});
  }

  JsonDocument& document_;
  Diagnostics& diagnostics_;
  JsonPosition at_;
  std::vector<uint32_t> open_, keys_;
  bool number_overflow_ = false, failed_ = false;
};

std::optional<JsonDocument> JsonDocument::parse(std::string_view text, Diagnostics& diagnostics) {
  JsonDocument document;
  document.text_ = text;
  document.nodes_.reserve(std::min(text.size() / 8, kMaxValues));
  JsonBuilder builder(document, text, diagnostics);
  if (!builder.parse()) return std::nullopt;
  return document;
}

JsonKind JsonValue::kind() const { return document_->nodes_[index_].kind; }
Span JsonValue::span() const { return document_->nodes_[index_].span; }

std::string_view JsonValue::text() const {
  const Span s = span();
  return document_->text_.substr(s.begin, s.end - s.begin);
}

bool JsonValue::boolean() const {
  FUSEC_CHECK(is(JsonKind::kBool));
  return document_->nodes_[index_].as.boolean;
}

int64_t JsonValue::integer() const {
  FUSEC_CHECK(is(JsonKind::kInteger));
  return document_->nodes_[index_].as.integer;
}

uint64_t JsonValue::unsigned_integer() const {
  FUSEC_CHECK(is(JsonKind::kUnsigned) || (is(JsonKind::kInteger) && integer() >= 0));
  return document_->nodes_[index_].as.unsigned_integer;
}

double JsonValue::number() const {
  if (is(JsonKind::kInteger)) return static_cast<double>(integer());
  if (is(JsonKind::kUnsigned)) return static_cast<double>(unsigned_integer());
  FUSEC_CHECK(is(JsonKind::kNumber));
  return document_->nodes_[index_].as.number;
}

std::string_view JsonValue::string() const {
  FUSEC_CHECK(is(JsonKind::kString));
  const JsonDocument::Node& n = document_->nodes_[index_];
  return n.as.decoded ? std::string_view(*n.as.decoded) : text().substr(1, n.span.end - n.span.begin - 2);
}

JsonValue::Iterator& JsonValue::Iterator::operator++() {
  index_ = document_->nodes_[index_].next;
  return *this;
}

JsonValue::Iterator JsonValue::begin() const { return Iterator(document_, index_ + 1); }
JsonValue::Iterator JsonValue::end() const { return Iterator(document_, document_->nodes_[index_].next); }

size_t JsonValue::size() const {
  size_t n = 0;
  for (Iterator i = begin(); !(i == end()); ++i) ++n;
  return is(JsonKind::kObject) ? n / 2 : n;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  FUSEC_CHECK(is(JsonKind::kObject));
  for (Iterator i = begin(); !(i == end()); ++i) {
    const bool found = (*i).string() == key;
    ++i;
    if (found) return *i;
  }
  return std::nullopt;
}

std::string_view describe(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBool:
      return "true or false";
    case JsonKind::kInteger:
    case JsonKind::kUnsigned:
    case JsonKind::kBigInteger:
      return "an integer";
    case JsonKind::kNumber:
      return "a number with a fraction or exponent";
    case JsonKind::kString:
      return "a string";
    case JsonKind::kArray:
      return "a list";
    case JsonKind::kObject:
      return "an object";
  }
  return "";
}

}  // namespace fusec
