// Loops over index ranges on all cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace fusec {

// Calls work(begin, end) for ranges that cover [0, n) and begin at multiples of `grain`, at the same time where it pays. What is
// computed must not depend on the cut. The first exception is passed on.
template <class Work>
void in_parallel(int64_t n, int64_t grain, const Work& work) {
  const int64_t grains = (n + grain - 1) / grain, cores = std::max(1u, std::thread::hardware_concurrency());
  const int64_t threads = std::min(cores, grains / 4);
  if (threads <= 1) {
    if (n > 0) work(int64_t{0}, n);
    return;
  }
  std::exception_ptr failure;
  std::mutex failure_mutex;
  std::vector<std::thread> running;
  for (int64_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      try {
        const int64_t begin = grains * t / threads * grain, end = std::min(n, grains * (t + 1) / threads * grain);
        if (begin < end) work(begin, end);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(failure_mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  for (std::thread& thread : running) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace fusec
