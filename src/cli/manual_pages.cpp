#include <sstream>

#include "cli/command_pages.h"
#include "support/check.h"
#include "support/version.h"

namespace fusec {

namespace {

// Text of a line in roff: no escapes, no requests, and "-" as one types it.
std::string roff(const std::string& text) {
  std::string safe;
  for (char c : text) {
    if (c == '\\') safe += "\\e";
    else if (c == '-') safe += "\\-";
    else safe += c;
  }
  if (!safe.empty() && (safe[0] == '.' || safe[0] == '\'')) safe.insert(0, "\\&");
  return safe;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string head(const std::string& name, const std::string& what) {
  std::string title;
  for (char c : name) title += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return ".TH " + roff(title) + " 1 \"\" \"fusec " + kVersion + "\" \"fusec\"\n.SH NAME\n" + roff(name) + " \\- " + roff(what) + "\n";
}

std::string option_text(const OptionPage& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
  if (option.takes_value() && !option.names.empty()) names += " " + italic(option.type);
  if (option.names.empty()) names = italic(option.type);
  const bool says_repeated = option.repeated && !option.names.empty() && option.help.find("may be repeated") == std::string::npos;
  return ".TP\n" + names + "\n" + roff(option.help) + (says_repeated ? " (may be repeated)" : "") + "\n";
}

std::string options_text(const std::string& heading, const std::vector<OptionPage>& options) {
  std::string text = options.empty() ? "" : ".SH " + heading + "\n", group;
  for (const OptionPage& option : options) {
    if (option.group != group && !option.group.empty()) text += ".SS " + roff(option.group) + "\n";
    group = option.group;
    text += option_text(option);
  }
  return text;
}

// The examples of --help, as they stand.
std::string footer_text(const std::string& footer) {
  std::istringstream lines(footer);
  std::string line, text;
  while (std::getline(lines, line)) {
    const size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos) continue;
    line = line.substr(start);
    if (line == "Examples:" || line.starts_with("Exit")) continue;  // (a section of its own)
    if (const size_t example = line.find("Example: "); example != std::string::npos) line = line.substr(example + 9);
    text += roff(line) + "\n";
  }
  return text.empty() ? "" : ".SH EXAMPLES\n.nf\n" + text + ".fi\n";
}

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\ndone\n"
    ".TP\n1\nthe answer is no: diff found what it was to fail on, bench-diff a slower graph, \\-\\-verify a difference, check \\-\\-strict "
    "a warning\n"
    ".TP\n2\nbad usage or bad input\n"
    ".TP\n3\nno usable GPU, driver or NVRTC\n"
    ".TP\n4\nthe GPU or its compiler refused what fusec generated, or an index was out of range at run time\n"
    ".TP\n70\na bug in fusec: it says so and writes a reproducer\n";

constexpr const char* kEnvironment =
    ".SH ENVIRONMENT\n"
    ".TP\n.B NO_COLOR\nno colour on stderr, when set to anything\n"
    ".TP\n.B FUSEC_CACHE_DIR\nfolder of the compile cache; else a folder below XDG_CACHE_HOME or HOME\n"
    ".TP\n.B CUDA_PATH\nwhere the CUDA toolkit lies: NVRTC and its headers\n"
    ".TP\n.B FUSEC_NO_REPRODUCER\nno folder about a bug in fusec, when set\n";

std::string overview(const CommandPages& pages) {
  std::string text = head("fusec", pages.what) + ".SH SYNOPSIS\n.B fusec\n[" + italic("OPTION") + "]... " + italic("COMMAND") + " [" +
                     italic("ARGUMENT") + "]...\n.SH COMMANDS\n";
  for (const CommandPage& command : pages.commands) text += ".TP\n" + bold("fusec-" + command.name) + "(1)\n" + roff(command.what) + "\n";
  text += options_text("OPTIONS", pages.globals) + footer_text(pages.footer) + kExitStatus + kEnvironment + ".SH SEE ALSO\n";
  std::string list;
  for (const CommandPage& command : pages.commands) list += (list.empty() ? "" : ",\n") + bold("fusec-" + command.name) + "(1)";
  return text + list + "\n";
}

}  // namespace

std::string manual_page(const CommandPages& pages, const std::string& name) {
  if (name.empty()) return overview(pages);
  for (const CommandPage& command : pages.commands) {
    if (command.name != name) continue;
    std::string text = head("fusec-" + name, command.what) + ".SH SYNOPSIS\n" + bold("fusec " + name) + " [" + italic("OPTION") + "]...";
    for (const OptionPage& argument : command.arguments) text += " [" + italic(argument.type) + "]" + (argument.repeated ? "..." : "");
    text += "\n.SH DESCRIPTION\n" + roff(command.what) + ".\n" + options_text("ARGUMENTS", command.arguments) +
            options_text("OPTIONS", command.options) + options_text("OPTIONS OF EVERY COMMAND", pages.globals) +
            footer_text(command.footer) + kExitStatus + ".SH SEE ALSO\n" + bold("fusec") + "(1)\n";
    return text;
  }
  FUSEC_CHECK(false, "no manual page of " + name);
  return "";
}

}  // namespace fusec
