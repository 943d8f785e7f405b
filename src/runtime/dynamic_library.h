// Shared libraries opened at run time, and where CUDA's are looked for. They are never closed: they do not survive it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fusec {

class DynamicLibrary {
 public:
  // Tries the loader's own search (which knows libraries already loaded and LD_LIBRARY_PATH) for every name, then every name in every
  // folder. Every place that failed is appended to `tried`, in words.
  static std::optional<DynamicLibrary> open_first(const std::vector<std::string>& names, const std::vector<std::string>& folders,
                                                  std::vector<std::string>& tried);
  void* symbol(const char* name) const;  // null when there is none
  const std::string& path() const { return path_; }

 private:
  static std::optional<DynamicLibrary> open(const std::string& name, std::string& why);
  void* handle_ = nullptr;
  std::string path_;
};

// What decides where the CUDA toolkit is looked for.
struct CudaPlaces {
  std::string cuda_path, cuda_home, conda_prefix, virtual_env, home, path;  // the environment variables of these names; "" when unset
  std::string system_root = "/usr/local/cuda";
  std::string build_root;  // the toolkit found when fusec was built

  static CudaPlaces from_environment();
};

// Toolkit folders in search order (CUDA_PATH, CUDA_HOME, conda, Python wheels, the system's, the build's): those that exist, once each.
std::vector<std::string> cuda_roots(const CudaPlaces& places);
// Those of the named places that are set but no folder.
std::vector<std::string> missing_cuda_roots(const CudaPlaces& places);
// The folders below those roots that can hold libraries, in the same order.
std::vector<std::string> cuda_library_folders(const CudaPlaces& places);
// Include folders for the NVRTC at `library`: those of the toolkit it belongs to when they hold the CUDA headers, else the first root that
// does. Empty when there are none.
std::vector<std::string> cuda_include_folders(const std::string& library, const CudaPlaces& places);

}  // namespace fusec
