#include "driver/compile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>

#include "graph/print.h"
#include "graph/verify.h"
#include "lower/gate.h"
#include "support/check.h"

namespace fusec {

namespace {

// --- the passes ----------------------------------------------------------------------------------------------------------

// Optional ones are subject to --skip and --pass-limit.
enum class Needed : uint8_t { kAlways, kOptional, kWhenRelaxed, kWhenDeterministic };

struct Pass {
  std::string_view name;
  Graph (*run)(Graph, RewriteLog&);
  Needed needed;
  std::string_view after;  // a pass that has to stand earlier, or ""
};

constexpr Pass kPasses[] = {
    // From here on every op is primitive.
    {"expand_composites", expand_composites, Needed::kAlways, ""},
    {"remove_dead_ops", remove_dead_ops, Needed::kAlways, ""},
    // Before simplify, which removes the pairs of casts that this leaves.
    {"relax_casts", relax_casts, Needed::kWhenRelaxed, "expand_composites"},
    {"fold_constants", fold_constants, Needed::kOptional, "expand_composites"},
    {"simplify", simplify, Needed::kOptional, "fold_constants"},
    // After fold_constants, which shows what a scatter starts from. From here on no plain store and no sum shows an order of updates.
    {"make_deterministic", make_deterministic, Needed::kWhenDeterministic, "fold_constants"},
    // After simplify, whose copies it looks through, and make_deterministic, which its scatters do not need.
    {"invert_permutations", invert_permutations, Needed::kOptional, "make_deterministic"},
    // After the passes that make ops equal that were not; scatters by one index need the order of its positions once.
    {"share_equal_ops", share_equal_ops, Needed::kOptional, "simplify"},
    // From here on every op is needed by an output: the passes above leave the ones they replace.
    {"remove_dead_ops", remove_dead_ops, Needed::kAlways, "share_equal_ops"},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kPasses); ++i) {
    bool earlier = kPasses[i].after.empty();
    for (size_t j = 0; j < i; ++j) earlier = earlier || kPasses[j].name == kPasses[i].after;
    if (!earlier) return false;
  }
  return true;
}
static_assert(in_order(), "a pass stands before one that it has to follow");

// --- one run -------------------------------------------------------------------------------------------------------------

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string print(const Graph& graph, const Segmentation& segmentation) {
  std::string text;
  for (size_t i = 0; i < segmentation.segments.size(); ++i) {
    const Segment& segment = segmentation.segments[i];
    text += "segment " + std::to_string(i) + " (" + name_of(segment.kind) + "):";
    for (OpId op : segment.ops) text += " " + graph.name_of(op);
    for (OpId op : segment.recomputed) text += " +" + graph.name_of(op);
    text += "\n";
  }
  for (const CastGroup& group : segmentation.cast_groups) {
    text += "cast group in segment " + std::to_string(group.segment) + ":";
    for (OpId op : group.ops) text += " " + graph.name_of(op);
    text += (group.whole ? "" : "; cut: " + group.why) + "\n";
  }
  for (const Edge& edge : segmentation.edges) text += "edge " + graph[edge.value].name + ": " + edge.why + "\n";
  return text;
}

// Runs stages one after the other: times, dumps, and says when to stop.
class Stages {
 public:
  explicit Stages(const CompileOptions& options) : options_(options) {
    check("--skip", options.skip);
    check("--stop-after", options.stop_after.empty() ? std::vector<std::string>{} : std::vector<std::string>{options.stop_after});
    check("--dump-after", options.dump_after, "all");
    for (const std::string& name : options.skip)
      for (const std::string_view required : stage_names())
        if (name == required && !optional(name)) throw Failure(Exit::kBadInput, "--skip: '" + name + "' is not optional");
  }
  ~Stages() {
    if (options_.time_passes)
      for (const auto& [name, ms] : times_) std::fprintf(stderr, "%10.3f ms  %s\n", ms, std::string(name).c_str());
  }

  // `work` returns the stage's result as text, when asked. A failed check names the stage.
  template <class Work, class Text>
  double run(std::string_view name, Work work, Text text) {
    const auto start = Clock::now();
    try {
      work();
    } catch (const InternalError& error) {
      throw InternalError("in " + std::string(name) + ": " + error.what());
    }
    const double ms = ms_since(start);
    times_.emplace_back(name, ms);
    if (contains(options_.dump_after, name) || contains(options_.dump_after, "all"))
      std::fprintf(stderr, "// after %s\n%s\n", std::string(name).c_str(), text().c_str());
    return ms;
  }

  bool wanted(const Pass& pass) {
    if (pass.needed == Needed::kWhenRelaxed) return options_.relaxed_casts;
    if (pass.needed == Needed::kWhenDeterministic) return options_.lower.deterministic;
    if (pass.needed == Needed::kAlways) return true;
    if (contains(options_.skip, pass.name)) return false;
    return options_.pass_limit < 0 || optional_run_++ < options_.pass_limit;
  }
  bool stop_after(std::string_view name) const { return options_.stop_after == name; }
  // The row counts, as a pass may stand in the table twice: it stops after the last.
  bool stop_after_pass(size_t row) const {
    if (!stop_after(kPasses[row].name)) return false;
    for (size_t later = row + 1; later < std::size(kPasses); ++later)
      if (kPasses[later].name == kPasses[row].name) return false;
    return true;
  }

 private:
  static bool optional(std::string_view name) {
    return std::any_of(std::begin(kPasses), std::end(kPasses),
                       [&](const Pass& p) { return p.name == name && p.needed == Needed::kOptional; });
  }
  static void check(const std::string& option, const std::vector<std::string>& names, const std::string& also = "") {
    const std::vector<std::string_view> known = stage_names();
    for (const std::string& name : names) {
      if (name == also || std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string near = nearest(name, known);
      std::string list;
      for (std::string_view one : known) list += " " + std::string(one);
      throw Failure(Exit::kBadInput, option + ": no stage '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?") +
                                         " (the stages:" + list + ")");
    }
  }

  const CompileOptions& options_;
  std::vector<std::pair<std::string_view, double>> times_;
  int64_t optional_run_ = 0;
};

// Applies the pass table. False when --stop-after ended it.
bool rewrite(Stages& stages, Compilation& c) {
  for (size_t row = 0; row < std::size(kPasses); ++row) {
    const Pass& pass = kPasses[row];
    if (stages.wanted(pass))
      stages.run(
          pass.name,
          [&] {
            c.rewritten = pass.run(std::move(c.rewritten), c.log);
            verify(c.rewritten);
          },
          [&] { return print(c.rewritten); });
    if (stages.stop_after_pass(row)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string_view> stage_names() {
  std::vector<std::string_view> names = {"read"};
  for (const Pass& pass : kPasses)
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.push_back(pass.name);
  names.insert(names.end(), {"segment", "lower"});
  return names;
}

// The contents page: text → Graph → rewritten Graph → Segmentation → Program.
std::optional<Compilation> compile(const SourceText& source, const CompileOptions& options, Diagnostics& diagnostics) {
  const auto start = Clock::now();
  Stages stages(options);
  Compilation c;
  std::optional<Graph> graph;
  stages.run("read", [&] { graph = read_graph(source, options.read, diagnostics); }, [&] { return graph ? print(*graph) : ""; });
  if (!graph || diagnostics.has_errors()) return std::nullopt;
  // From here on the graph keeps every rule of the format: whatever fails is a bug of ours.
  c.graph = *graph;
  c.rewritten = std::move(*graph);
  verify(c.rewritten);
  if (stages.stop_after("read") || !rewrite(stages, c)) {
    c.stopped_text = print(c.rewritten);
    return c;
  }

  const bool lowers = !options.stop_after_segment && !stages.stop_after("segment");
  if (lowers) {
    check_lowerable(c.rewritten, diagnostics);
    if (options.lower.deterministic) check_deterministic(c.rewritten, diagnostics);
    if (diagnostics.has_errors()) return std::nullopt;
  }
  // From here on every op has a kernel, or none is asked for.
  c.segment_ms = stages.run(
      "segment",
      [&] {
        Forced forced;
        forced.random_seed = options.random_partition;
        c.segmentation = segment(c.rewritten, options.target, forced).segmentation;
        verify(c.rewritten, c.segmentation);
      },
      [&] { return print(c.rewritten, c.segmentation); });
  if (lowers)
    c.lower_ms = stages.run(
        "lower",
        [&] {
          Lowered lowered = lower(c.rewritten, c.segmentation, options.target, options.lower);
          emit_program(lowered.graph, lowered.kernels, options.emit, lowered.program);
          c.program = std::move(lowered.program);
        },
        [&] { return c.program->cuda_source; });
  if (stages.stop_after("segment")) c.stopped_text = print(c.rewritten, c.segmentation);
  if (stages.stop_after("lower") && c.program) c.stopped_text = c.program->cuda_source;
  c.total_ms = ms_since(start);
  return c;
}

}  // namespace fusec
