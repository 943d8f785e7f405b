#include "runtime/driver.h"

#include <memory>

#include "runtime/dynamic_library.h"

namespace fusec::cuda {

namespace {

struct Search {
  std::unique_ptr<Driver> driver;
  std::vector<std::string> tried;
};

Search search_driver() {
  Search result;
  // The driver belongs to the system, not to a toolkit; the folders are those of distributions, containers and WSL.
  const auto library = DynamicLibrary::open_first(
      {"libcuda.so.1"},
      {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"},
      result.tried);
  if (!library) return result;
  auto driver = std::make_unique<Driver>();
  driver->path = library->path();
  std::string missing;
#define FUSEC_BIND(member, name, parameters)                                           \
  driver->member = reinterpret_cast<decltype(driver->member)>(library->symbol(#name)); \
  if (!driver->member) missing = #name;
  FUSEC_CUDA_FUNCTIONS(FUSEC_BIND)
#undef FUSEC_BIND
  if (missing.empty()) result.driver = std::move(driver);
  else result.tried.push_back(driver->path + ": has no " + missing + " (a driver for CUDA 11.4 or newer is needed)");
  return result;
}

}  // namespace

const Driver* Driver::find(std::vector<std::string>& tried) {
  static const Search search = search_driver();
  tried.insert(tried.end(), search.tried.begin(), search.tried.end());
  return search.driver.get();
}

std::string Driver::describe(Result error) const {
  const char *name = nullptr, *text = nullptr;
  get_error_name(error, &name);
  get_error_string(error, &text);
  return std::string(name ? name : "CUDA error " + std::to_string(error)) + (text ? std::string(": ") + text : "");
}

}  // namespace fusec::cuda
