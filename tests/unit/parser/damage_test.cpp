// Damaged graph files: whatever the bytes are, reading ends with a graph or with errors that can be printed.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "catch.h"
#include "graph/print.h"
#include "parser/read_graph.h"
#include "parser/write_graph.h"
#include "unit/parser/samples.h"

using namespace fusec;

namespace {

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  std::string apply(std::string text) {
    for (size_t n = 1 + pick(3); n > 0 && !text.empty(); --n) once(text);
    return text;
  }

 private:
  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  // Byte ranges of JSON tokens, so that damage reaches behind the syntax.
  static std::vector<std::pair<size_t, size_t>> tokens(const std::string& text) {
    std::vector<std::pair<size_t, size_t>> found;
    for (size_t i = 0; i < text.size();) {
      size_t end = i + 1;
      if (text[i] == '"') end = std::min(text.find('"', i + 1), text.size() - 1) + 1;
      else if (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '-')
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '.' || text[end] == '-')) ++end;
      else if (std::isspace(static_cast<unsigned char>(text[i])) || std::string("{}[],:").find(text[i]) != std::string::npos) {
        ++i;
        continue;
      }
      found.emplace_back(i, end);
      i = end;
    }
    return found;
  }

  void once(std::string& text) {
    static const std::vector<std::string> kWords = {"0",
                                                    "-1",
                                                    "1",
                                                    "2",
                                                    "9",
                                                    "-9",
                                                    "64",
                                                    "1.5",
                                                    "-0.0",
                                                    "1e300",
                                                    "9223372036854775807",
                                                    "4611686018427387904",
                                                    "18446744073709551615",
                                                    "99999999999999999999",
                                                    "true",
                                                    "null",
                                                    "[]",
                                                    "{}",
                                                    "[0]",
                                                    "\"\"",
                                                    "\"x\"",
                                                    "\"nan\"",
                                                    "\"inf\"",
                                                    "\"B*S\"",
                                                    "\"S*S*S*S*S\"",
                                                    "\"N\"",
                                                    "\"f8e4m3\"",
                                                    "\"bool\"",
                                                    "\"i64\"",
                                                    "\"f64\"",
                                                    "[[[1]]]",
                                                    "[2, 3]",
                                                    "[-1, -1]",
                                                    "[0, 0]"};
    const size_t at = pick(text.size());
    switch (pick(8)) {
      case 0:
        text[at] = static_cast<char>(pick(256));
        return;
      case 1:
        text.erase(at, 1 + pick(8));
        return;
      case 2:
        text.insert(at, text.substr(pick(text.size()), pick(40)));
        return;
      case 3:
        text.resize(at);
        return;
      default:
        break;
    }
    const auto all = tokens(text);
    if (all.size() < 2) return;
    const auto [begin, end] = all[pick(all.size())];
    const auto [from, to] = all[pick(all.size())];
    text.replace(begin, end - begin, pick(2) ? kWords[pick(kWords.size())] : text.substr(from, to - from));
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("damaged graphs end in errors or in graphs that can be written and read", "[parser][damage]") {
  // FUSEC_DAMAGE_ROUNDS for a longer search.
  const char* rounds = std::getenv("FUSEC_DAMAGE_ROUNDS");
  const uint64_t n = rounds ? std::strtoull(rounds, nullptr, 10) : 3000;
  size_t good = 0;
  for (uint64_t seed = 0; seed < n; ++seed) {
    const SourceText source("damaged.fusion.json", Damage(seed).apply(samples::kAll[seed % samples::kAll.size()]));
    INFO("seed " << seed << "\n" << source.text());
    Diagnostics diagnostics;
    std::optional<Graph> graph;
    REQUIRE_NOTHROW(graph = read_graph(source, {}, diagnostics));
    REQUIRE(graph.has_value() == !diagnostics.has_errors());
    for (const Diagnostic& d : diagnostics.all()) REQUIRE(d.at.begin <= source.text().size());
    REQUIRE((render(diagnostics, source, false).empty() == diagnostics.all().empty()));
    if (!graph) continue;
    ++good;
    REQUIRE_FALSE(print(*graph).empty());
    REQUIRE_FALSE(print_dot(*graph).empty());
    const SourceText written("written.fusion.json", write_graph(*graph));
    INFO(written.text());
    Diagnostics again;
    const auto back = read_graph(written, {}, again);
    INFO(render(again, written, false));
    REQUIRE(back);
    REQUIRE(write_graph(*back) == written.text());
  }
  // Damage that nothing survives, or everything, would test nothing.
  CHECK(good > n / 100);
  CHECK(good < n / 2);
}
