// The command table as plain data, and what is generated from it: completions for shells and manual pages.
#pragma once

#include <string>
#include <vector>

namespace fusec {

struct OptionPage {
  std::vector<std::string> names;  // "--json", "-o"; of an argument its type alone
  std::string type;                // "GRAPH", "DIR", …; "" for flags
  std::string help, group;
  bool repeated = false;
  bool takes_value() const { return !type.empty(); }
};

struct CommandPage {
  std::string name, what;
  std::string footer;  // examples and exit codes, as --help prints them
  std::vector<OptionPage> arguments, options;
};

struct CommandPages {
  std::string what, footer;
  std::vector<OptionPage> globals;
  std::vector<CommandPage> commands;
};

// A script for "bash", "zsh" or "fish".
std::string completions(const CommandPages& pages, const std::string& shell);
// In roff: fusec(1) for "", fusec-NAME(1) for a command.
std::string manual_page(const CommandPages& pages, const std::string& command);

// The words that a value of this type may be, where they are known; each is accepted by its option.
std::vector<std::string> words_of_type(const std::string& type);
// How a value is completed: by words, file names, folder names, or not at all. FUSEC_CHECKs that the type is in the table.
enum class Completion { kWords, kFiles, kFolders, kNothing };
Completion completion_of(const std::string& type);

}  // namespace fusec
