// Every file of tests/errors is read, and everything fusec says about it is compared with the .txt beside it. FUSEC_BLESS=1 writes those.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "catch.h"
#include "lower/gate.h"
#include "parser/read_graph.h"

using namespace fusec;
namespace fs = std::filesystem;

namespace {

const fs::path kRoot = FUSEC_SOURCE_DIR;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> files(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().string().ends_with(ending)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string stem(const fs::path& path) { return path.filename().string().substr(0, path.filename().string().find('.')); }

Diagnostics diagnose(const fs::path& path, const SourceText& source) {
  // "--dim NAME=SIZE", or "lower" for what the gate before lowering says.
  const std::string args = content(path.parent_path() / (stem(path) + ".args"));
  ReadOptions options;
  if (const size_t at = args.find("--dim "); at != std::string::npos) {
    const size_t equals = args.find('=');
    options.dims[args.substr(at + 6, equals - at - 6)] = std::stoll(args.substr(equals + 1));
  }
  Diagnostics diagnostics;
  const auto graph = read_graph(source, options, diagnostics);
  CHECK(graph.has_value() == !diagnostics.has_errors());
  if (graph && args.find("lower") != std::string::npos) check_lowerable(*graph, diagnostics);
  if (graph && args.find("--deterministic") != std::string::npos) check_deterministic(*graph, diagnostics);
  return diagnostics;
}

// The words in a source file: the first text of lower case and dashes behind each call that reports.
void collect_words(const std::string& text, std::set<std::string>& words) {
  auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (const std::string call : {"error(", "warning(", "require_equal(", "require_at_most("}) {
    for (size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
      if (at > 0 && is_name(text[at - 1])) continue;
      const std::string rest = text.substr(at, text.find(';', at) - at);
      for (size_t begin = rest.find('"'); begin != std::string::npos;) {
        const size_t end = rest.find('"', begin + 1);
        if (end == std::string::npos) break;
        const std::string word = rest.substr(begin + 1, end - begin - 1);
        if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos) {
          words.insert(word);
          break;
        }
        begin = rest.find('"', end + 1);
      }
    }
  }
}

}  // namespace

TEST_CASE("the message of every error case", "[errors]") {
  const bool bless = std::getenv("FUSEC_BLESS") != nullptr;
  const auto cases = files(kRoot / "tests/errors", ".fusion.json");
  REQUIRE(cases.size() > 50);
  for (const fs::path& path : cases) {
    INFO(path);
    const SourceText source(path.filename().string(), content(path));
    const Diagnostics diagnostics = diagnose(path, source);
    const std::string text = render(diagnostics, source, false);
    const fs::path expected = path.parent_path() / (stem(path) + ".txt");
    if (bless) std::ofstream(expected, std::ios::binary) << text;
    CHECK(content(expected) == text);
  }
}

TEST_CASE("every diagnostic word of the sources has a case that shows it", "[errors]") {
  std::set<std::string> used, shown;
  for (const char* folder : {"src/parser", "src/graph", "src/lower"})
    for (const std::string ending : {".cpp", ".h"})
      for (const fs::path& path : files(kRoot / folder, ending)) collect_words(content(path), used);
  REQUIRE(used.size() > 50);
  for (const fs::path& path : files(kRoot / "tests/errors", ".fusion.json")) {
    const SourceText source(path.filename().string(), content(path));
    bool own = false;
    const Diagnostics diagnostics = diagnose(path, source);
    for (const Diagnostic& d : diagnostics.all()) {
      shown.insert(d.word);
      own |= d.word == stem(path);
    }
    INFO(path);
    CHECK((own || !used.contains(stem(path))));  // a case called after a word shows that word
  }
  for (const std::string& word : used) {
    INFO("no case in tests/errors shows the word " << word);
    CHECK(shown.contains(word));
  }
}
