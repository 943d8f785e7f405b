// .npz: a zip archive of NAME.npy files, stored or deflated. minizip works on memory through the streams below.
#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "data/formats.h"
#include "support/text.h"

namespace fusec {

namespace {

struct MemoryStream {
  std::string bytes;
  size_t at = 0;
};

// The archive of `stream` as the functions that minizip calls.
zlib_filefunc64_def functions_on(MemoryStream& stream) {
  zlib_filefunc64_def f{};
  f.opaque = &stream;
  f.zopen64_file = [](void* s, const void*, int) { return s; };
  f.zread_file = [](void*, void* s, void* to, uLong n) -> uLong {
    auto& m = *static_cast<MemoryStream*>(s);
    const size_t count = m.at < m.bytes.size() ? std::min<size_t>(n, m.bytes.size() - m.at) : 0;
    if (count > 0) std::memcpy(to, m.bytes.data() + m.at, count);
    m.at += count;
    return static_cast<uLong>(count);
  };
  f.zwrite_file = [](void*, void* s, const void* from, uLong n) -> uLong {
    auto& m = *static_cast<MemoryStream*>(s);
    if (m.bytes.size() < m.at + n) m.bytes.resize(m.at + n);
    std::memcpy(m.bytes.data() + m.at, from, n);
    m.at += n;
    return n;
  };
  f.ztell64_file = [](void*, void* s) -> ZPOS64_T { return static_cast<MemoryStream*>(s)->at; };
  f.zseek64_file = [](void*, void* s, ZPOS64_T offset, int origin) -> long {
    auto& m = *static_cast<MemoryStream*>(s);
    const size_t base = origin == ZLIB_FILEFUNC_SEEK_CUR ? m.at : origin == ZLIB_FILEFUNC_SEEK_END ? m.bytes.size() : 0;
    if (offset > m.bytes.size() - std::min(base, m.bytes.size())) return -1;
    m.at = base + offset;
    return 0;
  };
  f.zclose_file = [](void*, void*) { return 0; };
  f.zerror_file = [](void*, void*) { return 0; };
  return f;
}

// The current entry's content. Sizes in the directory are not believed beyond what deflate can make of the bytes there are.
std::string extract(unzFile archive, const unz_file_info64& about, const std::string& name, size_t archive_bytes) {
  constexpr uint64_t kMostPerByte = 1032;
  if (about.uncompressed_size > kMostPerByte * archive_bytes) throw Malformed(fusec::quoted(name) + " claims an impossible size");
  if (about.flag & 1) throw Malformed(fusec::quoted(name) + " is encrypted");
  if (unzOpenCurrentFile(archive) != UNZ_OK) throw Malformed(fusec::quoted(name) + " cannot be unpacked");
  std::string content(about.uncompressed_size, '\0');
  size_t done = 0;
  while (done < content.size()) {
    const auto want = static_cast<unsigned>(std::min<size_t>(content.size() - done, size_t{1} << 30));
    const int got = unzReadCurrentFile(archive, content.data() + done, want);
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  const int closed = unzCloseCurrentFile(archive);
  if (done != content.size()) throw Malformed(fusec::quoted(name) + " is damaged: its data ends early");
  if (closed != UNZ_OK) throw Malformed(fusec::quoted(name) + " is damaged: wrong checksum");
  return content;
}

// minizip does not miss the last bytes of an archive; a file that was cut off there is still damaged.
void check_end(const std::string& bytes) {
  constexpr size_t kEndBytes = 22;  // of the record that ends an archive, without its comment
  const size_t at = bytes.rfind("PK\x05\x06");
  if (at == std::string::npos || bytes.size() - at < kEndBytes) throw Malformed("no .npz file (a zip archive), or its end is missing");
}

}  // namespace

NamedTensors parse_npz(std::string bytes) {
  check_end(bytes);
  MemoryStream stream{std::move(bytes)};
  zlib_filefunc64_def functions = functions_on(stream);
  const std::unique_ptr<void, int (*)(unzFile)> archive(unzOpen2_64("", &functions), unzClose);
  if (!archive) throw Malformed("no .npz file (a zip archive)");
  NamedTensors tensors;
  for (int at = unzGoToFirstFile(archive.get()); at != UNZ_END_OF_LIST_OF_FILE; at = unzGoToNextFile(archive.get())) {
    if (at != UNZ_OK) throw Malformed("the archive's directory is damaged");
    unz_file_info64 about{};
    if (unzGetCurrentFileInfo64(archive.get(), &about, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
      throw Malformed("the archive's directory is damaged");
    std::string name(about.size_filename + 1, '\0');
    unzGetCurrentFileInfo64(archive.get(), &about, name.data(), about.size_filename + 1, nullptr, 0, nullptr, 0);
    name.pop_back();
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    for (const auto& [other, tensor] : tensors)
      if (other == name) throw Malformed("the archive holds " + fusec::quoted(name) + " twice");
    tensors.emplace_back(name, parse_npy(extract(archive.get(), about, name, stream.bytes.size()), name));
  }
  return tensors;
}

std::string format_npz(const NamedTensors& tensors) {
  MemoryStream stream;
  zlib_filefunc64_def functions = functions_on(stream);
  zipFile archive = zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
  bool written = archive != nullptr;
  zip_fileinfo about{};
  about.dosDate = 33 << 16;  // 1980-01-01, as NumPy writes it: equal data gives equal bytes
  try {
    for (const auto& [name, tensor] : tensors) {
      const std::string content = format_npy(tensor, name);
      const bool zip64 = content.size() > 0xf0000000u;
      written = written &&
                zipOpenNewFileInZip64(archive, (name + ".npy").c_str(), &about, nullptr, 0, nullptr, 0, nullptr, 0, 0, zip64) == ZIP_OK;
      for (size_t done = 0; written && done < content.size();) {
        const auto count = static_cast<unsigned>(std::min<size_t>(content.size() - done, size_t{1} << 30));
        written = zipWriteInFileInZip(archive, content.data() + done, count) == ZIP_OK;
        done += count;
      }
      written = written && zipCloseFileInZip(archive) == ZIP_OK;
    }
  } catch (...) {
    if (archive) zipClose(archive, nullptr);
    throw;
  }
  if (archive) written = zipClose(archive, nullptr) == ZIP_OK && written;
  if (!written) throw Malformed("the archive could not be made");
  return std::move(stream.bytes);
}

}  // namespace fusec
