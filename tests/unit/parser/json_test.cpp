#include "parser/json.h"

#include <limits>

#include "catch.h"

using namespace fusec;

namespace {

struct Parsed {
  std::string text;
  Diagnostics diagnostics;
  std::optional<JsonDocument> document;
  explicit Parsed(std::string t) : text(std::move(t)), document(JsonDocument::parse(text, diagnostics)) {}
  JsonValue root() const { return document->root(); }
};

// The only error of a text: "line:column word", and its message behind it.
std::string fault(const std::string& text) {
  const Parsed p(text);
  if (p.diagnostics.all().size() != 1 || p.document) return "not one syntax error";
  const Diagnostic& d = p.diagnostics.all()[0];
  const SourceText source("t", text);
  const auto place = source.place(d.at.begin);
  return std::to_string(place.line) + ":" + std::to_string(place.column) + " " + d.text;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every JSON value knows the bytes it was written in", "[json]") {
  const Parsed p(" { \"a\" : [ 1 ,-2.5e1, \"x\\u00e9\\\"y\" ] ,\"b\":{},\n\"c\":null , \"d\":[true,false]}\n");
  REQUIRE(p.document);
  const JsonValue root = p.root();
  CHECK(root.is(JsonKind::kObject));
  CHECK(root.text() == p.text.substr(1, p.text.size() - 2));
  CHECK(root.size() == 4);
  const JsonValue a = *root.find("a");
  CHECK(a.text() == "[ 1 ,-2.5e1, \"x\\u00e9\\\"y\" ]");
  std::vector<std::string> elements;
  for (JsonValue v : a) elements.emplace_back(v.text());
  CHECK(elements == std::vector<std::string>{"1", "-2.5e1", "\"x\\u00e9\\\"y\""});
  auto i = a.begin();
  CHECK((*i).integer() == 1);
  CHECK((*++i).number() == -25);
  CHECK((*++i).string() == "x\xC3\xA9\"y");
  CHECK(root.find("b")->text() == "{}");
  CHECK(root.find("c")->is(JsonKind::kNull));
  CHECK(root.find("d")->text() == "[true,false]");
  CHECK((*root.find("d")->begin()).boolean());
  CHECK_FALSE(root.find("e"));
}

TEST_CASE("integers keep their digits and never become floats", "[json]") {
  const Parsed p("[9223372036854775807, -9223372036854775808, 18446744073709551615, 18446744073709551616, -9223372036854775809, 1.0, 1e2]");
  REQUIRE(p.document);
  std::vector<JsonValue> v;
  for (JsonValue e : p.root()) v.push_back(e);
  CHECK(v[0].integer() == INT64_MAX);
  CHECK(v[1].integer() == INT64_MIN);
  CHECK(v[2].unsigned_integer() == UINT64_MAX);
  CHECK(v[3].is(JsonKind::kBigInteger));
  CHECK(v[3].text() == "18446744073709551616");
  CHECK(v[4].is(JsonKind::kBigInteger));
  CHECK(v[5].is(JsonKind::kNumber));
  CHECK(v[6].number() == 100);
}

TEST_CASE("a byte order mark is skipped", "[json]") {
  const Parsed p("\xEF\xBB\xBF[1]");
  REQUIRE(p.document);
  CHECK(p.root().span() == Span{3, 6});
}

TEST_CASE("duplicate keys are named, also among many, and the tree is kept", "[json]") {
  const Parsed p(R"({"a": {"b": 1, "c": 2, "b": 3}})");
  REQUIRE(p.document);
  REQUIRE(p.diagnostics.error_count() == 1);
  const Diagnostic& d = p.diagnostics.all()[0];
  CHECK(d.word == "duplicate-key");
  CHECK(contains(d.text, "'b'"));
  CHECK(d.at == Span{23, 26});
  REQUIRE(d.notes.size() == 1);
  CHECK(d.notes[0].at == Span{7, 10});

  std::string many = "{";
  for (int i = 0; i < 50; ++i) many += "\"k" + std::to_string(i) + "\": 0, ";
  const Parsed q(many + "\"k7\": 1}");  // and escapes do not hide one
  CHECK(q.diagnostics.error_count() == 1);
  CHECK(Parsed(R"({"a": 1, "\u0061": 2})").diagnostics.error_count() == 1);
}

TEST_CASE("nesting is limited", "[json]") {
  CHECK(Parsed(std::string(JsonDocument::kMaxDepth, '[') + std::string(JsonDocument::kMaxDepth, ']')).document);
  const Parsed deep(std::string(100000, '['));
  REQUIRE(deep.diagnostics.error_count() == 1);
  CHECK(deep.diagnostics.all()[0].word == "json-limit");
  CHECK(deep.diagnostics.all()[0].at.begin == JsonDocument::kMaxDepth);
}

TEST_CASE("syntax errors stand at the token to blame", "[json]") {
  struct Case {
    const char *text, *place, *message;
  };
  const Case cases[] = {
      {"", "1:1", "empty"},
      {"  \n", "1:1", "empty"},
      {"[1,\n 2", "2:3", "',' or ']'"},
      {"{\"a\": 1", "1:8", "',' or '}'"},
      {"{\"a\"", "1:5", "':'"},
      {"{\"a\":", "1:5", "a value"},
      {"[1 2]", "1:4", "expected ',' or ']'"},
      {"[\"a\" \"b\"]", "1:6", "expected ',' or ']'"},
      {"{\"a\" 1}", "1:6", "':' after the key"},
      {"{\"a\": 1 \"b\": 2}", "1:9", "',' or '}'"},
      {"[1,]", "1:3", "trailing comma"},
      {"{\"a\": 1, }", "1:8", "trailing comma"},
      {"[1,,2]", "1:4", "expected a value"},
      {"[,1]", "1:2", "expected a value or ']'"},
      {"{\"a\": [1}", "1:9", "',' or ']'"},
      {"[1]]", "1:4", "text after the end"},
      {"[1] x", "1:5", "text after the end"},
      {"{a: 1}", "1:2", "double quotes"},
      {"['a']", "1:2", "double quotes"},
      {"[NaN]", "1:2", "\"nan\""},
      {"[-Infinity]", "1:2", "\"-inf\""},
      {"[True]", "1:2", "write true"},
      {"[None]", "1:2", "write null"},
      {"[01]", "1:2", "'01' is no JSON number"},
      {"[1.]", "1:2", "'1.' is no JSON number"},
      {"[+1]", "1:2", "'+1' is no JSON number"},
      {"[1e999]", "1:2", "beyond the range"},
      {"[1, // one\n2]", "1:5", "comments"},
      {"[1, # one\n2]", "1:5", "comments"},
      {"/* x */ [1]", "1:1", "comments"},
      {"[\"abc", "1:2", "ends inside this string"},
      {"[\"ab\nc\"]", "1:2", "not closed on its line"},
      {"[\"a\tb\"]", "1:4", "control character"},
      {"[\"a\\qb\"]", "1:4", "no such escape"},
      {"[\"\\u12g4\"]", "1:3", "four hexadecimal digits"},
      {"[\"\\ud800\"]", "1:3", "surrogate"},
      {"[\"\\udc00\"]", "1:3", "surrogate"},
      {"[\"a\xff\"]", "1:4", "invalid UTF-8"},
      {"[\"\xC0\xAF\"]", "1:3", "invalid UTF-8"},
      {"[\"\xED\xA0\x80\"]", "1:3", "invalid UTF-8"},
      {"[\xff]", "1:2", "invalid UTF-8"},
      {"[1.2.3]", "1:2", "'1.2.3' is no JSON number"},
      {"{\"a\": 0x10}", "1:7", "'0x10' is no JSON number"},
      {"[1-2]", "1:2", "'1-2' is no JSON number"},
      {"[truely]", "1:2", "'truely' is no JSON"},
      {"[@]", "1:2", "not '@'"},
  };
  for (const Case& c : cases) {
    const std::string got = fault(c.text);
    INFO(c.text << "\n" << got);
    CHECK(got.rfind(std::string(c.place) + " ", 0) == 0);
    CHECK(contains(got, c.message));
  }
  // A NUL byte is no end of the text.
  CHECK(contains(fault(std::string("[1]\0[2]", 7)), "text after the end"));
  CHECK(contains(fault(std::string("[1,\0]", 5)), "expected a value"));
}

TEST_CASE("texts and numbers are spelled so that they read back", "[json]") {
  CHECK(json_quote("a\"b\\c\n\x01\xC3\xA9") == "\"a\\\"b\\\\c\\n\\u0001\xC3\xA9\"");
  CHECK(json_quote("\xff") == "\"\xEF\xBF\xBD\"");
  CHECK(json_number(1) == "1.0");
  CHECK(json_number(-0.0) == "-0.0");
  CHECK(json_number(1e-5) == "1e-05");
  CHECK(json_number(0.1) == "0.1");
  CHECK(json_number(std::numeric_limits<double>::infinity()) == "\"inf\"");
  CHECK(json_number(std::numeric_limits<double>::quiet_NaN()) == "\"nan\"");
  CHECK(quoted(std::string(200, 'x')).size() == 85);
  CHECK(quoted("a\nb") == "'a\\nb'");
}
