#include "parser/op_order.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace fusec {

void OpOrder::add_edge(uint32_t producer, uint32_t user) {
  users_[producer].push_back(user);
  ++waits_for_[user];
}

const std::vector<uint32_t>& OpOrder::sorted() {
  if (done_) return sorted_;
  done_ = true;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < users_.size(); ++i)
    if (waits_for_[i] == 0) ready.push(i);
  while (!ready.empty()) {
    const uint32_t op = ready.top();
    ready.pop();
    sorted_.push_back(op);
    for (uint32_t user : users_[op])
      if (--waits_for_[user] == 0) ready.push(user);
  }
  return sorted_;
}

std::vector<std::vector<uint32_t>> OpOrder::cycles() {
  if (sorted().size() == users_.size()) return {};
  // Each op that is left waits for at least one other that is left; following the first of them must come round.
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> producer(users_.size(), kNone);
  for (uint32_t i = 0; i < users_.size(); ++i)
    if (waits_for_[i] > 0)
      for (uint32_t user : users_[i])
        if (waits_for_[user] > 0 && producer[user] == kNone) producer[user] = i;
  std::vector<std::vector<uint32_t>> cycles;
  std::vector<uint32_t> walk(users_.size(), kNone);  // the walk that saw an op first
  for (uint32_t start = 0; start < users_.size(); ++start) {
    if (waits_for_[start] == 0) continue;
    uint32_t at = start;
    while (walk[at] == kNone) {
      walk[at] = start;
      at = producer[at];
    }
    if (walk[at] != start) continue;
    std::vector<uint32_t>& cycle = cycles.emplace_back();
    for (uint32_t op = at; cycle.empty() || op != at; op = producer[op]) cycle.push_back(op);
    // Begun at the file's first op, whichever way it was entered.
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  }
  return cycles;
}

}  // namespace fusec
