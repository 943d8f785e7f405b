#include "data/files.h"

#include <minizip/zip.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "catch.h"
#include "data/formats.h"
#include "support/diag.h"

using namespace fusec;

namespace {

// A fresh folder that goes away again.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("fusec-data-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

Tensor bytes_of_type(DType t, std::vector<int64_t> shape) {
  Tensor tensor(t, std::move(shape));
  for (size_t i = 0; i < tensor.data.size(); ++i) tensor.data[i] = static_cast<std::byte>(t == DType::kBool ? i % 2 : i * 7 + 1);
  return tensor;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no failure";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string with_header(const std::string& header, const std::string& data = "") {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string npy(const std::string& dict, const std::string& data, char major = 1) {
  std::string bytes = std::string("\x93NUMPY") + major + '\0';
  const auto length = static_cast<uint32_t>(dict.size());
  bytes.append(reinterpret_cast<const char*>(&length), major == 1 ? 2 : 4);
  return bytes + dict + data;
}

}  // namespace

TEST_CASE("safetensors keep every dtype and shape", "[data]") {
  const Folder folder;
  NamedTensors tensors;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto t = static_cast<DType>(i);
    tensors.emplace_back("t." + std::string(name_of(t)), bytes_of_type(t, {2, 3}));
  }
  tensors.emplace_back("scalar", bytes_of_type(DType::kF32, {}));
  tensors.emplace_back("y#2", bytes_of_type(DType::kBF16, {3, 0, 2}));
  write_tensors(folder.file("a.safetensors"), tensors);
  CHECK(read_tensors(folder.file("a.safetensors")) == tensors);
  CHECK(parse_safetensors(
            with_header(R"({"__metadata__": {"format": "pt"}, "x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})", "z"))
            .size() == 1);
}

TEST_CASE("damaged safetensors are refused", "[data]") {
  auto refused = [](const std::string& bytes) { return message_of([&] { parse_safetensors(bytes); }); };
  auto one = [&](const std::string& entry) { return refused(with_header(R"({"x": {)" + entry + "}}", "1234")); };
  CHECK(contains(refused(""), "too short"));
  CHECK(contains(refused(std::string(8, '\xff')), "header would be"));
  CHECK(contains(refused(with_header("{")), "no JSON"));
  CHECK(contains(refused(with_header("[]")), "no JSON object"));
  CHECK(contains(refused(with_header("{\"x\": \xff}")), "no JSON"));
  CHECK(contains(refused(with_header(std::string(100000, '['))), "deep"));
  CHECK(contains(refused(with_header(R"({"x": 3})")), "no object"));
  CHECK(contains(one(R"("dtype": "F32", "shape": [1])"), "no data_offsets"));
  CHECK(contains(one(R"("dtype": "C64", "shape": [1], "data_offsets": [0, 4])"), "C64"));
  CHECK(contains(one(R"("dtype": "F32", "shape": [-1], "data_offsets": [0, 4])"), "integers"));
  CHECK(contains(one(R"("dtype": "F32", "shape": [2], "data_offsets": [0, 4])"), "its shape needs 8"));
  CHECK(contains(one(R"("dtype": "F32", "shape": [1], "data_offsets": [0, 400])"), "outside"));
  CHECK(contains(one(R"("dtype": "F32", "shape": [1], "data_offsets": [4, 0])"), "outside"));
  CHECK(contains(one(R"("dtype": "U8", "shape": [2], "data_offsets": [0, 2])"), "belong to no tensor"));
  CHECK(contains(one(R"("dtype": "U8", "shape": [2], "data_offsets": [2, 4])"), "does not follow"));
  CHECK(contains(one(R"("dtype": "F64", "shape": [4294967296, 4294967296], "data_offsets": [0, 4])"), "2^63"));
  CHECK(contains(
      refused(with_header(
          R"({"x": {"dtype": "U8", "shape": [], "data_offsets": [0, 1]}, "x": {"dtype": "U8", "shape": [], "data_offsets": [1, 2]}})",
          "ab")),
      "twice"));
  CHECK(contains(
      refused(with_header(
          R"({"x": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}, "y": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}})",
          "abc")),
      "overlaps"));
}

TEST_CASE("every prefix of a file is refused without a crash", "[data]") {
  const NamedTensors tensors = {{"x", bytes_of_type(DType::kF32, {5})}, {"y", bytes_of_type(DType::kI64, {2, 2})}};
  const std::string safe = format_safetensors(tensors), zip = format_npz(tensors), single = format_npy(tensors[0].second, "x");
  for (size_t n = 0; n < safe.size(); ++n) REQUIRE_THROWS_AS(parse_safetensors(safe.substr(0, n)), Malformed);
  for (size_t n = 0; n < single.size(); ++n) REQUIRE_THROWS_AS(parse_npy(single.substr(0, n), "x"), Malformed);
  for (size_t n = 0; n < zip.size(); ++n) REQUIRE_THROWS_AS(parse_npz(zip.substr(0, n)), Malformed);
  // A flipped byte may go unnoticed in data or padding, but never crashes.
  for (size_t n = 0; n < zip.size(); ++n) {
    std::string damaged = zip;
    damaged[n] = static_cast<char>(damaged[n] ^ 0x5a);
    try {
      parse_npz(damaged);
    } catch (const Malformed&) {
    }
  }
}

TEST_CASE("npy headers", "[data]") {
  const std::string six("\x01\x02\x03\x04\x05\x06", 6);
  const Tensor rows = parse_npy(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", six), "x");
  CHECK(rows.shape == std::vector<int64_t>{2, 3});
  CHECK(rows.as<uint8_t>()[1] == 2);
  const Tensor columns = parse_npy(npy("{'shape': (2,3), \"fortran_order\": True, 'descr': '|u1'}\n", six, 3), "x");
  CHECK(std::vector<int>(columns.as<uint8_t>(), columns.as<uint8_t>() + 6) == std::vector<int>{1, 3, 5, 2, 4, 6});
  CHECK(parse_npy(npy("{'descr': '<f2', 'fortran_order': False, 'shape': (), }", "ab", 2), "x").shape.empty());
  auto refused = [&](const std::string& dict, char major = 1) { return message_of([&] { parse_npy(npy(dict, six, major), "x"); }); };
  CHECK(contains(refused("{'descr': '>i2', 'fortran_order': False, 'shape': (3,)}"), "big-endian"));
  CHECK(contains(refused("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}"), "<c8"));
  CHECK(contains(refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}"), "plain string"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (7,)}"), "needs 7"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (-6,)}"), "no size"));
  CHECK(contains(refused("{'descr': '|u1', 'shape': (6,)}"), "lacks"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (6,)} x"), "after"));
  CHECK(contains(refused("{'descr': '|u1', 'fortran_order': False, 'shape': (6,)", 1), "'}'"));
  CHECK(contains(refused("{}", 4), "version 4"));
}

TEST_CASE("npy and npz files", "[data]") {
  const Folder folder;
  const NamedTensors tensors = {
      {"in.x:0", bytes_of_type(DType::kF64, {3})}, {"y#2", bytes_of_type(DType::kBool, {2, 2})}, {"z", bytes_of_type(DType::kI16, {0, 4})}};
  write_tensors(folder.file("a.npz"), tensors);
  CHECK(read_tensors(folder.file("a.npz")) == tensors);
  write_tensors(folder.file("w.npy"), {{"any", tensors[0].second}});
  CHECK(read_tensors(folder.file("w.npy")) == NamedTensors{{"w", tensors[0].second}});
  CHECK(contains(message_of([&] { write_tensors(folder.file("b.npz"), {{"h", bytes_of_type(DType::kBF16, {1})}}); }),
                 "no bf16 ('h'); use .safetensors"));
  CHECK(!std::filesystem::exists(folder.file("b.npz")));
  CHECK(contains(message_of([&] { write_tensors(folder.file("b.npy"), tensors); }), "one tensor"));
  CHECK(contains(message_of([&] { read_tensors(folder.file("a.pt")); }), "end in .safetensors (or .st), .npz or .npy"));
  CHECK(contains(message_of([&] { read_tensors(folder.file("none.npz")); }), "none.npz"));
}

TEST_CASE("deflated npz", "[data]") {
  const Folder folder;
  const Tensor zeros(DType::kF32, {1000});
  const std::string content = format_npy(zeros, "zeros");
  zipFile archive = zipOpen(folder.file("d.npz").c_str(), APPEND_STATUS_CREATE);
  REQUIRE(zipOpenNewFileInZip(archive, "zeros.npy", nullptr, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED, 9) == ZIP_OK);
  REQUIRE(zipWriteInFileInZip(archive, content.data(), static_cast<unsigned>(content.size())) == ZIP_OK);
  zipCloseFileInZip(archive);
  zipClose(archive, nullptr);
  CHECK(std::filesystem::file_size(folder.file("d.npz")) < 400);
  CHECK(read_tensors(folder.file("d.npz")) == NamedTensors{{"zeros", zeros}});
}
