#include "diff/bench_diff.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/console.h"

namespace fusec {

int run_bench_diff(const BenchDiffCommand& command) {
  const auto& files = command.files;
  if (files.size() != 2)
    throw Failure(Exit::kBadInput, "'fusec bench-diff' compares two results: " + std::to_string(files.size()) +
                                       (files.size() == 1 ? " was given" : " were given") + ". As in: fusec bench-diff old.json new.json");
  if (files[0] == "-" && files[1] == "-") throw Failure(Exit::kBadInput, "only one side can be read from stdin: '-' was given twice");
  const SourceText before = read_source(files[0]), after = read_source(files[1]);
  const double threshold = command.threshold / 100;
  const std::vector<BenchVerdict> verdicts =
      diff_bench(read_bench(before.text(), before.name()), read_bench(after.text(), after.name()), threshold);
  auto is = [](auto... words) { return [=](const BenchVerdict& v) { return ((v.word == words) || ...); }; };
  using V = BenchVerdict;
  const auto lone = std::count_if(verdicts.begin(), verdicts.end(), is(V::kOnlyOld, V::kOnlyNew));
  if (static_cast<size_t>(lone) == verdicts.size())
    throw Failure(Exit::kBadInput, before.name() + " and " + after.name() + " have no graph in common");
  if (command.json) print_result(bench_diff_json(verdicts, threshold));
  else if (!command.console.quiet) print_result(bench_diff_text(verdicts));

  if (std::any_of(verdicts.begin(), verdicts.end(), is(V::kSlow))) return static_cast<int>(Exit::kNo);
  const auto gone = std::find_if(verdicts.begin(), verdicts.end(), is(V::kOnlyOld));
  if (gone != verdicts.end() && !command.allow_missing)
    throw Failure(Exit::kBadInput, after.name() + " lacks '" + gone->graph + "', which " + before.name() +
                                       " has: a run that failed measures nothing (--allow-missing lets it pass)");
  return static_cast<int>(Exit::kDone);
}

}  // namespace fusec
