#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "support/text.h"

namespace fusec {

namespace {

constexpr auto kPatience = std::chrono::milliseconds(1000), kTick = std::chrono::milliseconds(200);
constexpr const char* kErase = "\r\033[K";

bool stderr_takes_lines() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && term && std::string_view(term) != "dumb";
}

// Cut to the terminal's width, so that it stays one line.
std::string fitted(std::string text) {
  winsize size{};
  const size_t columns = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
  size_t at = 0, letters = 0;
  while (at < text.size() && letters + 1 < columns) {
    const size_t length = utf8_length(std::string_view(text).substr(at));
    at += length ? length : 1;
    ++letters;
  }
  text.resize(std::min(at, text.size()));
  return text;
}

}  // namespace

Progress::Progress(const Console& console, std::string text) : text_(std::move(text)), start_(std::chrono::steady_clock::now()) {
  shows_ = !console.quiet && stderr_takes_lines();
  if (shows_) thread_ = std::thread([this] { tick(); });
}

Progress::~Progress() {
  if (!shows_) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    wake_.notify_all();
  }
  thread_.join();
  if (drawn_) std::fputs(kErase, stderr);
}

void Progress::say(std::string text) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

void Progress::pause() {
  const std::lock_guard lock(mutex_);
  if (drawn_) std::fputs(kErase, stderr);
  drawn_ = false;
}

void Progress::tick() {
  std::unique_lock lock(mutex_);
  for (auto next = start_ + kPatience; !done_; next += kTick) {
    if (wake_.wait_until(lock, next, [this] { return done_; })) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_).count();
    std::fputs((kErase + fitted(text_ + " (" + std::to_string(seconds) + " s)")).c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
  }
}

}  // namespace fusec
