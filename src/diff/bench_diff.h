// Two results of `fusec run --bench --json`: which graphs became slower, told from the spread and not from two medians.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fusec {

// One graph in one file; several runs of it are taken together.
struct BenchRecord {
  std::string graph, device;
  double median = 0, q1 = 0, q3 = 0, min = 0, n = 0;  // µs, samples
  std::optional<double> limit_gbps;                   // a plain copy's rate in the same process
  std::vector<double> samples;                        // µs; empty where the file has none
};

// One object, several one after the other, or a list. `path` is for messages. Failure(kBadInput) for anything else, for the error of a
// failed run, and for a file without any result.
std::vector<BenchRecord> read_bench(const std::string& text, const std::string& path);

struct BenchVerdict {
  enum Word : uint8_t { kSame, kFast, kSlow, kUnsure, kOnlyOld, kOnlyNew } word = kSame;
  std::string graph;
  std::optional<BenchRecord> before, after;
  double change = 0, error = 0;  // of the medians, and how far it can be off; relative
  std::string why;
};
const char* word_of(BenchVerdict::Word word);

// `threshold`: a relative change below it is none. In the order of the old file, then what only the new one has.
std::vector<BenchVerdict> diff_bench(const std::vector<BenchRecord>& before, const std::vector<BenchRecord>& after, double threshold);

std::string bench_diff_text(const std::vector<BenchVerdict>& verdicts);
std::string bench_diff_json(const std::vector<BenchVerdict>& verdicts, double threshold);

}  // namespace fusec
