#include <array>
#include <cstdlib>
#include <cstring>

#include "runtime/copy_kernel.h"
#include "runtime/cuda_session.h"
#include "runtime/layout.h"
#include "support/check.h"
#include "support/diag.h"

namespace fusec {

namespace {

using cuda::Buffer;
using cuda::bytes_text;
using cuda::Code;
using cuda::Replay;
using cuda::Session;

constexpr int64_t kMaxGrid = INT32_MAX;

std::vector<int64_t> numbers(const std::vector<Size>& sizes) {
  std::vector<int64_t> values;
  for (const Size& size : sizes) values.push_back(size.value());
  return values;
}

// `place` is an Input or an Output.
template <class Place>
Layout layout_of(const Graph& graph, const Place& place) {
  const Value& value = graph[place.value];
  return {bytes_of(value.dtype), numbers(value.shape), numbers(strides_of(graph, place))};
}

// The parameters of one launch: 8 bytes each, and the addresses that the driver wants.
struct Parameters {
  std::vector<std::array<std::byte, 8>> values;
  std::vector<void*> addresses;

  Parameters() = default;
  Parameters(Parameters&&) = default;  // a copy's addresses would be the original's
  Parameters& operator=(Parameters&&) = default;

  void add(const void* bytes, size_t size) {
    FUSEC_CHECK(size <= 8, "a kernel parameter of " + std::to_string(size) + " bytes");
    values.emplace_back();
    std::memcpy(values.back().data(), bytes, size);
  }
  // After the last add: the values no longer move.
  void finish() {
    for (auto& value : values) addresses.push_back(value.data());
  }
};

class CudaGraph final : public LoadedGraph {
 public:
  CudaGraph(const Session& session, const fusec::Graph& graph, const BoundProgram& program, const std::string& image,
            const std::vector<Tensor>& inputs);
  void run() override;
  ErrorRecord error_record() override;
  std::vector<Tensor> outputs() override;
  std::vector<double> time(int warmups, int replays) override;
  std::vector<double> time_segment(uint32_t segment, int warmups, int replays) override;

 private:
  struct Step {
    const BoundLaunch* launch = nullptr;
    cuda::Function function = nullptr;
    Parameters parameters;
  };
  void allocate(const std::vector<Tensor>& inputs);
  void upload(const std::vector<Tensor>& inputs);
  Step prepare(const BoundLaunch& launch, const std::vector<Tensor>& inputs);
  void check_limits(const BoundLaunch& launch, cuda::Function function) const;
  cuda::Pointer address(const KernelArg& arg) const;
  const Buffer& buffer_of_output(size_t index) const;
  void enqueue(Step& step) const;
  void poison() const;
  [[noreturn]] void explain(const Failure& failure) const;

  const Session& session_;
  const fusec::Graph graph_;
  const BoundProgram program_;
  Code code_;
  std::vector<Buffer> inputs_, outputs_;  // one each; outputs with an alias and scalar inputs have an empty one
  Buffer workspace_, error_;
  std::vector<Step> steps_;
  Replay replay_;
};

std::string name_of(const BoundLaunch& launch) { return "segment " + std::to_string(launch.segment) + ", kernel '" + launch.kernel + "'"; }

CudaGraph::CudaGraph(const Session& session, const fusec::Graph& graph, const BoundProgram& program, const std::string& image,
                     const std::vector<Tensor>& inputs)
    : session_(session), graph_(graph), program_(program), code_(session, image) {
  FUSEC_CHECK(inputs.size() == graph.inputs.size(), "one tensor per input");
  allocate(inputs);
  upload(inputs);
  for (const BoundLaunch& launch : program_.launches) steps_.push_back(prepare(launch, inputs));
  session_.synchronize("preparing the run");
  replay_ = Replay(session_, [this] {
    for (Step& step : steps_) enqueue(step);
  });
}

void CudaGraph::allocate(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = graph_.inputs[i];
    const std::string what = "input '" + graph_[input.value].name + "'";
    inputs_.push_back(input.scalar ? Buffer() : Buffer(session_, what, layout_of(graph_, input).storage_bytes()));
  }
  for (const Output& output : graph_.outputs) {
    const std::string what = "output '" + output.name + "'";
    outputs_.push_back(output.alias ? Buffer() : Buffer(session_, what, layout_of(graph_, output).storage_bytes()));
  }
  workspace_ = Buffer(session_, "the workspace between segments", program_.workspace_bytes);
  error_ = Buffer(session_, "the error record", sizeof(ErrorRecord));
  error_.fill(0);
}

void CudaGraph::upload(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (graph_.inputs[i].scalar) continue;
    const Layout layout = layout_of(graph_, graph_.inputs[i]);
    FUSEC_CHECK(inputs[i].shape == layout.shape, "input '" + graph_[graph_.inputs[i].value].name + "' has another shape");
    if (layout.is_row_major()) {
      inputs_[i].upload(inputs[i].data.data());
      continue;
    }
    std::vector<std::byte> storage(static_cast<size_t>(layout.storage_bytes()));
    scatter_to_layout(layout, inputs[i].data.data(), storage.data());
    inputs_[i].upload(storage.data());
  }
}

const Buffer& CudaGraph::buffer_of_output(size_t index) const {
  const auto& alias = graph_.outputs.at(index).alias;
  return alias ? inputs_.at(*alias) : outputs_.at(index);
}

cuda::Pointer CudaGraph::address(const KernelArg& arg) const {
  switch (arg.kind) {
    case KernelArg::kInput:
      return inputs_.at(arg.index).pointer();
    case KernelArg::kOutput:
      return buffer_of_output(arg.index).pointer();
    case KernelArg::kWorkspace:
      return workspace_.pointer() + static_cast<cuda::Pointer>(program_.workspace_offsets.at(arg.index));
    case KernelArg::kErrorFlag:
      return error_.pointer();
    case KernelArg::kScalar:
    case KernelArg::kSymbol:
      break;
  }
  FUSEC_CHECK(false, "a parameter by value has no address");
  return 0;
}

CudaGraph::Step CudaGraph::prepare(const BoundLaunch& launch, const std::vector<Tensor>& inputs) {
  Step step;
  step.launch = &launch;
  if (launch.kind == Launch::kCopy) return step;
  for (const KernelArg& arg : launch.args) {
    if (arg.kind == KernelArg::kScalar) {
      const Tensor& scalar = inputs.at(arg.index);
      step.parameters.add(scalar.data.data(), scalar.data.size());
    } else if (arg.kind == KernelArg::kSymbol) {
      FUSEC_CHECK(arg.index < program_.symbols.size(), name_of(launch) + ": no such symbol");
      const int64_t value = program_.symbols[SymbolId(arg.index)];
      step.parameters.add(&value, sizeof value);
    } else {
      const cuda::Pointer pointer = address(arg);
      step.parameters.add(&pointer, sizeof pointer);
    }
  }
  step.parameters.finish();
  step.function = code_.function(launch.kernel);
  check_limits(launch, step.function);
  return step;
}

// Refusals of the driver name no resource; these do.
void CudaGraph::check_limits(const BoundLaunch& launch, cuda::Function function) const {
  const cuda::Driver& driver = session_.driver();
  auto refuse = [&](const std::string& why) {
    throw Failure(Exit::kRefused, name_of(launch) + " cannot be launched on " + session_.info().name + ": " + why);
  };
  auto attribute = [&](int which) {
    int value = 0;
    session_.check(driver.func_get_attribute(&value, which, function), name_of(launch) + ": asking for its attributes");
    return value;
  };
  if (launch.blocks > kMaxGrid)
    refuse("it needs " + std::to_string(launch.blocks) + " blocks, and a grid has at most " + std::to_string(kMaxGrid));
  const int threads = attribute(cuda::kFunctionMaxThreadsPerBlock);
  if (launch.block > static_cast<uint32_t>(threads))
    refuse("a block of " + std::to_string(launch.block) + " threads with " + std::to_string(attribute(cuda::kFunctionRegisters)) +
           " registers each; at most " + std::to_string(threads) + " threads fit");
  const int64_t fixed = attribute(cuda::kFunctionSharedBytes), limit = session_.info().shared_bytes_per_block;
  if (fixed + launch.shared_bytes > limit)
    refuse("a block needs " + bytes_text(fixed + launch.shared_bytes) + " of shared memory, and has at most " + bytes_text(limit));
  if (launch.shared_bytes > 0)
    session_.check(driver.func_set_attribute(function, cuda::kFunctionMaxDynamicSharedBytes, static_cast<int>(launch.shared_bytes)),
                   name_of(launch) + ": asking for " + bytes_text(launch.shared_bytes) + " of shared memory");
  if (!launch.cooperative) return;
  int blocks = 0;
  session_.check(driver.occupancy_max_active_blocks(&blocks, function, static_cast<int>(launch.block), launch.shared_bytes),
                 name_of(launch) + ": asking for its occupancy");
  const int64_t resident = int64_t{blocks} * session_.info().multiprocessors;
  if (launch.blocks > resident)
    refuse("its " + std::to_string(launch.blocks) + " blocks must all be resident for the grid barrier, and " + std::to_string(resident) +
           " fit");
}

void CudaGraph::enqueue(Step& step) const {
  const cuda::Driver& driver = session_.driver();
  const BoundLaunch& launch = *step.launch;
  if (launch.kind == Launch::kCopy) {
    session_.check(driver.memcpy_dtod_async(address(launch.args[1]), address(launch.args[0]), static_cast<size_t>(launch.copy_bytes),
                                            session_.stream()),
                   "segment " + std::to_string(launch.segment) + ": copying " + bytes_text(launch.copy_bytes));
    return;
  }
  const auto grid = static_cast<unsigned>(launch.blocks);
  void** parameters = step.parameters.addresses.data();
  const cuda::Result result = launch.cooperative ? driver.launch_cooperative_kernel(step.function, grid, 1, 1, launch.block, 1, 1,
                                                                                    launch.shared_bytes, session_.stream(), parameters)
                                                 : driver.launch_kernel(step.function, grid, 1, 1, launch.block, 1, 1, launch.shared_bytes,
                                                                        session_.stream(), parameters, nullptr);
  session_.check(result, name_of(launch) + ": launching " + std::to_string(launch.blocks) + " blocks of " + std::to_string(launch.block) +
                             " threads with " + bytes_text(launch.shared_bytes) + " of shared memory");
}

void CudaGraph::poison() const {
  for (const Buffer& output : outputs_) output.fill(0xFF);
  workspace_.fill(0xFF);
  error_.fill(0);
}

void CudaGraph::run() {
  poison();
  session_.synchronize("clearing the outputs");
  const char* separately = std::getenv("FUSEC_SYNC_LAUNCHES");
  if (separately && *separately) {
    for (Step& step : steps_) {
      enqueue(step);
      session_.synchronize(name_of(*step.launch));
    }
    return;
  }
  try {
    replay_.launch();
    session_.synchronize("running '" + program_.name + "'");
  } catch (const Failure& failure) {
    explain(failure);
  }
}

void CudaGraph::explain(const Failure& failure) const {
  std::string text = failure.what();
  text += "\nIt ran";
  for (const Step& step : steps_) text += (&step == steps_.data() ? " " : "; ") + name_of(*step.launch);
  if (steps_.size() > 1) text += "\nSet FUSEC_SYNC_LAUNCHES=1 to run them one by one and learn which one fails";
  throw Failure(failure.exit, text);
}

ErrorRecord CudaGraph::error_record() {
  ErrorRecord record;
  error_.download(&record);
  return record;
}

std::vector<Tensor> CudaGraph::outputs() {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const Layout layout = layout_of(graph_, graph_.outputs[i]);
    Tensor tensor(graph_[graph_.outputs[i].value].dtype, layout.shape);
    const Buffer& buffer = buffer_of_output(i);
    FUSEC_CHECK(buffer.bytes() >= layout.storage_bytes(), "output '" + graph_.outputs[i].name + "' does not fit its buffer");
    if (layout.is_row_major()) {
      buffer.download(tensor.data.data());
    } else {
      std::vector<std::byte> storage(static_cast<size_t>(buffer.bytes()));
      buffer.download(storage.data());
      gather_from_layout(layout, storage.data(), tensor.data.data());
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<double> CudaGraph::time(int warmups, int replays) {
  if (steps_.empty()) return {};
  return replay_.time(warmups, replays);
}

std::vector<double> CudaGraph::time_segment(uint32_t segment, int warmups, int replays) {
  std::vector<Step*> steps;
  for (Step& step : steps_)
    if (step.launch->segment == segment) steps.push_back(&step);
  if (steps.empty()) return {};
  const Replay replay(session_, [&] {
    for (Step* step : steps) enqueue(*step);
  });
  return replay.time(warmups, replays);
}

// --- the device ----------------------------------------------------------------------------------------------------------

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::unique_ptr<Session> session) : session_(std::move(session)) {}
  const DeviceInfo& info() const override { return session_->info(); }

  std::unique_ptr<LoadedGraph> load(const fusec::Graph& graph, const BoundProgram& program, const std::string& image,
                                    const std::vector<Tensor>& inputs) override {
    return std::make_unique<CudaGraph>(*session_, graph, program, image, inputs);
  }

  std::vector<double> time_copy(const std::string& image, int warmups, int replays) override {
    const Code code(*session_, image);
    const cuda::Function function = code.function(kCopyKernelName);
    const Buffer from(*session_, "the copy that measures the memory's rate", kCopyBytes);
    const Buffer to(*session_, "the copy that measures the memory's rate", kCopyBytes);
    from.fill(0);
    session_->synchronize("preparing a copy");
    cuda::Pointer x = from.pointer(), y = to.pointer();
    void* parameters[] = {&x, &y};
    const Replay replay(*session_, [&] {
      session_->check(session_->driver().launch_kernel(function, kCopyBytes / kCopyBytesPerBlock, 1, 1, kCopyThreads, 1, 1, 0,
                                                       session_->stream(), parameters, nullptr),
                      "launching a copy");
    });
    return replay.time(warmups, replays);
  }

 private:
  std::unique_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<Device> open_cuda_device() {
  std::string missing;
  if (auto session = Session::open(missing)) return std::make_unique<CudaDevice>(std::move(session));
  throw Failure(Exit::kNoDevice, missing + "\nWithout a GPU: `fusec run --device cpu` computes on the CPU, `fusec compile` needs none");
}

}  // namespace fusec
