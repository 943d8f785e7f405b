// How updates are spread when a schedule is asked for, and what is said where it does not fit.
#include "lower/scatter.h"

#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

std::string updates(const std::string& shape, const std::string& of_updates, const std::string& dtype = "f32",
                    const std::string& how = "add") {
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": ")" + dtype + R"(", "shape": )" + shape +
         R"(}, {"name": "i", "dtype": "i64", "shape": [100000], "init": {"randint": [0, 8]}}, {"name": "v", "dtype": ")" + dtype +
         R"(", "shape": )" + of_updates + R"(}], "ops": [{"op": "index_put", "in": ["x", "i", "v"], "dim": 0, )" +
         (how.empty() ? "" : R"("accumulate": ")" + how + R"(", )") + R"("out": "y"}], "outputs": ["y"]})";
}

// "direct: the target has strides", of the launch that updates.
std::string choice(const std::string& text, ScatterSchedule schedule) {
  CompileOptions options;
  options.target = target_for("sm_90");
  options.lower.scatter = schedule;
  Diagnostics diagnostics;
  const auto c = compile(SourceText("g.fusion.json", text), options, diagnostics);
  REQUIRE(c);
  std::string words;
  for (const Launch& launch : c->program->launches)
    if (!launch.scatter.schedule.empty()) words = launch.scatter.schedule + (launch.scatter.why.empty() ? "" : ": ") + launch.scatter.why;
  return words;
}

}  // namespace

TEST_CASE("a schedule that fits is taken") {
  const std::string one = updates("[8]", "[100000]");
  CHECK(choice(one, ScatterSchedule::kDirect) == "direct");
  CHECK(choice(one, ScatterSchedule::kWarp) == "warp");
  CHECK(choice(one, ScatterSchedule::kShared) == "shared");
  CHECK(choice(one, ScatterSchedule::kCached) == "cached");
  CHECK(choice(one, ScatterSchedule::kReplicas) == "replicas");
  CHECK(choice(updates("[8, 64]", "[100000, 64]"), ScatterSchedule::kLists) == "lists");
  for (const char* dtype : {"u8", "i64", "bf16", "f64"})
    for (const char* how : {"add", "mul", "max", "min"})
      for (const auto schedule : {ScatterSchedule::kWarp, ScatterSchedule::kReplicas})
        CHECK(choice(updates("[8]", "[100000]", dtype, how), schedule) == (schedule == ScatterSchedule::kWarp ? "warp" : "replicas"));
}

TEST_CASE("one that does not fit says why") {
  CHECK(choice(updates("[8, 128]", "[100000, 128]"), ScatterSchedule::kWarp) == "direct: a warp's updates are side by side in one row");
  CHECK(choice(updates("[8, 7]", "[100000, 7]"), ScatterSchedule::kWarp) == "warp");
  CHECK(choice(updates("[400000]", "[100000]"), ScatterSchedule::kShared) ==
        "direct: the target does not fit into 3 blocks' shared memory");
  CHECK(choice(updates("[9000000]", "[100000]"), ScatterSchedule::kReplicas) ==
        "direct: two copies of the target would take more than 32 MiB");
  CHECK(choice(updates("[8]", "[100000]", "i32", "max"), ScatterSchedule::kLists) ==
        "direct: lists are for rows of sizes that are known, to which index_put adds");
  for (const char* dtype : {"i32", "i64", "bf16", "f64"})
    CHECK(choice(updates("[8]", "[100000]", dtype), ScatterSchedule::kLists) == "lists");
  for (const auto schedule : {ScatterSchedule::kWarp, ScatterSchedule::kShared, ScatterSchedule::kCached, ScatterSchedule::kReplicas})
    CHECK(choice(updates("[8]", "[100000]", "f32", ""), schedule) == "direct: plain stores do not add up");
  CHECK(choice(updates("[8]", "[100000]", "f32", ""), ScatterSchedule::kAuto) == "direct");
}
