#include "cli/console.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/diagnostics_json.h"
#include "support/files.h"
#include "support/publish.h"
#include "support/version.h"

namespace fusec {

namespace {

constexpr size_t kMaxGraphBytes = size_t{256} << 20;

// What came from stdin cannot be read again for a reproducer.
std::string& remembered_stdin() {
  static std::string text;
  return text;
}

bool printed = false, output_failed = false;
int output_errno = 0;

}  // namespace

SourceText read_source(const std::string& path) {
  std::string text = read_file(path, kMaxGraphBytes);
  if (path == "-") remembered_stdin() = text;
  return SourceText(path == "-" ? "<stdin>" : path, std::move(text));
}

void report(const Diagnostics& diagnostics, const SourceText& source, const Console& console) {
  const std::string text = render(diagnostics, source, console.colour, console.quiet);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void report_failure(const std::string& text, bool colour) {
  std::fprintf(stderr, colour ? "\033[1;31merror:\033[0m %s\n" : "error: %s\n", text.c_str());
}

int refuse_graph(const Diagnostics& diagnostics, const SourceText& source, bool json) {
  if (json) print_result(diagnostics_json(source, diagnostics) + "\n");
  return static_cast<int>(Exit::kBadInput);
}

bool anything_printed() { return printed; }

void print_result(const std::string& text) {
  printed |= !text.empty();
  if (output_failed) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    output_failed = true;
    output_errno = errno;
  }
}

void finish_output() {
  if (!output_failed && std::fflush(stdout) != 0) {
    output_failed = true;
    output_errno = errno;
  }
  if (output_failed && output_errno != EPIPE)
    throw Failure(Exit::kBadInput, std::string("cannot write to stdout: ") + std::strerror(output_errno));
}

std::string write_reproducer(int argc, char** argv, const std::string& message) try {
  if (std::getenv("FUSEC_NO_REPRODUCER")) return "";
  namespace fs = std::filesystem;
  std::string command;
  NamedFiles files;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    command += (i == 0 ? "" : " ") + (word.find_first_of(" '\"$") == std::string::npos && !word.empty() ? word : "'" + word + "'");
    std::error_code ignored;
    if (i > 0 && fs::is_regular_file(word, ignored) && word.ends_with(".json"))
      files.emplace_back(fs::path(word).filename().string(), read_file(word, kMaxGraphBytes));
  }
  if (!remembered_stdin().empty()) files.emplace_back("stdin.fusion.json", remembered_stdin());
  files.emplace_back("command.txt", command + "\n");
  files.emplace_back("message.txt", std::string("fusec ") + kVersion + "\n" + message + "\n");
  for (const fs::path& parent : {fs::current_path(), fs::temp_directory_path()}) {
    for (int n = 1; n < 1000; ++n) {
      const fs::path folder = parent / ("fusec-bug-" + std::to_string(n));
      std::error_code error;
      if (!fs::create_directory(folder, error)) {
        if (error) break;  // not writable: the next parent
        continue;          // taken
      }
      publish_files(folder.string(), files);
      return folder.string();
    }
  }
  return "";
} catch (const std::exception&) {
  return "";  // the bug itself has been reported; a full disk must not hide it
}

}  // namespace fusec
