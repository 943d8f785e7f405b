#include "runtime/compile_cuda.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>

#include "runtime/device_headers.h"
#include "runtime/nvrtc.h"
#include "support/diag.h"
#include "support/log.h"

namespace fusec {

namespace {

struct DestroyProgram {
  const Nvrtc* nvrtc;
  void operator()(NvrtcProgram* program) const { nvrtc->destroy_program(&program); }
};
using ProgramHandle = std::unique_ptr<NvrtcProgram, DestroyProgram>;

// The log and the results end in a NUL that is counted.
std::string log_of(const Nvrtc& nvrtc, NvrtcProgram* program) {
  size_t size = 0;
  if (nvrtc.get_program_log_size(program, &size) != 0 || size == 0) return "";
  std::string log(size, '\0');
  if (nvrtc.get_program_log(program, log.data()) != 0) return "";
  log.resize(log.find('\0') == std::string::npos ? size : log.find('\0'));
  return log;
}

template <class GetSize, class Get>
std::string result_of(const Nvrtc& nvrtc, NvrtcProgram* program, GetSize get_size, Get get, const char* what) {
  size_t size = 0;
  int error = get_size(program, &size);
  std::string bytes(size, '\0');
  if (error == 0 && size > 0) error = get(program, bytes.data());
  if (error != 0) throw Failure(Exit::kRefused, std::string("NVRTC gave no ") + what + ": " + nvrtc.get_error_string(error));
  return bytes;
}

void check_arch(const Nvrtc& nvrtc, const std::string& arch) {
  const std::vector<int> known = nvrtc.architectures();
  if (known.empty() || std::find(known.begin(), known.end(), parse_arch(arch).number) != known.end()) return;
  std::string list;
  for (int number : known) list += " " + std::to_string(number);
  throw Failure(Exit::kBadInput, "--arch " + arch + ": NVRTC " + std::to_string(nvrtc.major) + "." + std::to_string(nvrtc.minor) + " (" +
                                     nvrtc.path + ") compiles for" + list +
                                     " only. Name one of them, or use another CUDA toolkit (CUDA_PATH).");
}

CacheEntry compile_with_nvrtc(const Nvrtc& nvrtc, const std::string& name, const std::string& source, const std::string& arch,
                              const std::vector<std::string>& options, const std::vector<DeviceHeader>& headers) {
  NvrtcProgram* raw = nullptr;
  std::vector<const char*> texts, names;
  for (const DeviceHeader& header : headers) texts.push_back(header.text), names.push_back(header.name);
  if (const int error =
          nvrtc.create_program(&raw, source.c_str(), (name + ".cu").c_str(), static_cast<int>(headers.size()), texts.data(), names.data()))
    throw Failure(Exit::kRefused, std::string("NVRTC took no program: ") + nvrtc.get_error_string(error));
  const ProgramHandle program(raw, {&nvrtc});
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const int error = nvrtc.compile_program(raw, static_cast<int>(words.size()), words.data());
  CacheEntry entry;
  entry.log = log_of(nvrtc, raw);
  if (error != 0) {
    if (entry.log.find("could not open source file") != std::string::npos && nvrtc.include_folders.empty())
      throw Failure(Exit::kNoDevice, "NVRTC " + nvrtc.path +
                                         " was found, but not the CUDA headers (cuda_fp8.h …) that go with it. Install the " +
                                         "toolkit's headers or set CUDA_PATH; `compile --emit cu` works without.\n" + entry.log);
    throw Failure(Exit::kRefused, "NVRTC refused the CUDA text of '" + name + "' for " + arch + " (" + nvrtc.get_error_string(error) +
                                      "). This is a bug in fusec: please report it with the graph.\n" + entry.log);
  }
  entry.ptx = result_of(nvrtc, raw, nvrtc.get_ptx_size, nvrtc.get_ptx, "PTX");
  while (!entry.ptx.empty() && entry.ptx.back() == '\0') entry.ptx.pop_back();
  if (parse_arch(arch).real) entry.cubin = result_of(nvrtc, raw, nvrtc.get_cubin_size, nvrtc.get_cubin, "machine code");
  return entry;
}

int number_before(const std::string& line, std::string_view word) {
  const size_t at = line.find(word);
  if (at == std::string::npos) return 0;
  size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  int number = 0;
  std::from_chars(line.data() + begin, line.data() + at, number);
  return number;
}

}  // namespace

ArchName parse_arch(const std::string& arch) {
  ArchName name;
  std::string_view rest = arch;
  if (rest.starts_with("sm_")) {
    rest.remove_prefix(3);
  } else if (rest.starts_with("compute_")) {
    rest.remove_prefix(8);
    name.real = false;
  } else {
    rest = {};
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), name.number);
  name.suffix = std::string(end, rest.data() + rest.size());
  const bool known_suffix = name.suffix.empty() || name.suffix == "a" || name.suffix == "f";
  if (error != std::errc() || name.number < 50 || name.number > 999 || !known_suffix)
    throw Failure(Exit::kBadInput,
                  "--arch " + arch + ": an architecture is sm_NN (machine code and PTX) or compute_NN (PTX), for example sm_90");
  return name;
}

std::vector<std::string> nvrtc_options(const std::string& arch, int major, int minor) {
  std::vector<std::string> options = {"--gpu-architecture=" + arch, "--std=c++17"};
  // Without it the folder that fusec happens to run in is searched for headers.
  if (major >= 13) options.push_back("--no-source-include");
  // We have a cache of our own; a hit in NVRTC's has no log.
  if (major > 12 || (major == 12 && minor >= 9)) options.push_back("--no-cache");
  if (parse_arch(arch).real) options.push_back("--ptxas-options=-v");
  return options;
}

CudaBinary compile_cuda(const std::string& name, const std::string& source, const std::string& arch, const CompileCache* cache) {
  const Nvrtc& nvrtc = Nvrtc::get();
  check_arch(nvrtc, arch);
  std::vector<std::string> options = nvrtc_options(arch, nvrtc.major, nvrtc.minor);
  for (const std::string& folder : nvrtc.include_folders) options.push_back("--include-path=" + folder);
  const std::string compiler = "nvrtc " + std::to_string(nvrtc.major) + "." + std::to_string(nvrtc.minor) + " " + nvrtc.path;

  CudaBinary binary;
  binary.arch = arch;
  const std::vector<DeviceHeader> headers = device_headers(source);
  std::string all = source;
  for (const DeviceHeader& header : headers) all += header.text;
  const std::string key = CompileCache::key(all, options, compiler);
  std::optional<CacheEntry> entry;
  if (cache) entry = cache->load(key);
  binary.from_cache = entry.has_value();
  if (!entry) {
    entry = compile_with_nvrtc(nvrtc, name, source, arch, options, headers);
    if (cache)
      if (const std::string why = cache->store(key, *entry); !why.empty())
        log(LogLevel::kWarning, "the compile cache cannot be written: " + why + " (set FUSEC_CACHE_DIR, or --no-cache)");
  }
  binary.usage = parse_ptxas_log(entry->log);
  binary.ptx = std::move(entry->ptx);
  binary.cubin = std::move(entry->cubin);
  return binary;
}

std::map<std::string, KernelUsage> parse_ptxas_log(const std::string& log) {
  std::map<std::string, KernelUsage> usage;
  KernelUsage* kernel = nullptr;
  for (size_t begin = 0; begin < log.size();) {
    const size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    constexpr std::string_view kEntry = "Compiling entry function '";
    if (const size_t at = line.find(kEntry); at != std::string::npos) {
      const size_t from = at + kEntry.size();
      kernel = &usage[line.substr(from, line.find('\'', from) - from)];
    } else if (kernel && line.find("spill stores") != std::string::npos) {
      kernel->spill_bytes = std::max(number_before(line, " bytes spill stores"), number_before(line, " bytes spill loads"));
    } else if (kernel && line.find("Used ") != std::string::npos) {
      kernel->registers = number_before(line, " registers");
      kernel->shared_bytes = number_before(line, " bytes smem");
    }
  }
  return usage;
}

}  // namespace fusec
