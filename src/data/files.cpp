#include "data/files.h"

#include "data/formats.h"
#include "support/diag.h"
#include "support/files.h"

namespace fusec {

namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 40;

enum class Format { kSafetensors, kNpy, kNpz };

Format format_of(const std::string& path) {
  auto ends_in = [&](std::string_view ending) { return path.size() > ending.size() && path.ends_with(ending); };
  if (ends_in(".safetensors") || ends_in(".st")) return Format::kSafetensors;
  if (ends_in(".npy")) return Format::kNpy;
  if (ends_in(".npz")) return Format::kNpz;
  throw Failure(Exit::kBadInput, path + ": tensor files end in .safetensors (or .st), .npz or .npy");
}

// "dir/x.npy" → "x": an .npy file holds one tensor and no name.
std::string stem_of(const std::string& path) {
  const size_t slash = path.rfind('/'), begin = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(begin, path.rfind('.') - begin);
}

}  // namespace

int64_t checked_bytes(DType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = bytes_of(dtype);
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) throw Malformed("a negative size in a shape");
    empty |= extent == 0;
  }
  for (int64_t extent : shape)
    if (!empty && __builtin_mul_overflow(bytes, extent, &bytes)) throw Malformed("a shape of more than 2^63 bytes");
  return empty ? 0 : bytes;
}

NamedTensors read_tensors(const std::string& path) {
  const Format format = format_of(path);
  std::string bytes = read_file(path, kMaxFileBytes);
  NamedTensors tensors;
  try {
    switch (format) {
      case Format::kSafetensors:
        tensors = parse_safetensors(bytes);
        break;
      case Format::kNpy:
        tensors = {{stem_of(path), parse_npy(bytes, stem_of(path))}};
        break;
      case Format::kNpz:
        tensors = parse_npz(std::move(bytes));
        break;
    }
  } catch (const Malformed& reason) {
    throw Failure(Exit::kBadInput, path + ": " + reason.what());
  }
  // A bool is 0 or 1 from here on.
  for (auto& [name, tensor] : tensors)
    if (tensor.dtype == DType::kBool)
      for (std::byte& b : tensor.data) b = std::byte{b != std::byte{0}};
  return tensors;
}

void write_tensors(const std::string& path, const NamedTensors& tensors) {
  const Format format = format_of(path);
  std::string bytes;
  try {
    switch (format) {
      case Format::kSafetensors:
        bytes = format_safetensors(tensors);
        break;
      case Format::kNpy:
        if (tensors.size() != 1)
          throw Malformed("an .npy file holds one tensor, not " + std::to_string(tensors.size()) + "; use .npz or .safetensors");
        bytes = format_npy(tensors[0].second, tensors[0].first);
        break;
      case Format::kNpz:
        bytes = format_npz(tensors);
        break;
    }
  } catch (const Malformed& reason) {
    throw Failure(Exit::kBadInput, path + ": " + reason.what());
  }
  write_file(path, bytes);
}

}  // namespace fusec
