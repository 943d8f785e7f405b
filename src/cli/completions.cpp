#include <algorithm>

#include "cli/command_pages.h"
#include "driver/compile.h"
#include "graph/ops.h"
#include "support/check.h"

namespace fusec {

namespace {

// One row a type of value; an option of a type that is not here cannot be completed, and the test says so.
struct TypeRow {
  std::string_view type;
  Completion how;
  std::string_view words;
};
constexpr TypeRow kTypes[] = {
    {"GRAPH", Completion::kFiles, ""},
    {"FILE", Completion::kFiles, ""},
    {"DIR", Completion::kFolders, ""},
    {"VALUE", Completion::kNothing, ""},
    {"MERGE", Completion::kNothing, ""},
    {"NAME=SIZE", Completion::kNothing, ""},
    {"N", Completion::kNothing, ""},
    {"SECONDS", Completion::kNothing, ""},
    {"COMMAND", Completion::kNothing, ""},
    {"PCT", Completion::kNothing, ""},
    {"A B", Completion::kFiles, ""},
    {"OLD NEW", Completion::kFiles, ""},
    {"sm_NN", Completion::kWords, "sm_70 sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a sm_100 sm_120"},
    {"KINDS", Completion::kWords, "cu ptx cubin report"},
    {"FORMATS", Completion::kWords, "md html none"},
    {"BY", Completion::kWords, "dot layers"},
    {"DEVICE", Completion::kWords, "gpu cpu"},
    {"HOW", Completion::kWords, "auto direct warp shared cached replicas lists sort"},
    {"SECTION", Completion::kWords, "graph segments cost"},
    {"RULES", Completion::kWords, "graph segments edge-bytes launches wide-edges time"},
    {"LEVEL", Completion::kWords, "debug info warning error off"},
    {"WHEN", Completion::kWords, "auto always never"},
    {"SHELL", Completion::kWords, "bash zsh fish"},
    {"PAGE", Completion::kNothing, ""},
    {"PASS", Completion::kWords, ""},  // the stages
    {"OP", Completion::kWords, ""},    // the ops
};

std::vector<std::string> split(std::string_view words) {
  std::vector<std::string> list;
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find(' ', begin), words.size());
    list.emplace_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

const TypeRow& row_of(const std::string& type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row;
  FUSEC_CHECK(false, "no row for values of type " + type + " in completions.cpp");
  return kTypes[0];
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// In single quotes for sh, bash, zsh.
std::string sh_quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<OptionPage> options_of(const CommandPages& pages, const CommandPage& command) {
  std::vector<OptionPage> all = command.options;
  all.insert(all.end(), pages.globals.begin(), pages.globals.end());
  return all;
}

std::string first_sentence(const std::string& help) {
  const size_t end = std::min({help.find(';'), help.find(". "), help.find(" (default"), help.size()});
  const std::string text = help.substr(0, end);
  const size_t open = text.rfind(" (");
  return open != std::string::npos && text.find(')', open) == std::string::npos ? text.substr(0, open) : text;  // (cut inside it)
}

// --- bash ----------------------------------------------------------------------------------------------------------------

// `before`: the word before the one to be completed.
std::string bash_values(const std::vector<OptionPage>& options, const std::string& indent) {
  std::string text;
  for (const OptionPage& option : options) {
    if (!option.takes_value()) continue;
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : "|") + name;
    text += indent + names + ") ";
    switch (completion_of(option.type)) {
      case Completion::kWords:
        text += "_fusec_words " + sh_quoted(joined(words_of_type(option.type)));
        break;
      case Completion::kFiles:
        text += "_fusec_files";
        break;
      case Completion::kFolders:
        text += "_fusec_folders";
        break;
      case Completion::kNothing:
        text += "COMPREPLY=()";
        break;
    }
    text += "; return ;;\n";
  }
  return text;
}

std::string bash_arguments(const CommandPage& command) {
  if (command.arguments.empty()) return "COMPREPLY=()";
  const OptionPage& first = command.arguments[0];
  return completion_of(first.type) == Completion::kWords ? "_fusec_words " + sh_quoted(joined(words_of_type(first.type))) : "_fusec_files";
}

std::string option_words(const std::vector<OptionPage>& options) {
  std::vector<std::string> names;
  for (const OptionPage& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return joined(names);
}

std::string bash(const CommandPages& pages) {
  std::vector<std::string> names;
  for (const CommandPage& command : pages.commands) names.push_back(command.name);
  std::string text =
      "# Completion of fusec for bash, written by 'fusec completions bash'.\n"
      "# Of a list (--emit cu,ptx) the last word is completed.\n"
      "_fusec_words() {\n"
      "  local list=${word%\"${word##*,}\"}\n"
      "  COMPREPLY=($(compgen -P \"$list\" -W \"$1\" -- \"${word##*,}\"))\n"
      "}\n"
      "_fusec_files() { COMPREPLY=($(compgen -f -- \"$word\")); compopt -o filenames 2>/dev/null; }\n"
      "_fusec_folders() { COMPREPLY=($(compgen -d -- \"$word\")); compopt -o filenames 2>/dev/null; }\n"
      "_fusec() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
      "  COMPREPLY=()\n"
      "  # --option=value arrives as three words.\n"
      "  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \" " +
      joined(names) +
      " \" in *\" ${COMP_WORDS[i]} \"*) command=${COMP_WORDS[i]}; break ;; esac\n"
      "  done\n"
      "  case $command in\n";
  for (const CommandPage& command : pages.commands) {
    const std::vector<OptionPage> options = options_of(pages, command);
    text += "    " + command.name + ")\n      case $before in\n" + bash_values(options, "        ") +
            "      esac\n      if [[ $word == -* ]]; then _fusec_words " + sh_quoted(option_words(options)) + "; else " +
            bash_arguments(command) + "; fi ;;\n";
  }
  text += "    *)\n      case $before in\n" + bash_values(pages.globals, "        ") +
          "      esac\n      if [[ $word == -* ]]; then _fusec_words " + sh_quoted(option_words(pages.globals)) + "; else _fusec_words " +
          sh_quoted(joined(names)) +
          "; fi ;;\n"
          "  esac\n"
          "}\n"
          "complete -F _fusec fusec\n";
  return text;
}

// --- zsh -----------------------------------------------------------------------------------------------------------------

std::string zsh_action(const std::string& type) {
  switch (completion_of(type)) {
    case Completion::kWords:
      return ":" + type + ":_values -s , " + type + " " + joined(words_of_type(type));
    case Completion::kFiles:
      return ":" + type + ":_files";
    case Completion::kFolders:
      return ":" + type + ":_files -/";
    case Completion::kNothing:
      return ":" + type + ": ";
  }
  return "";
}

// Within [ … ] of an _arguments spec.
std::string zsh_help(const std::string& help) {
  std::string text;
  for (char c : first_sentence(help)) text += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return text;
}

std::string zsh_option(const OptionPage& option, const std::string& indent) {
  std::string text;
  for (const std::string& name : option.names) {
    const bool long_name = name.rfind("--", 0) == 0;
    std::string spec =
        (option.repeated ? "*" : "") + name + (option.takes_value() && long_name ? "=" : "") + "[" + zsh_help(option.help) + "]";
    if (option.takes_value()) spec += zsh_action(option.type);
    text += indent + sh_quoted(spec) + " \\\n";
  }
  return text;
}

std::string zsh(const CommandPages& pages) {
  std::string text =
      "#compdef fusec\n# Completion of fusec for zsh, written by 'fusec completions zsh'.\n_fusec() {\n  local context state state_descr "
      "line\n  typeset -A opt_args\n  local -a commands=(\n";
  for (const CommandPage& command : pages.commands) text += "    " + sh_quoted(command.name + ":" + zsh_help(command.what)) + "\n";
  text += "  )\n  _arguments -C \\\n";
  for (const OptionPage& option : pages.globals) text += zsh_option(option, "    ");
  text +=
      "    '1:command:->command' '*::argument:->argument'\n  case $state in\n    command) _describe command commands ;;\n    argument)\n   "
      "   case $words[1] in\n";
  for (const CommandPage& command : pages.commands) {
    text += "        " + command.name + ")\n          _arguments \\\n";
    for (const OptionPage& option : options_of(pages, command)) text += zsh_option(option, "            ");
    text += "            " + (command.arguments.empty() ? "''" : sh_quoted("*" + zsh_action(command.arguments[0].type))) + " ;;\n";
  }
  text += "      esac ;;\n  esac\n}\n[ \"$funcstack[1]\" = _fusec ] && _fusec \"$@\" || compdef _fusec fusec\n";
  return text;
}

// --- fish ----------------------------------------------------------------------------------------------------------------

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

std::string fish_line(const OptionPage& option, const std::string& condition) {
  std::string text = "complete -c fusec" + (condition.empty() ? "" : " -n " + fish_quoted(condition));
  for (const std::string& name : option.names) text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_value()) {
    switch (completion_of(option.type)) {
      case Completion::kWords:
        text += " -x -a " + fish_quoted(joined(words_of_type(option.type)));
        break;
      case Completion::kFiles:
        text += " -r -F";
        break;
      case Completion::kFolders:
        text += " -x -a '(__fish_complete_directories)'";
        break;
      case Completion::kNothing:
        text += " -x";
        break;
    }
  }
  return text + " -d " + fish_quoted(first_sentence(option.help)) + "\n";
}

std::string fish(const CommandPages& pages) {
  std::string text = "# Completion of fusec for fish, written by 'fusec completions fish'.\ncomplete -c fusec -f\n";
  for (const OptionPage& option : pages.globals) text += fish_line(option, "");
  for (const CommandPage& command : pages.commands)
    text += "complete -c fusec -n __fish_use_subcommand -a " + command.name + " -d " + fish_quoted(first_sentence(command.what)) + "\n";
  for (const CommandPage& command : pages.commands) {
    const std::string here = "__fish_seen_subcommand_from " + command.name;
    for (const OptionPage& option : command.options) text += fish_line(option, here);
    if (command.arguments.empty()) continue;
    const std::string& type = command.arguments[0].type;
    if (completion_of(type) == Completion::kWords)
      text += "complete -c fusec -n " + fish_quoted(here) + " -a " + fish_quoted(joined(words_of_type(type))) + "\n";
    else text += "complete -c fusec -n " + fish_quoted(here) + " -F\n";
  }
  return text;
}

}  // namespace

Completion completion_of(const std::string& type) { return row_of(type).how; }

std::vector<std::string> words_of_type(const std::string& type) {
  std::vector<std::string> words;
  if (type == "PASS") {
    for (const std::string_view stage : stage_names()) words.emplace_back(stage);
  } else if (type == "OP") {
    for (int k = 0; k < static_cast<int>(OpKind::kCount); ++k) words.emplace_back(name_of(static_cast<OpKind>(k)));
  } else {
    words = split(row_of(type).words);
  }
  return words;
}

std::string completions(const CommandPages& pages, const std::string& shell) {
  if (shell == "bash") return bash(pages);
  if (shell == "zsh") return zsh(pages);
  FUSEC_CHECK(shell == "fish", "completions for " + shell);
  return fish(pages);
}

}  // namespace fusec
