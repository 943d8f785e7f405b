#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "driver/reduce.h"
#include "support/files.h"
#include "support/text.h"

namespace fusec {

namespace {

// A folder for the graphs that are tried.
struct Scratch {
  std::string folder;
  Scratch() {
    folder = (std::filesystem::temp_directory_path() / "fusec-reduce-XXXXXX").string();
    if (!::mkdtemp(folder.data())) fail_on("make folder", folder, errno);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
};

// The command with every {} replaced by the path, which is added when there is none.
std::string with_path(std::string command, const std::string& path) {
  const std::string quoted_path = "'" + path + "'";
  bool found = false;
  for (size_t at = command.find("{}"); at != std::string::npos; at = command.find("{}", at + quoted_path.size())) {
    command.replace(at, 2, quoted_path);
    found = true;
  }
  return found ? command : command + " " + quoted_path;
}

constexpr int kTimedOut = -1;

// Runs a shell command without input or output. Its exit code, 128 + the signal that ended it, or kTimedOut.
int run_shell(const std::string& command, int64_t timeout_s) {
  const pid_t child = ::fork();
  if (child < 0) throw Failure(Exit::kRefused, std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    ::setpgid(0, 0);
    const int null = ::open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
    std::signal(SIGPIPE, SIG_DFL);
    std::signal(SIGXFSZ, SIG_DFL);
    ::setenv("FUSEC_NO_REPRODUCER", "1", 1);  // else each try that ends in our bug leaves a folder
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s);
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (ended < 0 && errno != EINTR) throw Failure(Exit::kRefused, std::string("cannot wait for a process: ") + std::strerror(errno));
    if (std::chrono::steady_clock::now() > end) {
      ::kill(-child, SIGKILL);  // with whatever it started
      ::waitpid(child, &status, 0);
      return kTimedOut;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string end_text(int code) { return code == kTimedOut ? "runs out of time" : "exits with " + std::to_string(code); }

std::string stem_of(const std::string& path) {
  std::string name = path == "-" ? "stdin" : std::filesystem::path(path).filename().string();
  for (const std::string ending : {".json", ".fusion"})
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

}  // namespace

int run_reduce(const ReduceCommand& command) {
  if (command.check.empty())
    throw Failure(Exit::kBadInput,
                  "'fusec reduce' needs --check COMMAND, which fails on a bad graph, as in --check 'fusec run {} --verify'");
  const SourceText source = read_source(command.graph);
  const std::string out = command.out.empty() ? stem_of(command.graph) + ".reduced.fusion.json" : command.out;
  const Scratch scratch;
  // By its name, so that a graph without one keeps it.
  const std::string path = scratch.folder + "/" + stem_of(command.graph) + ".fusion.json";
  const std::string shell = with_path(command.check, path);
  auto run = [&](const std::string& text) {
    write_file(path, text);
    return run_shell(shell, command.timeout_s);
  };
  const int wanted = run(source.text());
  if (wanted == 0)
    throw Failure(Exit::kBadInput, "the command succeeds on the whole graph, so there is nothing to reduce: " + escaped(command.check));
  if (wanted == 126 || wanted == 127) throw Failure(Exit::kBadInput, "the command cannot be run: " + escaped(command.check));

  ReduceOptions options;
  options.max_tries = static_cast<size_t>(command.max_tries);
  std::optional<Progress> progress(std::in_place, command.console);
  size_t tries = 0;
  options.keep = [&](const std::string& text) { write_file(out, text); };
  const Reduction reduced = reduce_graph(
      source.text(),
      [&](const std::string& text) {
        progress->say("reducing " + source.name() + ": try " + std::to_string(++tries));
        return run(text) == wanted;
      },
      options);
  write_file(out, reduced.text);
  progress.reset();
  if (command.json)
    print_result("{\"graph\": " + json_quote(source.name()) + ", \"out\": " + json_quote(out) + ", \"exit\": " + std::to_string(wanted) +
                 ", \"ops_before\": " + std::to_string(reduced.ops_before) + ", \"ops\": " + std::to_string(reduced.ops_after) +
                 ", \"tries\": " + std::to_string(reduced.tries) + "}\n");
  else if (!command.console.quiet)
    print_result(out + ": " + std::to_string(reduced.ops_after) + " of " + std::to_string(reduced.ops_before) + " ops, after " +
                 std::to_string(reduced.tries) + " tries; the command still " + end_text(wanted) + "\n");
  return static_cast<int>(Exit::kDone);
}

}  // namespace fusec
