#include "support/diag.h"

#include "catch.h"

using namespace fusec;

TEST_CASE("places are lines and columns of code points") {
  const SourceText text("f", "ab\r\nc\xC3\xA9x\n\tz");
  CHECK(text.place(0).line == 1);
  CHECK(text.place(4).column == 1);
  CHECK(text.place(7).line == 2);
  CHECK(text.place(7).column == 3);  // x, after a two-byte character
  CHECK(text.place(10).line == 3);
  CHECK(text.place(10).column == 2);
  CHECK(text.place(1000).line == 3);
  CHECK(text.line(1) == "ab");
  CHECK(text.line(3) == "\tz");
  CHECK(text.line(4).empty());
  CHECK(SourceText("f", "\xEF\xBB\xBF{").place(3).column == 1);
}

TEST_CASE("a message is place, rule, source line with caret, notes") {
  const SourceText source("g.json", "{\n\t\"add\": [1]\n}\n");
  Diagnostics diagnostics;
  diagnostics.error("shape-mismatch", {3, 8}, "no").notes.push_back({{0, 1}, "it starts here"});
  CHECK(render(diagnostics, source, false) ==
        "g.json:2:2: error[shape-mismatch]: no\n"
        "  2 |  \"add\": [1]\n"
        "    |  ^~~~~\n"
        "  note: g.json:1:1: it starts here\n");
}

TEST_CASE("errors alone leave warnings out") {
  Diagnostics diagnostics;
  diagnostics.warning("unused-op", {0, 1}, "no output needs it");
  CHECK(render(diagnostics, SourceText("f", "x"), false, true).empty());
  diagnostics.error("w", {0, 1}, "t");
  CHECK(render(diagnostics, SourceText("f", "x"), false, true).starts_with("f:1:1: error[w]: t\n"));
  CHECK(render(diagnostics, SourceText("f", "x"), false).find("warning[unused-op]") != std::string::npos);
}

TEST_CASE("long and malformed lines are shown in part") {
  const std::string text = std::string(100000, 'a') + "\xFF" + std::string(100000, 'b');
  Diagnostics diagnostics;
  diagnostics.error("w", {100000, 150000}, "t");
  const std::string out = render(diagnostics, SourceText("f", text), false);
  CHECK(out.size() < 500);
  CHECK(out.find("aaa?bbb") != std::string::npos);
  const size_t caret = out.find('^'), line = out.rfind('\n', caret);
  const size_t mark = out.find('?'), shown = out.rfind('\n', mark);
  CHECK(caret - line == mark - shown);
}

TEST_CASE("messages come in the order of the text, and the rest is counted") {
  Diagnostics diagnostics;
  for (int i = 25; i > 0; --i) diagnostics.error("w", {static_cast<uint32_t>(i), static_cast<uint32_t>(i + 1)}, std::to_string(i));
  CHECK(diagnostics.error_count() == 25);
  CHECK(diagnostics.all().size() == 20);
  const std::string out = render(diagnostics, SourceText("f", std::string(30, 'x')), false);
  CHECK(out.starts_with("f:1:7: error[w]: 6\n"));
  CHECK(out.ends_with("25 errors were found; the first 20 are shown\n"));
}

TEST_CASE("the nearest candidate") {
  CHECK(nearest("sigmod", {"exp", "sigmoid"}) == "sigmoid");
  CHECK(nearest("bf61", {"f16", "bf16"}) == "bf16");
  CHECK(nearest("SEQ", {"B", "SEQL"}) == "SEQL");
  CHECK(nearest("Sum", {"sum"}) == "sum");
  CHECK(nearest("y", {"x"}).empty());
  CHECK(nearest("gaussian", {"normal"}).empty());
}
