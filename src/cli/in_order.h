// Work on several threads whose results are used one after the other, in the order of their numbers.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace fusec {

// `work(i)` runs on up to `jobs` threads, no more than 2 · jobs results ahead; `use(i, result)` runs here. What either throws ends it,
// in order: results before it have been used.
template <class Work, class Use>
void in_order(size_t count, size_t jobs, Work work, Use use) {
  if (jobs <= 1 || count <= 1) {
    for (size_t i = 0; i < count; ++i) use(i, work(i));
    return;
  }
  using Result = decltype(work(size_t{0}));
  struct Slot {
    std::optional<Result> result;
    std::exception_ptr error;
  };
  std::vector<Slot> slots(count);
  std::mutex mutex;
  std::condition_variable changed;
  size_t next = 0, used = 0;
  bool stopped = false;
  auto run = [&] {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stopped || next == count || next < used + 2 * jobs; });
      if (stopped || next == count) return;
      const size_t i = next++;
      lock.unlock();
      Slot made;
      try {
        made.result.emplace(work(i));
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      slots[i] = std::move(made);
      changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  struct Joiner {
    std::vector<std::thread>& threads;
    std::mutex& mutex;
    std::condition_variable& changed;
    bool& stopped;
    ~Joiner() {
      {
        const std::lock_guard lock(mutex);
        stopped = true;
        changed.notify_all();
      }
      for (std::thread& thread : threads) thread.join();
    }
  } joiner{threads, mutex, changed, stopped};
  for (size_t n = 0; n < std::min(jobs, count); ++n) threads.emplace_back(run);
  for (size_t i = 0; i < count; ++i) {
    Slot slot;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return slots[i].result || slots[i].error; });
      slot = std::move(slots[i]);
      used = i + 1;
      changed.notify_all();
    }
    if (slot.error) std::rethrow_exception(slot.error);
    use(i, std::move(*slot.result));
  }
}

}  // namespace fusec
