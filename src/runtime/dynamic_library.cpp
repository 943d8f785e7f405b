#include "runtime/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace fusec {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_folder(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

bool is_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

void add_once(std::vector<std::string>& list, const fs::path& path) {
  std::string text = path.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  if (is_folder(text) && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

// The CUDA wheels of one Python installation: nvidia/cu13 holds a whole toolkit, older ones a folder per library.
void add_wheels(std::vector<std::string>& roots, const fs::path& prefix) {
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    std::error_code none;
    std::vector<fs::path> pythons;
    for (fs::directory_iterator it(prefix / lib, none), end; !none && it != end; it.increment(none))
      if (it->path().filename().string().starts_with("python3")) pythons.push_back(it->path());
    std::sort(pythons.rbegin(), pythons.rend());
    for (const fs::path& python : pythons)
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const char* wheel : {"cu13", "cuda_nvrtc", "cuda_runtime"}) add_once(roots, python / packages / "nvidia" / wheel);
  }
}

// The prefixes of the `python3` programs on PATH, as linked and as resolved.
std::vector<fs::path> python_prefixes(const std::string& path) {
  std::vector<fs::path> prefixes;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path python = fs::path(folder) / "python3";
    if (folder.empty() || folder[0] != '/' || !is_there(python)) continue;
    prefixes.push_back(fs::path(folder).parent_path());
    std::error_code none;
    const fs::path real = fs::canonical(python, none);
    if (!none) prefixes.push_back(real.parent_path().parent_path());
  }
  return prefixes;
}

std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name ? map->l_name : name;
}

}  // namespace

std::optional<DynamicLibrary> DynamicLibrary::open(const std::string& name, std::string& why) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    why = reason ? reason : "unknown reason";
    return std::nullopt;
  }
  DynamicLibrary library;
  library.handle_ = handle;
  library.path_ = path_of(handle, name);
  return library;
}

std::optional<DynamicLibrary> DynamicLibrary::open_first(const std::vector<std::string>& names, const std::vector<std::string>& folders,
                                                         std::vector<std::string>& tried) {
  std::string why;
  for (const std::string& name : names) {
    if (auto library = open(name, why)) return library;
    tried.push_back("the loader's search: " + why);
  }
  for (const std::string& folder : folders) {
    bool found = false;
    for (const std::string& name : names) {
      const std::string path = folder + "/" + name;
      if (!is_there(path)) continue;
      found = true;
      if (auto library = open(path, why)) return library;
      tried.push_back(why);
    }
    if (!found) tried.push_back(folder + ": no " + names.front() + (names.size() > 1 ? " or older" : ""));
  }
  return std::nullopt;
}

void* DynamicLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

CudaPlaces CudaPlaces::from_environment() {
  CudaPlaces places;
  places.cuda_path = variable("CUDA_PATH");
  places.cuda_home = variable("CUDA_HOME");
  places.conda_prefix = variable("CONDA_PREFIX");
  places.virtual_env = variable("VIRTUAL_ENV");
  places.home = variable("HOME");
  places.path = variable("PATH");
  places.build_root = FUSEC_CUDA_ROOT;
  return places;
}

std::vector<std::string> cuda_roots(const CudaPlaces& places) {
  std::vector<std::string> roots;
  for (const std::string& root : {places.cuda_path, places.cuda_home, places.conda_prefix})
    if (!root.empty()) add_once(roots, root);
  if (!places.virtual_env.empty()) add_wheels(roots, places.virtual_env);
  if (!places.conda_prefix.empty()) add_wheels(roots, places.conda_prefix);
  if (!places.home.empty()) add_wheels(roots, fs::path(places.home) / ".local");
  for (const fs::path& prefix : python_prefixes(places.path)) add_wheels(roots, prefix);
  for (const std::string& root : {places.system_root, places.build_root})
    if (!root.empty()) add_once(roots, root);
  return roots;
}

std::vector<std::string> missing_cuda_roots(const CudaPlaces& places) {
  std::vector<std::string> missing;
  const std::pair<const char*, std::string> named[] = {{"CUDA_PATH=", places.cuda_path},
                                                       {"CUDA_HOME=", places.cuda_home},
                                                       {"CONDA_PREFIX=", places.conda_prefix},
                                                       {"", places.system_root},
                                                       {"found by the build: ", places.build_root}};
  for (const auto& [name, root] : named)
    if (!root.empty() && !is_folder(root)) missing.push_back(name + root);
  return missing;
}

std::vector<std::string> cuda_library_folders(const CudaPlaces& places) {
  std::vector<std::string> folders;
  for (const std::string& root : cuda_roots(places))
    for (const char* lib : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) add_once(folders, fs::path(root) / lib);
  return folders;
}

std::vector<std::string> cuda_include_folders(const std::string& library, const CudaPlaces& places) {
  std::vector<fs::path> candidates;
  std::error_code none;
  const fs::path real = fs::canonical(library, none);
  if (!none) {
    // …/lib64/libnvrtc.so, …/targets/x86_64-linux/lib/libnvrtc.so, …/nvidia/cuda_nvrtc/lib/libnvrtc.so,
    // /usr/lib/x86_64-linux-gnu/libnvrtc.so
    const fs::path parent = real.parent_path().parent_path();
    candidates = {parent / "include", parent.parent_path() / "cuda_runtime" / "include", parent.parent_path() / "include"};
  }
  for (const std::string& root : cuda_roots(places)) {
    candidates.push_back(fs::path(root) / "include");
    candidates.push_back(fs::path(root) / "targets" / "x86_64-linux" / "include");
  }
  for (const fs::path& folder : candidates) {
    if (!is_there(folder / "cuda_fp16.h")) continue;
    std::vector<std::string> folders = {folder.string()};
    for (const fs::path& more : {folder / "cccl", folder.parent_path().parent_path() / "cuda_cccl" / "include"})
      if (is_folder(more)) folders.push_back(more.string());
    return folders;
  }
  return {};
}

}  // namespace fusec
