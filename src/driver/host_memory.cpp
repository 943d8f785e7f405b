#include "driver/host_memory.h"

#include <algorithm>
#include <cstdio>

#include "support/diag.h"
#include "support/memory.h"

namespace fusec {

namespace {

int64_t bytes_of_value(const Value& value) {
  int64_t bytes = bytes_of(value.dtype);
  for (const Size& s : value.shape)
    if (s.is(0)) return 0;
  for (const Size& s : value.shape)
    if (__builtin_mul_overflow(bytes, s.value(), &bytes)) return INT64_MAX;
  return bytes;
}

int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace

int64_t input_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Input& input : graph.inputs) bytes = saturating_sum(bytes, bytes_of_value(graph[input.value]));
  return bytes;
}

int64_t peak_value_bytes(const Graph& graph) {
  // Values die after their last reader, or live to the end as outputs.
  IdVec<ValueId, size_t> last(graph.values.size(), 0);
  for (size_t i = 0; i < graph.ops.size(); ++i)
    for (const Operand& operand : graph[OpId(i)].in)
      if (operand.is_value()) last[operand.value] = i;
  for (const Output& output : graph.outputs) last[output.value] = graph.ops.size();
  std::vector<int64_t> freed(graph.ops.size() + 1, 0);
  int64_t alive = 0, peak = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (const ValueId v : graph[OpId(i)].out) {
      if (!v.valid()) continue;
      const int64_t bytes = bytes_of_value(graph[v]);
      alive = saturating_sum(alive, bytes);
      int64_t& later = freed[std::max(i, last[v])];
      later = saturating_sum(later, bytes);
    }
    peak = std::max(peak, alive);
    if (alive != INT64_MAX) alive -= freed[i];
  }
  return peak;
}

void require_host_memory(int64_t bytes, const char* what) {
  const int64_t have = host_memory_bytes();
  if (bytes <= have) return;
  char text[160];
  std::snprintf(text, sizeof text, "%s need %.1f GB of memory at once, and this machine has %.1f GB; use smaller sizes (--dim)", what,
                static_cast<double>(bytes) * 1e-9, static_cast<double>(have) * 1e-9);
  throw Failure(Exit::kRefused, text);
}

}  // namespace fusec
