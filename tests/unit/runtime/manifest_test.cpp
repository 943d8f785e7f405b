#include "runtime/manifest.h"

#include "catch.h"
#include "runtime/bind_program.h"
#include "support/diag.h"

using namespace fusec;

namespace {

const SymbolId kN(0), kHalf(1);

// x[N] f32, s scalar → y[N] over x, z[N]: a kernel, then a copy; sizes N and ⌊(N + 1)/2⌋.
Graph make_graph() {
  Graph graph;
  graph.name = "g";
  graph.symbols.push({"N", 100, 4, 1 << 20, false, {}, 1});
  auto value = [&](const std::string& name, const Shape& shape) { return graph.values.push({name, DType::kF32, shape, OpId(), 0, {}}); };
  const ValueId x = value("x", {Size::symbol(kN)}), s = value("s", {}), y = value("y", {Size::symbol(kN)});
  Input in, scalar;
  in.value = x;
  scalar.value = s;
  scalar.scalar = true;
  graph.inputs = {in, scalar};
  Output over, other;
  over.value = other.value = y;
  over.name = "y";
  over.alias = 0;
  other.name = "y#2";
  graph.outputs = {over, other};
  return graph;
}

Manifest make_manifest(const Graph& graph) {
  Manifest manifest;
  manifest.graph_json = R"({"version": 1, "name": "g", "seed": 18446744073709551615, "eps": 1e-05})";
  manifest.symbols = graph.symbols;
  manifest.symbols.push({"N_half", 50, 1, INT64_MAX, true, Size::symbol(kN) + 1, 2});
  manifest.inputs = manifest.outputs = 2;
  manifest.segments = 2;
  manifest.bytes = 12345;
  const Size n = Size::symbol(kN), half = Size::symbol(kHalf);
  Launch kernel, copy;
  kernel.kernel = "g_s0";
  kernel.grid = {{n * n - half * 3 + 7, 1024}, {Size(5), 2}};
  kernel.block = 128;
  kernel.shared_bytes = 4096;
  kernel.cooperative = true;
  kernel.args = {{KernelArg::kInput, 0},  {KernelArg::kOutput, 1}, {KernelArg::kWorkspace, 0},
                 {KernelArg::kScalar, 1}, {KernelArg::kSymbol, 1}, {KernelArg::kErrorFlag, 0}};
  kernel.arg_dtypes = {DType::kF32, DType::kF32, DType::kBF16, DType::kF32, DType::kI64, DType::kI64};
  kernel.schedule = {{"vector", 4}, {"unroll", 2}};
  copy.kind = Launch::kCopy;
  copy.segment = 1;
  copy.args = {{KernelArg::kWorkspace, 0}, {KernelArg::kOutput, 0}};
  copy.copy_bytes = n * 4;
  manifest.program.name = "g";
  manifest.program.launches = {kernel, copy};
  manifest.program.workspace_is_static = false;
  manifest.program.workspace = {{n * 4, 0, 1, 0}, {Size(8), 0, 0, 0}};
  manifest.files = {{ManifestFile::kCu, "g.cu", "", std::string(64, '0')},
                    {ManifestFile::kCubin, "g.sm_90.cubin", "sm_90", std::string(64, 'f')}};
  return manifest;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("a manifest comes back as it was written") {
  const Graph graph = make_graph();
  const Manifest manifest = make_manifest(graph);
  const std::string text = write_manifest(manifest, graph);
  const Manifest back = read_manifest(text, "g.manifest.json");
  CHECK(back.symbols == manifest.symbols);
  CHECK(back.files == manifest.files);
  CHECK(back.inputs == 2);
  CHECK(back.outputs == 2);
  CHECK(back.segments == 2);
  CHECK(back.bytes == 12345);
  REQUIRE(back.program.launches.size() == 2);
  const Launch &kernel = back.program.launches[0], &copy = back.program.launches[1];
  CHECK(kernel.kernel == "g_s0");
  CHECK(kernel.grid[0].elems == manifest.program.launches[0].grid[0].elems);
  CHECK(kernel.grid[1].per_block == 2);
  CHECK(kernel.block == 128);
  CHECK(kernel.shared_bytes == 4096);
  CHECK(kernel.cooperative);
  CHECK(kernel.arg_dtypes == manifest.program.launches[0].arg_dtypes);
  CHECK(kernel.schedule == manifest.program.launches[0].schedule);
  REQUIRE(kernel.args.size() == 6);
  for (size_t i = 0; i < 6; ++i) {
    CHECK(kernel.args[i].kind == manifest.program.launches[0].args[i].kind);
    CHECK(kernel.args[i].index == manifest.program.launches[0].args[i].index);
  }
  CHECK(copy.kind == Launch::kCopy);
  CHECK(copy.segment == 1);
  CHECK(copy.args[1].kind == KernelArg::kOutput);
  CHECK(copy.copy_bytes == Size::symbol(kN) * 4);
  CHECK(back.program.workspace[0].bytes == Size::symbol(kN) * 4);
  CHECK(back.graph_json == R"({"version":1,"name":"g","seed":18446744073709551615,"eps":1e-05})");
  Manifest again = back;
  again.graph_json = manifest.graph_json;
  CHECK(write_manifest(again, graph) == text);
}

TEST_CASE("a program is bound to sizes") {
  const Graph graph = make_graph();
  const Manifest manifest = make_manifest(graph);
  SymbolValues given(1);
  given[kN] = 9;
  const SymbolValues values = carry_values(graph.symbols, given, manifest.symbols);
  CHECK(values[kHalf] == 5);
  const BoundProgram bound = bind(manifest.program, values);
  REQUIRE(bound.launches.size() == 2);
  CHECK(bound.launches[0].blocks == 1 + 3);  // ⌈(81 − 15 + 7)/1024⌉ + ⌈5/2⌉
  CHECK(bound.launches[1].copy_bytes == 36);
  CHECK(bound.workspace_offsets == std::vector<int64_t>{0, 256});
  CHECK(bound.workspace_bytes == 512);
  given[kN] = 0;
  Program nothing = manifest.program;
  nothing.launches[0].grid = {{Size::symbol(kN), 1024}};
  CHECK(bind(nothing, carry_values(graph.symbols, given, manifest.symbols)).launches.empty());
}

TEST_CASE("a manifest that was changed is refused, not believed") {
  const Graph graph = make_graph();
  const std::string text = write_manifest(make_manifest(graph), graph);
  auto refused = [](const std::string& changed) {
    try {
      read_manifest(changed, "g.manifest.json");
      return false;
    } catch (const Failure& failure) {
      return failure.exit == Exit::kBadInput && std::string(failure.what()).find("g.manifest.json") != std::string::npos;
    }
  };
  CHECK(refused(""));
  CHECK(refused("{}"));
  CHECK(refused("[1]"));
  CHECK(refused(text.substr(0, text.size() / 2)));
  CHECK(refused(replaced(text, "\"version\": 1", "\"version\": 2")));
  CHECK(refused(replaced(text, "\"block\": 128", "\"block\": 2048")));
  CHECK(refused(replaced(text, "\"block\": 128", "\"block\": -1")));
  CHECK(refused(replaced(text, "\"output\": 1", "\"output\": 2")));
  CHECK(refused(replaced(text, "\"workspace\": 0", "\"workspace\": 7")));
  CHECK(refused(replaced(text, "\"size\": \"N_half\"", "\"size\": \"M\"")));
  CHECK(refused(replaced(text, "\"per_block\": 1024", "\"per_block\": 0")));
  CHECK(refused(replaced(text, "g.sm_90.cubin", "../elsewhere.cubin")));
  CHECK(refused(replaced(text, "\"segment\": 1", "\"segment\": 2")));
}
