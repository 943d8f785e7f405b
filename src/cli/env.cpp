#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/console.h"
#include "runtime/compile_cache.h"
#include "runtime/device.h"
#include "runtime/nvrtc.h"
#include "support/version.h"

namespace fusec {

namespace {

struct Environment {
  const Nvrtc* nvrtc = nullptr;
  std::vector<std::string> nvrtc_tried;
  std::optional<DeviceInfo> device;
  std::string no_device;
  std::optional<CompileCache> cache;
  std::vector<std::string> advice;  // what is missing and what to do about it
};

std::string version_of(int driver) { return std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10); }

Environment look_around() {
  Environment env;
  env.nvrtc = Nvrtc::find(env.nvrtc_tried);
  env.device = find_cuda_device(env.no_device);
  env.cache = CompileCache::from_environment();
  if (!env.nvrtc)
    env.advice.push_back(
        "No NVRTC: `fusec compile` writes CUDA text only (--emit cu). Install the CUDA toolkit or `pip install nvidia-cuda-nvrtc`, or set "
        "CUDA_PATH.");
  else if (env.nvrtc->include_folders.empty())
    env.advice.push_back(
        "NVRTC, but no CUDA headers (cuda_fp16.h): graphs with f16, bf16 or f8 values cannot be compiled. Install the toolkit's headers, "
        "or set CUDA_PATH.");
  if (!env.device)
    env.advice.push_back("No usable GPU: `fusec run --device cpu` computes on the CPU; `fusec compile --arch sm_90` needs none.");
  if (env.device && env.nvrtc && env.nvrtc->major > env.device->driver_version / 1000)
    env.advice.push_back("NVRTC is newer than the driver: its PTX cannot be loaded here, machine code can (--emit cubin --arch " +
                         env.device->arch() + ").");
  if (!env.cache) env.advice.push_back("No compile cache: none of FUSEC_CACHE_DIR, XDG_CACHE_HOME, HOME is an absolute path.");
  return env;
}

nlohmann::ordered_json to_json(const Environment& env) {
  nlohmann::ordered_json json = {{"fusec", kVersion}, {"nvrtc", nullptr}, {"driver", nullptr}, {"gpu", nullptr}, {"cache", nullptr}};
  if (env.nvrtc)
    json["nvrtc"] = {{"path", env.nvrtc->path},
                     {"version", std::to_string(env.nvrtc->major) + "." + std::to_string(env.nvrtc->minor)},
                     {"architectures", env.nvrtc->architectures()},
                     {"include", env.nvrtc->include_folders}};
  else json["nvrtc_tried"] = env.nvrtc_tried;
  if (env.device) {
    const DeviceInfo& gpu = *env.device;
    json["driver"] = {{"path", gpu.driver_path}, {"cuda", version_of(gpu.driver_version)}};
    json["gpu"] = {{"name", gpu.name},
                   {"arch", gpu.arch()},
                   {"memory_bytes", gpu.memory_bytes},
                   {"multiprocessors", gpu.multiprocessors},
                   {"l2_bytes", gpu.l2_bytes},
                   {"shared_bytes_per_block", gpu.shared_bytes_per_block}};
  } else {
    json["no_gpu"] = env.no_device;
  }
  if (env.cache) {
    const CompileCache::Usage usage = env.cache->usage();
    json["cache"] = {
        {"path", env.cache->folder()}, {"entries", usage.entries}, {"bytes", usage.bytes}, {"max_bytes", CompileCache::kMaxBytes}};
  }
  json["advice"] = env.advice;
  return json;
}

// Continued lines stand under the first.
std::string indented(const std::string& text) {
  std::string result;
  for (char c : text) result += c == '\n' ? std::string("\n           ") : std::string(1, c);
  return result;
}

std::string to_text(const Environment& env) {
  std::string text = std::string("fusec      ") + kVersion + "\n";
  if (env.nvrtc) {
    text += "NVRTC      " + std::to_string(env.nvrtc->major) + "." + std::to_string(env.nvrtc->minor) + ", " + env.nvrtc->path + "\n";
    text += "  compiles for";
    for (int arch : env.nvrtc->architectures()) text += " sm_" + std::to_string(arch);
    text += "\n  headers ";
    for (const std::string& folder : env.nvrtc->include_folders) text += " " + folder;
    text += env.nvrtc->include_folders.empty() ? " not found\n" : "\n";
  } else {
    text += "NVRTC      not found. Tried:\n";
    for (const std::string& place : env.nvrtc_tried) text += "             " + place + "\n";
  }
  if (env.device) {
    const DeviceInfo& gpu = *env.device;
    char memory[32];
    std::snprintf(memory, sizeof memory, "%.1f GiB", static_cast<double>(gpu.memory_bytes) / (1 << 30));
    text += "driver     CUDA " + version_of(gpu.driver_version) + ", " + gpu.driver_path + "\n";
    text +=
        "GPU        " + gpu.name + ", " + gpu.arch() + ", " + memory + ", " + std::to_string(gpu.multiprocessors) + " multiprocessors\n";
  } else {
    text += "GPU        none: " + indented(env.no_device) + "\n";
  }
  if (env.cache) {
    const CompileCache::Usage usage = env.cache->usage();
    char bytes[32];
    std::snprintf(bytes, sizeof bytes, "%.1f MB", static_cast<double>(usage.bytes) * 1e-6);
    text += "cache      " + env.cache->folder() + ", " + std::to_string(usage.entries) + " entries, " + bytes + "\n";
  }
  for (const std::string& advice : env.advice) text += "! " + advice + "\n";
  return text;
}

}  // namespace

int run_env(const EnvCommand& command) {
  const Environment env = look_around();
  print_result(command.json ? to_json(env).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" : to_text(env));
  return 0;
}

}  // namespace fusec
