// .npy, versions 1 to 3: a magic string, a version, a header length, a Python dict literal, the elements.
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>

#include "data/formats.h"
#include "support/text.h"

namespace fusec {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyType {
  std::string_view descr;  // kind and size, without the byte order
  DType dtype;
};
constexpr NpyType kTypes[] = {{"b1", DType::kBool}, {"u1", DType::kU8},  {"i1", DType::kI8},  {"i2", DType::kI16}, {"i4", DType::kI32},
                              {"i8", DType::kI64},  {"f2", DType::kF16}, {"f4", DType::kF32}, {"f8", DType::kF64}};

struct Header {
  DType dtype = DType::kF32;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

DType dtype_of(std::string_view descr) {
  if (!descr.empty() && descr[0] == '>')
    throw Malformed("big-endian data (" + fusec::quoted(std::string(descr)) + ") is not read; convert it with .astype(…newbyteorder('<'))");
  const std::string_view type = descr.substr(descr.empty() ? 0 : descr.find_first_not_of("<|=") == 0 ? 0 : 1);
  for (const NpyType& t : kTypes)
    if (t.descr == type) return t.dtype;
  throw Malformed("dtype " + fusec::quoted(std::string(descr)) + " is not one that graphs have");
}

// Reads the one form of dict that NumPy writes: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, keys in any order.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : text_(text) {}

  Header read() {
    std::optional<DType> dtype;
    std::optional<bool> fortran;
    std::optional<std::vector<int64_t>> shape;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") dtype = dtype_of(string());
      else if (key == "fortran_order") fortran = boolean();
      else if (key == "shape") shape = tuple();
      else throw Malformed("unknown key " + fusec::quoted(std::string(key)) + " in the header");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) throw Malformed("text after the header's dict");
    if (!dtype || !fortran || !shape) throw Malformed("the header lacks descr, fortran_order or shape");
    return {*dtype, *fortran, *shape};
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw Malformed(std::string("the header has no '") + c + "' where one belongs");
  }
  std::string_view string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    // (A structured dtype is a list here.)
    if (end == std::string_view::npos) throw Malformed("the header has no plain string where one belongs");
    const std::string_view text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return text;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    throw Malformed("fortran_order is neither True nor False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t size = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) throw Malformed("the shape holds something that is no size");
      at_ += static_cast<size_t>(end - begin);
      accept('L');
      sizes.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Column-major elements in row-major order.
Tensor transposed(const Tensor& columns, const std::vector<int64_t>& shape) {
  Tensor rows(columns.dtype, shape);
  const int64_t elem_bytes = bytes_of(rows.dtype);
  std::vector<int64_t> position(shape.size(), 0), strides(shape.size());
  int64_t stride = 1;
  for (size_t d = 0; d < shape.size(); stride *= shape[d++]) strides[d] = stride;
  for (int64_t i = 0; i < rows.elems(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < shape.size(); ++d) from += position[d] * strides[d];
    std::memcpy(rows.data.data() + i * elem_bytes, columns.data.data() + from * elem_bytes, static_cast<size_t>(elem_bytes));
    for (size_t d = shape.size(); d-- > 0 && ++position[d] == shape[d];) position[d] = 0;
  }
  return rows;
}

}  // namespace

Tensor parse_npy(std::string_view bytes, const std::string& name) {
  auto wrong = [&](const std::string& what) { return Malformed(fusec::quoted(name) + ": " + what); };
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) throw wrong("no .npy file");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) throw wrong(".npy version " + std::to_string(major) + " is unknown");
  uint32_t header_bytes = 0;
  const size_t length_bytes = major == 1 ? 2 : 4;
  std::memcpy(&header_bytes, bytes.data() + 8, length_bytes);
  std::string_view rest = bytes.substr(8 + length_bytes);
  if (header_bytes > rest.size()) throw wrong("the file ends inside its header");
  try {
    const Header header = DictReader(rest.substr(0, header_bytes)).read();
    rest.remove_prefix(header_bytes);
    const int64_t needed = checked_bytes(header.dtype, header.shape);
    if (static_cast<int64_t>(rest.size()) != needed)
      throw Malformed(std::to_string(rest.size()) + " bytes of data; the shape needs " + std::to_string(needed));
    Tensor tensor(header.dtype, header.shape);
    if (needed > 0) std::memcpy(tensor.data.data(), rest.data(), rest.size());
    return header.fortran_order ? transposed(tensor, header.shape) : tensor;
  } catch (const Malformed& reason) {
    throw wrong(reason.what());
  }
}

std::string format_npy(const Tensor& tensor, const std::string& name) {
  std::string descr;
  for (const NpyType& t : kTypes)
    if (t.dtype == tensor.dtype) descr = (bytes_of(t.dtype) == 1 ? "|" : "<") + std::string(t.descr);
  if (descr.empty())
    throw Malformed("NumPy files have no " + std::string(name_of(tensor.dtype)) + " (" + fusec::quoted(name) +
                    "); use .safetensors, or cast in the graph");
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.shape) dict += std::to_string(size) + ", ";
  if (tensor.shape.size() > 1) dict.resize(dict.size() - 2);
  else if (tensor.shape.size() == 1) dict.pop_back();
  dict += "), }";
  // The elements start at a multiple of 64 bytes.
  const bool version_2 = dict.size() > 65000;
  const size_t before = version_2 ? 12 : 10;
  dict.append((64 - (before + dict.size() + 1) % 64) % 64, ' ');
  dict += '\n';
  const auto length = static_cast<uint32_t>(dict.size());
  std::string bytes(kMagic);
  bytes += version_2 ? '\x02' : '\x01';
  bytes += '\0';
  bytes.append(reinterpret_cast<const char*>(&length), version_2 ? 4 : 2);
  bytes += dict;
  bytes.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return bytes;
}

}  // namespace fusec
