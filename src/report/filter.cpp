#include "report/filter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

extern char** environ;

namespace fusec {

namespace {

struct Pipe {
  int read = -1, write = -1;
  enum Kind { kPipe, kSocket };
  // Writing to a socket that nobody reads any more is an error, not a signal.
  explicit Pipe(Kind kind) {
    int ends[2];
    const bool made = kind == kPipe ? ::pipe2(ends, O_CLOEXEC) == 0 : ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
    if (made) read = ends[0], write = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { close_read(), close_write(); }
  void close_read() {
    if (read >= 0) ::close(read);
    read = -1;
  }
  void close_write() {
    if (write >= 0) ::close(write);
    write = -1;
  }
};

pid_t start(const std::vector<std::string>& command, const Pipe& in, const Pipe& out) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : -1;
}

// Writes and reads as far as the program takes and gives. False when the time is over.
bool converse(Pipe& in, Pipe& out, const std::string& input, std::string& output, std::chrono::steady_clock::time_point end) {
  size_t written = 0;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd both[2] = {{out.read, POLLIN, 0}, {in.write, POLLOUT, 0}};  // (a closed one is -1, which poll leaves out)
    if (::poll(both, 2, static_cast<int>(left)) < 0 && errno != EINTR) return false;
    if (both[1].revents != 0) {
      const ssize_t n = ::send(in.write, input.data() + written, input.size() - written, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) written += static_cast<size_t>(n);
      if (written == input.size() || (n < 0 && errno != EAGAIN && errno != EINTR)) in.close_write();
    }
    if (both[0].revents != 0) {
      char block[1 << 16];
      const ssize_t n = ::read(out.read, block, sizeof block);
      if (n == 0) return true;
      if (n > 0) output.append(block, static_cast<size_t>(n));
      else if (errno != EINTR) return false;
    }
  }
}

}  // namespace

std::optional<std::string> run_filter(const std::vector<std::string>& command, const std::string& input, int64_t timeout_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  Pipe in(Pipe::kSocket), out(Pipe::kPipe);
  if (in.read < 0 || out.read < 0) return std::nullopt;
  const pid_t child = start(command, in, out);
  if (child < 0) return std::nullopt;
  in.close_read();
  out.close_write();
  std::string output;
  const bool finished = converse(in, out, input, output, end);
  if (!finished) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!finished || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return output;
}

}  // namespace fusec
