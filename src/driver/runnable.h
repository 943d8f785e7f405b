// What `fusec run` executes on a GPU: a graph compiled now, or one that `fusec compile` wrote to a folder.
#pragma once

#include <string>

#include "driver/compile.h"
#include "runtime/compile_cuda.h"
#include "runtime/device.h"
#include "runtime/manifest.h"

namespace fusec {

struct Runnable {
  Graph graph;                            // as read; may have run-time sizes
  Manifest manifest;                      // launches and the symbols of their sizes
  std::string image;                      // cubin or PTX for the device
  double compile_ms = 0, segment_ms = 0;  // from the text to the image; 0 for segmentation that was done before
};

// The machine code for the device, or PTX where this NVRTC does not know it yet.
CudaBinary compile_for_device(const std::string& name, const std::string& source, const DeviceInfo& device, const CompileCache* cache);

// `arch`: what to compile for, "" for the device's own.
Runnable make_runnable(Compilation compilation, const Target& target, const std::string& arch, const DeviceInfo& device,
                       const CompileCache* cache);

struct CompiledFolder {
  Graph graph;
  Manifest manifest;
  std::string folder;
};
// `path` is a folder that `fusec compile` wrote, or a manifest in one (see is_compiled).
// Failure(kBadInput) when the folder holds no manifest, several, or a damaged one.
CompiledFolder read_compiled(const std::string& path, const ReadOptions& options);
bool is_compiled(const std::string& path);

// Takes the machine code for the device's architecture, else that of an earlier minor version, else the PTX, else compiles the .cu file.
// Failure(kBadInput) when a file does not have the hash that the manifest gives.
Runnable make_runnable(CompiledFolder compiled, const DeviceInfo& device, const CompileCache* cache);

}  // namespace fusec
