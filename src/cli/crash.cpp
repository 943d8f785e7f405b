#include "cli/crash.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/console.h"

namespace fusec {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

int arguments = 0;
char** argument_list = nullptr;
alignas(16) char alternate_stack[size_t{256} << 10];  // the usual one may be used up

void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void on_crash(int signal) {
  say("error: this is a bug in fusec, not in your graph: ");
  say(signal == SIGFPE ? "a division by zero" : signal == SIGABRT ? "it aborted" : "a bad address or instruction");
  say("\n");
  // What follows is not safe in a handler, but there is nothing to lose: a second signal, or the alarm, ends it.
  ::alarm(5);
  const std::string folder = write_reproducer(arguments, argument_list, "signal " + std::to_string(signal));
  if (!folder.empty()) say(("  note: a reproducer is in " + folder + "; please attach it to a report\n").c_str());
  ::_exit(static_cast<int>(Exit::kBug));
}

}  // namespace

void report_crashes(int argc, char** argv) {
  if (kSanitized) return;
  arguments = argc;
  argument_list = argv;
  stack_t stack{};
  stack.ss_sp = alternate_stack;
  stack.ss_size = sizeof alternate_stack;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

}  // namespace fusec
