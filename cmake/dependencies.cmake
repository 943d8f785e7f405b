# Packages: Debian's (or any installed) first, else a pinned download.
include(FetchContent)
find_package(Threads REQUIRED)

find_package(nlohmann_json 3.11 QUIET)
if(NOT nlohmann_json_FOUND)
  FetchContent_Declare(nlohmann_json URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
    URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
  FetchContent_MakeAvailable(nlohmann_json)
endif()

find_package(CLI11 2.1 QUIET)
if(NOT CLI11_FOUND)
  FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git GIT_TAG v2.4.2)
  FetchContent_MakeAvailable(CLI11)
endif()

# spdlog and its fmt, header-only, so that the binary carries no shared library.
find_package(spdlog 1.10 QUIET)
find_package(fmt QUIET)
add_library(fusec_spdlog INTERFACE)
if(spdlog_FOUND AND fmt_FOUND)
  target_link_libraries(fusec_spdlog INTERFACE spdlog::spdlog_header_only fmt::fmt-header-only)
else()
  FetchContent_Declare(spdlog GIT_REPOSITORY https://github.com/gabime/spdlog.git GIT_TAG v1.14.1)
  FetchContent_MakeAvailable(spdlog)
  target_link_libraries(fusec_spdlog INTERFACE spdlog::spdlog_header_only)
endif()

# minizip and zlib for .npz, static.
find_library(FUSEC_MINIZIP_LIBRARY NAMES libminizip.a REQUIRED)
find_library(FUSEC_ZLIB_LIBRARY NAMES libz.a REQUIRED)
find_path(FUSEC_MINIZIP_INCLUDE minizip/unzip.h REQUIRED)
add_library(fusec_minizip INTERFACE)
target_include_directories(fusec_minizip SYSTEM INTERFACE ${FUSEC_MINIZIP_INCLUDE})
target_link_libraries(fusec_minizip INTERFACE ${FUSEC_MINIZIP_LIBRARY} ${FUSEC_ZLIB_LIBRARY})

# The CUDA toolkit: its folder is remembered as a last place to look for headers and NVRTC at run time. Nothing is linked.
find_path(FUSEC_CUDA_INCLUDE cuda.h HINTS $ENV{CUDA_PATH}/include $ENV{CUDA_HOME}/include /usr/local/cuda/include)
if(FUSEC_CUDA_INCLUDE)
  get_filename_component(FUSEC_CUDA_ROOT ${FUSEC_CUDA_INCLUDE}/.. ABSOLUTE)
else()
  set(FUSEC_CUDA_ROOT "")
  message(STATUS "CUDA toolkit not found: fusec will look for it at run time only")
endif()

if(FUSEC_BUILD_TESTS)
  find_package(Catch2 QUIET)
  if(NOT Catch2_FOUND)
    FetchContent_Declare(Catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2.git GIT_TAG v3.5.4)
    FetchContent_MakeAvailable(Catch2)
  endif()
endif()
