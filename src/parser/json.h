// JSON text → a tree of values that know their place. Strict JSON: what the format forbids (duplicate keys, comments, NaN, integers
// that would lose digits) is an error with its own message.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diag.h"
#include "support/text.h"

namespace fusec {

enum class JsonKind : uint8_t {
  kNull,
  kBool,
  kInteger,     // fits int64_t
  kUnsigned,    // above int64_t, fits uint64_t
  kBigInteger,  // fits neither: only its digits are kept
  kNumber,      // written with a fraction or an exponent
  kString,
  kArray,
  kObject,
};

class JsonDocument;

// A handle into a document; as cheap as a pointer.
class JsonValue {
 public:
  JsonKind kind() const;
  Span span() const;              // strings: with their quotes; arrays and objects: with their brackets
  std::string_view text() const;  // as written
  bool is(JsonKind k) const { return kind() == k; }

  bool boolean() const;               // kBool
  int64_t integer() const;            // kInteger
  uint64_t unsigned_integer() const;  // kInteger ≥ 0, kUnsigned
  double number() const;              // any number but kBigInteger
  std::string_view string() const;    // kString, escapes resolved

  // Elements of an array; of an object its keys and values in turn.
  class Iterator {
   public:
    Iterator(const JsonDocument* document, uint32_t index) : document_(document), index_(index) {}
    JsonValue operator*() const { return JsonValue(document_, index_); }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const JsonDocument* document_;
    uint32_t index_;
  };
  Iterator begin() const;
  Iterator end() const;
  size_t size() const;  // elements of an array, members of an object
  // The value under a key of an object.
  std::optional<JsonValue> find(std::string_view key) const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, uint32_t index) : document_(document), index_(index) {}
  const JsonDocument* document_;
  uint32_t index_;
};

// Owns the nodes; refers to the text it was read from, which must outlive it.
class JsonDocument {
 public:
  static constexpr int kMaxDepth = 64;
  static constexpr size_t kMaxValues = 24'000'000;

  // Nothing when the text is no JSON: then `diagnostics` has one syntax error. Duplicate keys are reported and the tree is kept.
  static std::optional<JsonDocument> parse(std::string_view text, Diagnostics& diagnostics);
  JsonValue root() const { return JsonValue(this, 0); }

 private:
  friend class JsonValue;
  friend class JsonBuilder;
  // In the order of the text; `next` is the node after this one's subtree.
  struct Node {
    JsonKind kind = JsonKind::kNull;
    Span span;
    uint32_t next = 0;
    union {
      bool boolean;
      int64_t integer;
      uint64_t unsigned_integer;
      double number;
      const std::string* decoded;  // strings with escapes; null: the text between the quotes
    } as{};
  };
  std::string_view text_;
  std::vector<Node> nodes_;
  std::deque<std::string> decoded_;
};

// "a value of this kind" in messages: "an integer", "a string".
std::string_view describe(JsonKind kind);

}  // namespace fusec
