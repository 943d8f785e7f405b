// The CUDA driver with one device, its context and one stream, and what is owned there. Errors become Failures that name what was asked
// for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device.h"
#include "runtime/driver.h"

namespace fusec::cuda {

class Buffer;

class Session {
 public:
  // Null without a usable GPU; then `missing` says why.
  static std::unique_ptr<Session> open(std::string& missing);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Driver& driver() const { return driver_; }
  Stream stream() const { return stream_; }
  const DeviceInfo& info() const { return info_; }
  // Failure(kRefused) "WHAT: CUDA_ERROR_…" unless `result` is success.
  void check(Result result, const std::string& what) const;
  // Waits for the stream.
  void synchronize(const std::string& what) const { check(driver_.stream_synchronize(stream_), what); }
  // 256 MiB, more than any L2 cache: what is overwritten between measurements. Allocated when first asked for.
  const Buffer& flush_buffer() const;

 private:
  Session(const Driver& driver, const DeviceInfo& info) : driver_(driver), info_(info) {}
  Result start(DeviceHandle device);  // context, stream
  const Driver& driver_;
  DeviceInfo info_;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  mutable std::unique_ptr<Buffer> flush_;
};

// Device memory. A buffer of 0 bytes still has an address of its own.
class Buffer {
 public:
  Buffer() = default;
  // `what` names its use in the message when memory is short.
  Buffer(const Session& session, const std::string& what, int64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept { return swap(other), *this; }

  Pointer pointer() const { return pointer_; }
  int64_t bytes() const { return bytes_; }
  void upload(const void* host) const;
  void download(void* host) const;
  void fill(unsigned char byte) const;  // on the session's stream

 private:
  void swap(Buffer& other) noexcept;
  const Session* session_ = nullptr;
  Pointer pointer_ = 0;
  int64_t bytes_ = 0;
};

// Loaded machine code or PTX.
class Code {
 public:
  Code(const Session& session, const std::string& image);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  Function function(const std::string& kernel) const;

 private:
  const Session& session_;
  Module module_ = nullptr;
};

// What `enqueue` puts on the session's stream, captured as a CUDA graph.
class Replay {
 public:
  Replay() = default;
  Replay(const Session& session, const std::function<void()>& enqueue);
  ~Replay();
  Replay(Replay&& other) noexcept { swap(other); }
  Replay& operator=(Replay&& other) noexcept { return swap(other), *this; }
  void launch() const;

  // Microseconds of each replay after the warm-ups: overwrite the L2 cache by a memset, event, replay, event.
  std::vector<double> time(int warmups, int replays) const;

 private:
  void swap(Replay& other) noexcept { std::swap(session_, other.session_), std::swap(exec_, other.exec_); }
  const Session* session_ = nullptr;
  GraphExec exec_ = nullptr;
};

// "1.50 GiB"
std::string bytes_text(int64_t bytes);

}  // namespace fusec::cuda
