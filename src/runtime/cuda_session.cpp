#include "runtime/cuda_session.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "support/diag.h"

namespace fusec::cuda {

namespace {
constexpr int64_t kFlushBytes = int64_t{256} << 20;
}

std::string bytes_text(int64_t bytes) {
  constexpr std::pair<const char*, double> kUnits[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}};
  char text[32];
  for (const auto& [unit, size] : kUnits) {
    if (static_cast<double>(bytes) < size) continue;
    std::snprintf(text, sizeof text, "%.2f %s", static_cast<double>(bytes) / size, unit);
    return text;
  }
  return std::to_string(bytes) + " bytes";
}

// --- session -------------------------------------------------------------------------------------------------------------

namespace {

std::string init_failure(const Driver& driver, Result error) {
  const std::string text = "the CUDA driver " + driver.path + " does not start (" + driver.describe(error) + ")";
  switch (error) {
    case kErrorNoDevice:
      return text + ": it sees no GPU (is one there, and not hidden by CUDA_VISIBLE_DEVICES?)";
    case kStubLibrary:
      return text + ": this is the toolkit's stub library, not a driver; remove its folder from LD_LIBRARY_PATH";
    case kDriverMismatch:
    case kCompatNotSupported:
      return text + ": library and kernel module do not fit together; reboot after a driver update, or remove the compatibility package";
    default:
      return text;
  }
}

// Initializes the driver and describes its first device.
Result first_device(const Driver& driver, DeviceHandle& device, DeviceInfo& info) {
  int count = 0;
  if (const Result error = driver.init(0)) return error;
  if (const Result error = driver.device_get_count(&count)) return error;
  if (count == 0) return kErrorNoDevice;
  if (const Result error = driver.device_get(&device, 0)) return error;
  char name[256] = "";
  size_t memory = 0;
  if (const Result error = driver.device_get_name(name, sizeof name, device)) return error;
  if (const Result error = driver.device_total_mem(&memory, device)) return error;
  if (const Result error = driver.driver_get_version(&info.driver_version)) return error;
  info.name = name;
  info.memory_bytes = static_cast<int64_t>(memory);
  info.driver_path = driver.path;
  int l2_bytes = 0, shared_bytes = 0;
  const std::pair<int, int*> attributes[] = {{kComputeCapabilityMajor, &info.major},
                                             {kComputeCapabilityMinor, &info.minor},
                                             {kMultiprocessorCount, &info.multiprocessors},
                                             {kL2CacheSize, &l2_bytes},
                                             {kMaxSharedPerBlockOptin, &shared_bytes}};
  for (const auto& [attribute, value] : attributes)
    if (const Result error = driver.device_get_attribute(value, attribute, device)) return error;
  info.l2_bytes = l2_bytes;
  info.shared_bytes_per_block = shared_bytes;
  int clock_khz = 0, bus_bits = 0;  // (a driver need not tell them)
  if (driver.device_get_attribute(&clock_khz, kMemoryClockKhz, device) == 0 &&
      driver.device_get_attribute(&bus_bits, kMemoryBusBits, device) == 0)
    info.peak_gbps = 2e-6 * clock_khz * bus_bits / 8;  // two transfers a clock
  return 0;
}

const Driver* find_driver(std::string& missing) {
  std::vector<std::string> tried;
  const Driver* driver = Driver::find(tried);
  if (driver) return driver;
  missing = "no CUDA driver (libcuda.so.1) was found. Tried:";
  for (const std::string& place : tried) missing += "\n  " + place;
  return nullptr;
}

}  // namespace

std::unique_ptr<Session> Session::open(std::string& missing) {
  // Loading code lazily would take place inside the first capture, where it is not allowed everywhere.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  const Driver* driver = find_driver(missing);
  if (!driver) return nullptr;
  DeviceHandle device = 0;
  DeviceInfo info;
  Result error = first_device(*driver, device, info);
  std::unique_ptr<Session> session(new Session(*driver, info));
  if (error == 0) error = session->start(device);
  if (error == 0) return session;
  missing = init_failure(*driver, error);
  return nullptr;
}

Result Session::start(DeviceHandle device) {
  if (const Result error = driver_.device_primary_ctx_retain(&context_, device)) return error;
  if (const Result error = driver_.ctx_set_current(context_)) return error;
  return driver_.stream_create(&stream_, 0);
}

// The primary context is left to the process's end: it outlives every Session on purpose, since releasing it would reset the device's
// state.
Session::~Session() {
  flush_.reset();
  if (stream_) driver_.stream_destroy(stream_);
}

void Session::check(Result result, const std::string& what) const {
  if (result != 0) throw Failure(Exit::kRefused, what + ": " + driver_.describe(result));
}

const Buffer& Session::flush_buffer() const {
  if (!flush_) flush_ = std::make_unique<Buffer>(*this, "overwriting the L2 cache between measurements", kFlushBytes);
  return *flush_;
}

// --- buffers -------------------------------------------------------------------------------------------------------------

Buffer::Buffer(const Session& session, const std::string& what, int64_t bytes) : session_(&session), bytes_(bytes) {
  const Driver& driver = session.driver();
  const Result error = driver.mem_alloc(&pointer_, static_cast<size_t>(std::max<int64_t>(bytes, 256)));
  if (error == 0) return;
  pointer_ = 0;
  if (error != kOutOfMemory) session.check(error, "allocating " + bytes_text(bytes) + " for " + what);
  size_t free = 0, total = 0;
  driver.mem_get_info(&free, &total);
  throw Failure(Exit::kRefused, "out of GPU memory: " + what + " needs " + bytes_text(bytes) + ", and " + session.info().name + " has " +
                                    bytes_text(static_cast<int64_t>(free)) + " free of " + bytes_text(static_cast<int64_t>(total)));
}

Buffer::~Buffer() {
  if (pointer_) session_->driver().mem_free(pointer_);
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(session_, other.session_);
  std::swap(pointer_, other.pointer_);
  std::swap(bytes_, other.bytes_);
}

void Buffer::upload(const void* host) const {
  if (bytes_ > 0) session_->check(session_->driver().memcpy_htod(pointer_, host, static_cast<size_t>(bytes_)), "copying to the GPU");
}

void Buffer::download(void* host) const {
  if (bytes_ > 0) session_->check(session_->driver().memcpy_dtoh(host, pointer_, static_cast<size_t>(bytes_)), "copying from the GPU");
}

void Buffer::fill(unsigned char byte) const {
  if (bytes_ > 0)
    session_->check(session_->driver().memset_d8_async(pointer_, byte, static_cast<size_t>(bytes_), session_->stream()),
                    "filling GPU memory");
}

// --- code ----------------------------------------------------------------------------------------------------------------

Code::Code(const Session& session, const std::string& image) : session_(session) {
  std::vector<char> log(16 << 10, '\0');
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  const Result error = session.driver().module_load_data_ex(&module_, image.c_str(), 2, options, values);
  if (error == 0) return;
  module_ = nullptr;
  const DeviceInfo& gpu = session.info();
  const std::string what = "loading the kernels on " + gpu.name + " (" + gpu.arch() + ")";
  const std::string driver = "CUDA " + std::to_string(gpu.driver_version / 1000) + "." + std::to_string(gpu.driver_version % 1000 / 10);
  std::string text = what + ": " + session.driver().describe(error);
  if (error == kNoBinaryForGpu) text += "\nThe machine code was compiled for another architecture: compile with --arch " + gpu.arch();
  else if (error == kUnsupportedPtxVersion)
    text += "\nThe PTX comes from a newer CUDA than this driver's (" + driver + "): compile with --arch " + gpu.arch() +
            " --emit cubin, or with an older NVRTC (CUDA_PATH)";
  if (log[0]) text += std::string("\n") + log.data();
  throw Failure(Exit::kRefused, text);
}

Code::~Code() {
  if (module_) session_.driver().module_unload(module_);
}

Function Code::function(const std::string& kernel) const {
  Function function = nullptr;
  session_.check(session_.driver().module_get_function(&function, module_, kernel.c_str()), "looking for the kernel '" + kernel + "'");
  return function;
}

// --- replay --------------------------------------------------------------------------------------------------------------

Replay::Replay(const Session& session, const std::function<void()>& enqueue) : session_(&session) {
  const Driver& driver = session.driver();
  session.check(driver.stream_begin_capture(session.stream(), kCaptureRelaxed), "beginning a CUDA graph");
  Graph graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    driver.stream_end_capture(session.stream(), &graph);
    if (graph) driver.graph_destroy(graph);
    throw;
  }
  session.check(driver.stream_end_capture(session.stream(), &graph), "ending a CUDA graph");
  const Result error = driver.graph_instantiate(&exec_, graph, 0);
  driver.graph_destroy(graph);
  if (error != 0) exec_ = nullptr;
  session.check(error, "instantiating a CUDA graph");
}

Replay::~Replay() {
  if (exec_) session_->driver().graph_exec_destroy(exec_);
}

void Replay::launch() const { session_->check(session_->driver().graph_launch(exec_, session_->stream()), "launching a CUDA graph"); }

namespace {
struct Timer {
  explicit Timer(const Session& s) : session(s) {
    session.check(session.driver().event_create(&begin, 0), "creating an event");
    session.check(session.driver().event_create(&end, 0), "creating an event");
  }
  ~Timer() {
    for (Event event : {begin, end})
      if (event) session.driver().event_destroy(event);
  }
  void record(Event event) const { session.check(session.driver().event_record(event, session.stream()), "recording an event"); }
  double us() const {
    float ms = 0;
    session.check(session.driver().event_elapsed_time(&ms, begin, end), "reading an event");
    return 1e3 * static_cast<double>(ms);
  }
  const Session& session;
  Event begin = nullptr, end = nullptr;
};
}  // namespace

std::vector<double> Replay::time(int warmups, int replays) const {
  const Buffer& flush = session_->flush_buffer();
  const Timer timer(*session_);
  std::vector<double> us;
  for (int i = 0; i < warmups + replays; ++i) {
    flush.fill(0);
    timer.record(timer.begin);
    launch();
    timer.record(timer.end);
    session_->synchronize("timing a CUDA graph");
    if (i >= warmups) us.push_back(timer.us());
  }
  return us;
}

}  // namespace fusec::cuda

namespace fusec {

std::optional<DeviceInfo> find_cuda_device(std::string& missing) {
  const cuda::Driver* driver = cuda::find_driver(missing);
  if (!driver) return std::nullopt;
  cuda::DeviceHandle device = 0;
  DeviceInfo info;
  const cuda::Result error = cuda::first_device(*driver, device, info);
  if (error == 0) return info;
  missing = cuda::init_failure(*driver, error);
  return std::nullopt;
}

}  // namespace fusec
