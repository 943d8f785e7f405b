// The one virtual interface of the runtime: a GPU that executes a bound program.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/tensor.h"
#include "graph/graph.h"
#include "runtime/bind_program.h"

namespace fusec {

struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int64_t memory_bytes = 0, l2_bytes = 0, shared_bytes_per_block = 0;
  int multiprocessors = 0;
  double peak_gbps = 0;    // of the memory, from its clock and width; 0 when the driver does not say
  int driver_version = 0;  // 13000 is CUDA 13.0
  std::string driver_path;
  std::string arch() const { return "sm_" + std::to_string(major * 10 + minor); }
};

// What a kernel leaves in the error record when it meets an index out of range; all zero when none did.
struct ErrorRecord {
  int64_t code = 0, position = 0, index = 0, size = 0;  // code: 1 + the position in the program's checks
  bool raised() const { return code != 0; }
};

// One graph on a device: code loaded, buffers allocated, inputs uploaded, all launches in one CUDA graph.
class LoadedGraph {
 public:
  virtual ~LoadedGraph() = default;
  // Executes the graph once. What is to be written holds 0xFF bytes before, so that an element left out shows.
  virtual void run() = 0;
  virtual ErrorRecord error_record() = 0;
  virtual std::vector<Tensor> outputs() = 0;
  // Microseconds of each of `replays` executions after `warmups`, by two events around a CUDA graph replay, the L2 cache overwritten before
  // each.
  virtual std::vector<double> time(int warmups, int replays) = 0;
  // The same for the launches of one segment alone, in a CUDA graph of their own.
  virtual std::vector<double> time_segment(uint32_t segment, int warmups, int replays) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  // `graph` has no symbols; `image` is a cubin or PTX text; one tensor per graph input, in order.
  // Failure(kRefused) names what did not fit or was refused: memory, shared memory, registers, threads, the grid.
  virtual std::unique_ptr<LoadedGraph> load(const Graph& graph, const BoundProgram& program, const std::string& image,
                                            const std::vector<Tensor>& inputs) = 0;
  // LoadedGraph::time for the copy kernel of copy_kernel.h, compiled as `image`.
  virtual std::vector<double> time_copy(const std::string& image, int warmups, int replays) = 0;
};

// The first GPU that the driver shows (CUDA_VISIBLE_DEVICES chooses). Failure(kNoDevice) with what is missing and the remedy.
std::unique_ptr<Device> open_cuda_device();
// What that GPU is, without starting work on it; nothing without a usable one, then `missing` says why.
std::optional<DeviceInfo> find_cuda_device(std::string& missing);

}  // namespace fusec
