#include "runtime/dynamic_library.h"

#include "catch.h"
#include "scratch.h"

using namespace fusec;

TEST_CASE("a library is opened by the loader's search, and its path is known") {
  std::vector<std::string> tried;
  const auto library = DynamicLibrary::open_first({"libm.so.6"}, {}, tried);
  REQUIRE(library);
  CHECK(tried.empty());
  CHECK(library->symbol("cos") != nullptr);
  CHECK(library->symbol("no_such_function") == nullptr);
  CHECK(library->path().find("libm") != std::string::npos);
}

TEST_CASE("every place that was tried is told") {
  const ScratchFolder scratch;
  scratch.write("broken/libfusec-none.so.2", "not a library");
  std::filesystem::create_directories(scratch.path / "empty");
  std::vector<std::string> tried;
  const std::string broken = (scratch.path / "broken").string(), empty = (scratch.path / "empty").string();
  CHECK_FALSE(DynamicLibrary::open_first({"libfusec-none.so.2", "libfusec-none.so.1"}, {empty, broken}, tried));
  REQUIRE(tried.size() == 4);
  CHECK(tried[0].find("libfusec-none.so.2") != std::string::npos);
  CHECK(tried[1].find("libfusec-none.so.1") != std::string::npos);
  CHECK(tried[2] == empty + ": no libfusec-none.so.2 or older");
  CHECK(tried[3].find(broken + "/libfusec-none.so.2") != std::string::npos);
}

TEST_CASE("toolkits are looked for in order") {
  const ScratchFolder scratch;
  auto at = [&](const std::string& name) { return (scratch.path / name).string(); };
  for (const char* folder : {"path/lib64", "home/lib", "conda/lib/python3.12/site-packages/nvidia/cu13/lib",
                             "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib", "prefix/bin",
                             "prefix/local/lib/python3.11/dist-packages/nvidia/cu13/lib", "system/lib64", "build/lib"})
    std::filesystem::create_directories(scratch.path / folder);
  scratch.write("prefix/bin/python3", "");
  CudaPlaces places;
  places.cuda_path = at("path");
  places.cuda_home = at("home");
  places.conda_prefix = at("conda");
  places.virtual_env = at("venv");
  places.home = at("nobody");
  places.path = "relative:" + at("prefix/bin");
  places.system_root = at("system");
  places.build_root = at("build");
  CHECK(cuda_library_folders(places) == std::vector<std::string>{at("path/lib64"), at("home/lib"), at("conda/lib"),
                                                                 at("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib"),
                                                                 at("conda/lib/python3.12/site-packages/nvidia/cu13/lib"),
                                                                 at("prefix/local/lib/python3.11/dist-packages/nvidia/cu13/lib"),
                                                                 at("system/lib64"), at("build/lib")});
  CHECK(missing_cuda_roots(places).empty());
  places.build_root = at("path");  // once only
  CHECK(cuda_roots(places).size() == 7);
}

TEST_CASE("toolkits that are named but missing are told") {
  CudaPlaces places;
  places.cuda_path = "/no/such/toolkit";
  places.system_root = "/no/such/cuda";
  CHECK(cuda_roots(places).empty());
  CHECK(missing_cuda_roots(places) == std::vector<std::string>{"CUDA_PATH=/no/such/toolkit", "/no/such/cuda"});
}

TEST_CASE("headers are those of the toolkit that NVRTC belongs to") {
  const ScratchFolder scratch;
  auto at = [&](const std::string& name) { return (scratch.path / name).string(); };
  for (const char* file : {"toolkit/lib64/libnvrtc.so.13", "toolkit/include/cuda_fp16.h", "toolkit/include/cccl/nv/target",
                           "wheels/cuda_nvrtc/lib/libnvrtc.so.12", "wheels/cuda_runtime/include/cuda_fp16.h",
                           "wheels/cuda_cccl/include/nv/target", "bare/lib/libnvrtc.so.13"})
    scratch.write(file, "");
  CudaPlaces places;
  places.system_root = "";
  CHECK(cuda_include_folders(at("toolkit/lib64/libnvrtc.so.13"), places) ==
        std::vector<std::string>{at("toolkit/include"), at("toolkit/include/cccl")});
  CHECK(cuda_include_folders(at("wheels/cuda_nvrtc/lib/libnvrtc.so.12"), places) ==
        std::vector<std::string>{at("wheels/cuda_runtime/include"), at("wheels/cuda_cccl/include")});
  CHECK(cuda_include_folders(at("bare/lib/libnvrtc.so.13"), places).empty());
  places.cuda_path = at("toolkit");
  CHECK(cuda_include_folders(at("bare/lib/libnvrtc.so.13"), places).front() == at("toolkit/include"));
}
