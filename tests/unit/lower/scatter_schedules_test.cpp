// How updates are spread when a schedule is asked for, and what is said where it does not fit.
#include "lower/scatter.h"

#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

std::string updates(const std::string& shape, const std::string& of_updates, const std::string& dtype = "f32",
                    const std::string& how = "add") {
  const std::string count = of_updates.substr(0, of_updates.find_first_of(",]")) + "]";
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": ")" + dtype + R"(", "shape": )" + shape +
         R"(}, {"name": "i", "dtype": "i64", "shape": )" + count + R"(, "init": {"randint": [0, 8]}}, {"name": "v", "dtype": ")" + dtype +
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
  CHECK(choice(updates("[400000]", "[100000]"), ScatterSchedule::kShared) == "direct: the target is larger than 3 blocks' shared memory");
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

TEST_CASE("a target that is larger than shared memory has a table of its first elements and a cache for the others") {
  const std::string text = updates("[65536]", "[1000000]");
  CHECK(choice(text, ScatterSchedule::kAuto) == "shared");
  const Program p = lowered(text);
  CHECK(has(p, "fs_add_crowded(&table[v_slot]"));
  CHECK(has(p, "else fs_update_cached<1024>(cache, tags, v_slot"));
  CHECK_FALSE(has(lowered(updates("[4096]", "[1000000]")), "fs_update_cached"));
}

TEST_CASE("rows of a few vectors have a cache of vectors, longer ones lists, small targets tables") {
  CHECK(has(lowered(updates("[100000, 8]", "[400000, 8]")), "fs_update_cached_all<1024, 2>("));
  CHECK(has(lowered(updates("[100000, 4]", "[800000, 4]")), "fs_update_cached_all<1024, 1>("));
  CHECK(has(lowered(updates("[100000, 6]", "[400000, 6]")), "fs_update_cached_all<2048, 3>("));
  CHECK(choice(updates("[100000, 32]", "[400000, 32]"), ScatterSchedule::kAuto) == "cached");
  CHECK(choice(updates("[100000, 64]", "[400000, 64]"), ScatterSchedule::kAuto) == "lists");
  CHECK(choice(updates("[16, 8]", "[400000, 8]"), ScatterSchedule::kAuto) == "shared");
  CHECK(choice(updates("[100000, 16]", "[400000, 16]", "i64"), ScatterSchedule::kAuto) == "lists");
  CHECK(choice(updates("[100000, 8]", "[1000, 8]"), ScatterSchedule::kAuto) == "direct");  // (few updates)
}

TEST_CASE("short rows of narrow dtypes are as long as a sector where they are summed up, if updates are many") {
  CHECK(has(lowered(updates("[100000, 7]", "[400000, 7]", "bf16")), "i1 + y_f32_at[u] * 8"));
  CHECK(has(lowered(updates("[300000, 3]", "[800000, 3]", "i8")), "i1 + y_i32_at[u] * 4"));
  CHECK_FALSE(has(lowered(updates("[100000, 7]", "[90000, 7]", "bf16")), "y_f32_at * 8"));
  CHECK_FALSE(has(lowered(updates("[1000, 7]", "[400000, 7]", "bf16")), "y_f32_at[u] * 8"));
  CHECK_FALSE(has(lowered(updates("[100000, 7]", "[400000, 7]", "f32")), "y_at[u] * 8"));
}

TEST_CASE("a target that the L2 cache cannot hold is updated share by share, and what updates are made of passes through the cache") {
  const Program rows = lowered(updates("[1048576, 7]", "[4000000, 7]", "i64"));
  CHECK(has(rows, "for (unsigned share = 2; share-- > 0;)"));
  CHECK(has(rows, "at[u] * 7 ? fs_load_once<1>(v_in"));  // only in the share's turn
  CHECK(has(lowered(updates("[16777216]", "[16000000]")), "for (unsigned share = 3; share-- > 0;)"));
  const Program held = lowered(updates("[1048576, 7]", "[4000000, 7]"));
  CHECK_FALSE(has(held, "share-- > 0"));
  CHECK(has(held, "fs_load_once<1>(v_in"));
  CHECK_FALSE(has(lowered(updates("[1048576]", "[16000000]")), "fs_load_once"));  // (a small target stays anyway)
  CHECK_FALSE(has(lowered(updates("[100000000]", "[2100000]")), "share-- > 0"));  // (updates hardly come back to a sector)
}
