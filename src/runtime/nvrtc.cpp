#include "runtime/nvrtc.h"

#include <memory>

#include "runtime/dynamic_library.h"
#include "support/diag.h"

namespace fusec {

namespace {

// Newest first; the 11 series kept one SONAME from 11.2 on.
const std::vector<std::string> kNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};

// False with the missing function's name in `missing`.
bool bind_functions(const DynamicLibrary& library, Nvrtc& nvrtc, std::string& missing) {
  auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.symbol(name));
    if (!function) missing = name;
  };
  bind(nvrtc.get_error_string, "nvrtcGetErrorString");
  bind(nvrtc.version, "nvrtcVersion");
  bind(nvrtc.get_num_supported_archs, "nvrtcGetNumSupportedArchs");
  bind(nvrtc.get_supported_archs, "nvrtcGetSupportedArchs");
  bind(nvrtc.create_program, "nvrtcCreateProgram");
  bind(nvrtc.destroy_program, "nvrtcDestroyProgram");
  bind(nvrtc.compile_program, "nvrtcCompileProgram");
  bind(nvrtc.get_ptx_size, "nvrtcGetPTXSize");
  bind(nvrtc.get_ptx, "nvrtcGetPTX");
  bind(nvrtc.get_cubin_size, "nvrtcGetCUBINSize");
  bind(nvrtc.get_cubin, "nvrtcGetCUBIN");
  bind(nvrtc.get_program_log_size, "nvrtcGetProgramLogSize");
  bind(nvrtc.get_program_log, "nvrtcGetProgramLog");
  return missing.empty();
}

struct Search {
  std::unique_ptr<Nvrtc> nvrtc;
  std::vector<std::string> tried;
};

Search search_nvrtc() {
  Search result;
  const CudaPlaces places = CudaPlaces::from_environment();
  const auto library = DynamicLibrary::open_first(kNames, cuda_library_folders(places), result.tried);
  for (const std::string& root : missing_cuda_roots(places)) result.tried.push_back(root + ": no such folder");
  if (!library) return result;
  auto nvrtc = std::make_unique<Nvrtc>();
  nvrtc->path = library->path();
  std::string missing;
  if (!bind_functions(*library, *nvrtc, missing)) {
    result.tried.push_back(nvrtc->path + ": has no " + missing + " (CUDA 11.2 or newer is needed)");
    return result;
  }
  if (const int error = nvrtc->version(&nvrtc->major, &nvrtc->minor)) {
    result.tried.push_back(nvrtc->path + ": nvrtcVersion failed: " + nvrtc->get_error_string(error));
    return result;
  }
  nvrtc->include_folders = cuda_include_folders(nvrtc->path, places);
  result.nvrtc = std::move(nvrtc);
  return result;
}

}  // namespace

const Nvrtc* Nvrtc::find(std::vector<std::string>& tried) {
  static const Search search = search_nvrtc();
  tried.insert(tried.end(), search.tried.begin(), search.tried.end());
  return search.nvrtc.get();
}

const Nvrtc& Nvrtc::get() {
  std::vector<std::string> tried;
  if (const Nvrtc* nvrtc = find(tried)) return *nvrtc;
  std::string text = "NVRTC (CUDA's run-time compiler, libnvrtc) was not found. Tried:\n";
  for (const std::string& place : tried) text += "  " + place + "\n";
  throw Failure(Exit::kNoDevice, text +
                                     "Install the CUDA toolkit or `pip install nvidia-cuda-nvrtc`, or set CUDA_PATH to one. Without it: "
                                     "`compile --emit cu` writes the CUDA text, `run --device cpu` computes on the CPU.");
}

std::vector<int> Nvrtc::architectures() const {
  int count = 0;
  if (get_num_supported_archs(&count) != 0 || count <= 0) return {};
  std::vector<int> list(static_cast<size_t>(count));
  if (get_supported_archs(list.data()) != 0) return {};
  return list;
}

}  // namespace fusec
