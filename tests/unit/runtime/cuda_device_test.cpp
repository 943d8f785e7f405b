// The device on hand-written kernels: every kind of parameter, layouts, copies, failures. Needs a GPU and NVRTC; skipped, visibly, without.
#include "runtime/bench.h"
#include "runtime/compile_cuda.h"
#include "runtime/copy_kernel.h"
#include "runtime/device.h"

#include "catch.h"
#include "runtime/nvrtc.h"
#include "support/diag.h"

using namespace fusec;

namespace {

Device* gpu() {
  std::string missing;
  std::vector<std::string> tried;
  if (find_cuda_device(missing) && Nvrtc::find(tried)) {
    static const std::unique_ptr<Device> device = open_cuda_device();
    return device.get();
  }
  WARN("skipped: " << (missing.empty() ? "no NVRTC" : missing));
  return nullptr;
}

const char* const kKernels = R"(
extern "C" __global__ void scale(const float* x, float* w, float s, long long n) {       // w = s·x, through shared memory
  extern __shared__ float row[];
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  row[threadIdx.x] = i < n ? x[i] : 0.f;
  __syncthreads();
  if (i < n) w[i] = s * row[threadIdx.x];
}
extern "C" __global__ void add(const float* w, const float* t, float* y, long long n, long long* error) {  // y[i,j] += w + t[j,i]; n×4
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i < 4 * n) y[i] += w[i] + t[i % 4 * n + i / 4];
  if (i == 0 && n == 3) error[0] = 5, error[1] = 6, error[2] = 7, error[3] = 8;
}
)";

const SymbolId kN(0);

Tensor floats(const std::vector<int64_t>& shape, float first) {
  Tensor tensor(DType::kF32, shape);
  for (int64_t i = 0; i < tensor.elems(); ++i) tensor.as<float>()[i] = first + static_cast<float>(i);
  return tensor;
}

struct Case {
  fusec::Graph graph;
  Program program;
  BoundProgram bound;
  std::vector<Tensor> inputs;
};

// x[n,4], t[n,4] stored transposed, y[n,4] updated in place, s: w = s·x; y += w + t; z = w by a copy.
Case make_case(int64_t n) {
  Case c;
  auto value = [&](const std::string& name, const std::vector<int64_t>& shape) {
    return c.graph.values.push({name, DType::kF32, Shape(shape.begin(), shape.end()), OpId(), 0, {}});
  };
  c.graph.name = "hand";
  for (const char* name : {"x", "t", "y"}) {
    Input input;
    input.value = value(name, {n, 4});
    c.graph.inputs.push_back(input);
  }
  c.graph.inputs[1].strides = std::vector<int64_t>{1, n};
  Input scalar;
  scalar.value = value("s", {});
  scalar.scalar = true;
  c.graph.inputs.push_back(scalar);
  Output updated, copied;
  updated.value = c.graph.inputs[2].value;
  updated.name = "y";
  updated.alias = 2;
  copied.value = value("z", {n, 4});
  copied.name = "z";
  c.graph.outputs = {updated, copied};
  const Size elems = Size::symbol(kN) * 4;
  Launch scale, add, copy;
  scale.kernel = "scale";
  scale.grid = {{elems, 128}};
  scale.block = 128;
  scale.shared_bytes = 60 << 10;  // beyond what needs no asking
  scale.args = {{KernelArg::kInput, 0}, {KernelArg::kWorkspace, 0}, {KernelArg::kScalar, 3}, {KernelArg::kSymbol, 1}};
  add.segment = 1;
  add.kernel = "add";
  add.grid = {{elems, 128}};
  add.block = 128;
  add.args = {
      {KernelArg::kWorkspace, 0}, {KernelArg::kInput, 1}, {KernelArg::kOutput, 0}, {KernelArg::kSymbol, 0}, {KernelArg::kErrorFlag, 0}};
  copy.segment = 2;
  copy.kind = Launch::kCopy;
  copy.args = {{KernelArg::kWorkspace, 0}, {KernelArg::kOutput, 1}};
  copy.copy_bytes = elems * 4;
  c.program.name = "hand";
  c.program.launches = {scale, add, copy};
  c.program.workspace_is_static = false;
  c.program.workspace = {{elems * 4, 0, 2, 0}};
  SymbolValues values(2);
  values[kN] = n;
  values[SymbolId(1)] = 4 * n;
  c.bound = bind(c.program, values);
  c.inputs = {floats({n, 4}, 0), floats({n, 4}, 100), floats({n, 4}, 1000), Tensor(DType::kF32, {})};
  c.inputs[3].as<float>()[0] = 2;
  return c;
}

std::string image(const Device& device) { return compile_cuda("hand", kKernels, device.info().arch(), nullptr).cubin; }

}  // namespace

TEST_CASE("a program runs on the GPU", "[gpu]") {
  Device* device = gpu();
  if (!device) return;
  for (const int64_t n : {1, 5, 1000}) {
    Case c = make_case(n);
    const auto loaded = device->load(c.graph, c.bound, image(*device), c.inputs);
    loaded->run();
    CHECK_FALSE(loaded->error_record().raised());
    const std::vector<Tensor> outputs = loaded->outputs();
    REQUIRE(outputs.size() == 2);
    int64_t wrong = 0;
    for (int64_t i = 0; i < 4 * n; ++i) {
      const auto f = static_cast<float>(i);
      wrong += outputs[0].as<float>()[i] != 1000 + f + 2 * f + 100 + f;
      wrong += outputs[1].as<float>()[i] != 2 * f;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("PTX runs, and kernels report bad indices", "[gpu]") {
  Device* device = gpu();
  if (!device) return;
  Case c = make_case(3);
  const std::string ptx = compile_cuda("hand", kKernels, "compute_80", nullptr).ptx;
  const auto loaded = device->load(c.graph, c.bound, ptx, c.inputs);
  loaded->run();
  const ErrorRecord record = loaded->error_record();
  CHECK(record.raised());
  CHECK((record.code == 5 && record.position == 6 && record.index == 7 && record.size == 8));
}

TEST_CASE("an empty program leaves its outputs", "[gpu]") {
  Device* device = gpu();
  if (!device) return;
  Case c = make_case(0);
  REQUIRE(c.bound.launches.empty());
  const auto loaded = device->load(c.graph, c.bound, image(*device), c.inputs);
  loaded->run();
  CHECK(loaded->outputs()[1].elems() == 0);
  CHECK(loaded->time(1, 2).empty());
}

TEST_CASE("refusals name the resource", "[gpu]") {
  Device* device = gpu();
  if (!device) return;
  auto message = [&](auto change) -> std::string {
    Case c = make_case(5);
    change(c);
    try {
      device->load(c.graph, c.bound, image(*device), c.inputs);
    } catch (const Failure& failure) {
      CHECK(failure.exit == Exit::kRefused);
      return failure.what();
    }
    return "loaded";
  };
  CHECK(message([](Case& c) { c.bound.launches[0].shared_bytes = 1 << 20; }).find("shared memory") != std::string::npos);
  CHECK(message([](Case& c) { c.bound.launches[1].blocks = int64_t{1} << 40; }).find("a grid has at most") != std::string::npos);
  CHECK(message([](Case& c) {
          c.bound.launches[1].cooperative = true, c.bound.launches[1].blocks = 10000000;
        }).find("must all be resident") != std::string::npos);
  CHECK(message([](Case& c) { c.bound.workspace_bytes = int64_t{1} << 45; }).find("the workspace between segments needs 32768.00 GiB") !=
        std::string::npos);
  CHECK(message([](Case& c) { c.bound.launches[1].kernel = "absent"; }).find("'absent'") != std::string::npos);
}

TEST_CASE("times are taken, and a plain copy has a plausible rate", "[gpu]") {
  Device* device = gpu();
  if (!device) return;
  Case c = make_case(1000);
  const auto loaded = device->load(c.graph, c.bound, image(*device), c.inputs);
  BenchResult result;
  measure(*device, *loaded, c.bound, compile_cuda("copy", kCopyKernelSource, device->info().arch(), nullptr).cubin, result);
  CHECK(result.us.n == 100);
  CHECK(result.us.min > 0.5);
  CHECK(result.us.median < 1000);
  CHECK(result.us.q1 <= result.us.median);
  CHECK(result.per_segment.size() == 3);
  CHECK(result.limit_gbps > 50);
  CHECK(result.limit_gbps < 20000);
}
