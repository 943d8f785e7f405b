// What takes longer than a second says what it is at: one line on stderr, on a terminal only, gone when the work is done.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/commands.h"

namespace fusec {

class Progress {
 public:
  // Shows nothing when quiet, or where stderr is no terminal.
  explicit Progress(const Console& console, std::string text = "");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(std::string text);
  // Takes the line away, for what is printed next; it comes back with the next tick.
  void pause();

 private:
  void tick();

  bool shows_ = false, drawn_ = false, done_ = false;
  std::string text_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace fusec
