// The parts of reading a graph and what they share. Order: dims, inputs, ops, outputs.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "parser/json.h"
#include "parser/read_graph.h"

namespace fusec {

// One name of a value, from where it is defined.
struct Definition {
  static constexpr uint32_t kInput = UINT32_MAX;
  std::string_view name;
  Span at;
  uint32_t op = kInput;  // position in the file's list of ops
  ValueId value;         // once its dtype and shape are known
  bool failed = false;   // an error was reported: what depends on it stays silent
};

// One name of `dims`. Without a size an error about it was reported.
struct SizeName {
  std::string_view name;
  Span at;
  std::optional<Size> size;
  bool used = false;
};

struct Reading {
  Diagnostics& diagnostics;
  const ReadOptions& options;
  Graph graph;

  std::vector<SizeName> sizes;
  std::unordered_map<std::string_view, uint32_t> size_by_name;  // into `sizes`
  std::vector<Definition> definitions;
  std::unordered_map<std::string_view, uint32_t> by_name;  // into `definitions`
  // A definition whose name could not be read: names that seem undefined may be meant by it and are not reported.
  bool names_are_missing = false;
  bool sizes_are_missing = false;  // the same for the names of sizes

  // So many errors that looking for more helps nobody (and takes long in a large file).
  bool hopeless() const { return diagnostics.error_count() >= 1000; }
  Diagnostic& error(const char* word, Span at, std::string text) { return diagnostics.error(word, at, std::move(text)); }
};

// How messages call a value of the file: "'shape' of input 'x'". Views only, since most values need no message.
struct What {
  std::string_view key, owner, name;
  bool element = false;  // "an element of …"
  std::string text() const;
};
inline std::string operator+(const What& what, const std::string& text) { return what.text() + text; }
inline What element_of(What what) {
  what.element = true;
  return what;
}

// --- read_fields.cpp: single values, with messages ------------------------------------------------------------------------------

// Reports keys that are not in `known` and those in `required` that are missing; false when one is missing.
bool check_keys(Reading& r, JsonValue object, const What& what, const std::vector<std::string_view>& known,
                const std::vector<std::string_view>& required);
bool expect(Reading& r, JsonValue v, JsonKind kind, const What& what);
std::optional<int64_t> read_integer(Reading& r, JsonValue v, const What& what);
std::optional<double> read_number(Reading& r, JsonValue v, const What& what);
std::optional<bool> read_bool(Reading& r, JsonValue v, const What& what);
std::optional<DType> read_dtype(Reading& r, JsonValue v, const What& what);
std::optional<std::vector<int64_t>> read_integers(Reading& r, JsonValue v, const What& what);
// A number, true, false, "inf", "-inf" or "nan".
std::optional<Literal> read_literal(Reading& r, JsonValue v, const What& what);
// Whether a string is one of the three literals rather than a name.
std::optional<double> literal_of_word(std::string_view word);
// The literal as a value of `dtype`.
std::optional<Literal> fit_literal(Reading& r, const Literal& literal, DType dtype, Span at, const What& what);
bool check_value_name(Reading& r, JsonValue v, const What& what);
bool is_identifier(std::string_view name);
// "; did you mean 'x'?" or "". Only while errors are still shown: it looks at every candidate.
std::string did_you_mean(const Reading& r, std::string_view word, const std::vector<std::string_view>& candidates);

// --- read_sizes.cpp -----------------------------------------------------------------------------------------------------------

void read_dims(Reading& r, std::optional<JsonValue> dims);
// An integer, a name from dims, or a product such as "B*S".
std::optional<Size> read_size(Reading& r, JsonValue v, const What& what, int64_t least = 0);
std::optional<std::vector<Size>> read_sizes(Reading& r, JsonValue v, const What& what, int64_t least = 0);
// Rank ≤ 8, and the tensor's bytes fit 63 bits (`dtype` known or not).
std::optional<Shape> read_shape(Reading& r, JsonValue v, const What& what, std::optional<DType> dtype, int64_t least = 0);

// --- the lists of a graph -----------------------------------------------------------------------------------------------------

// Adds a definition; reports a second one of the same name and returns nothing.
std::optional<uint32_t> define(Reading& r, std::string_view name, Span at, uint32_t op);
void read_inputs(Reading& r, JsonValue inputs);    // read_inputs.cpp
void read_ops(Reading& r, JsonValue ops);          // read_ops.cpp
void read_outputs(Reading& r, JsonValue outputs);  // read_outputs.cpp
// The definition of a name that `user` reads; reports an undefined one (but see names_are_missing).
std::optional<uint32_t> find_value(Reading& r, std::string_view name, Span at, const What& user);

// --- read_attrs.cpp -----------------------------------------------------------------------------------------------------------

struct ReadAttrs {
  Attrs attrs;
  std::optional<DType> dtype;   // of cast, bitcast and creation ops: the result's
  OpKind kind = OpKind::kCopy;  // gelu's `approximate` chooses between two kinds
  bool ok = true;               // nothing was reported
};
// The attributes of an op object: every member but op, in, out and note. `at` is the place of the op's name.
ReadAttrs read_attributes(Reading& r, OpKind kind, JsonValue op, Span at);
// Whether ops of a kind carry an Attrs (a dtype alone is the result's).
bool has_attributes(OpKind kind);

// --- read_warnings.cpp --------------------------------------------------------------------------------------------------------

void warn_unused(Reading& r);

}  // namespace fusec
