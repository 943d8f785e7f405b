// safetensors: an 8-byte little-endian header length, a JSON object {name: {dtype, shape, data_offsets}}, then the data without gaps.
#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "data/formats.h"
#include "support/text.h"

namespace fusec {

static_assert(std::endian::native == std::endian::little, "tensor files are little-endian");

namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

// Names each object may hold once; nlohmann would keep the last of equal ones.
Json parse_header(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::string repeated;
  auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > 8) throw Malformed("the header is nested too deeply");
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second) repeated = parsed.get<std::string>();
    return true;
  };
  Json header;
  try {
    header = Json::parse(text, watch);
  } catch (const Json::exception& e) {
    throw Malformed("the header is no JSON: " + shown(e.what()));
  }
  if (!repeated.empty()) throw Malformed("the header names " + fusec::quoted(repeated) + " twice");
  if (!header.is_object()) throw Malformed("the header is no JSON object");
  return header;
}

DType dtype_of(const std::string& name, const Json& tag) {
  if (!tag.is_string()) throw Malformed(fusec::quoted(name) + " has no dtype");
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].safetensors == tag.get_ref<const std::string&>()) return static_cast<DType>(i);
  throw Malformed(fusec::quoted(name) + " has dtype " + fusec::quoted(tag.get<std::string>()) + ", which graphs do not have");
}

std::vector<int64_t> sizes_of(const std::string& name, const Json& list, const char* what) {
  if (!list.is_array()) throw Malformed(fusec::quoted(name) + " has no " + what);
  std::vector<int64_t> sizes;
  for (const Json& item : list) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > uint64_t{INT64_MAX})
      throw Malformed("the " + std::string(what) + " of " + fusec::quoted(name) + " must be integers ≥ 0");
    sizes.push_back(item.get<int64_t>());
  }
  return sizes;
}

struct Entry {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape, range;
};

Entry entry_of(const std::string& name, const Json& item, int64_t data_bytes) {
  if (!item.is_object()) throw Malformed(fusec::quoted(name) + " is no object");
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!item.contains(key)) throw Malformed(fusec::quoted(name) + " has no " + key);
  Entry entry{name, dtype_of(name, item["dtype"]), sizes_of(name, item["shape"], "shape"),
              sizes_of(name, item["data_offsets"], "data_offsets")};
  const auto& range = entry.range;
  if (range.size() != 2 || range[0] > range[1] || range[1] > data_bytes)
    throw Malformed("the data_offsets of " + fusec::quoted(name) + " lie outside the file");
  const int64_t bytes = checked_bytes(entry.dtype, entry.shape);
  if (range[1] - range[0] != bytes)
    throw Malformed(fusec::quoted(name) + " has " + std::to_string(range[1] - range[0]) + " bytes of data; its shape needs " +
                    std::to_string(bytes));
  return entry;
}

// The tensors must cover the data exactly.
void check_cover(const std::vector<Entry>& entries, int64_t data_bytes) {
  std::vector<const Entry*> order;
  for (const Entry& e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) { return a->range < b->range; });
  int64_t at = 0;
  for (const Entry* e : order) {
    if (e->range[0] != at)
      throw Malformed("the data of " + fusec::quoted(e->name) +
                      (e->range[0] < at ? " overlaps another tensor's" : " does not follow the data before it"));
    at = e->range[1];
  }
  if (at != data_bytes) throw Malformed("the file has " + std::to_string(data_bytes - at) + " bytes that belong to no tensor");
}

}  // namespace

NamedTensors parse_safetensors(std::string_view bytes) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) throw Malformed("too short for a safetensors file");
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - sizeof header_bytes)
    throw Malformed("no safetensors file: its header would be " + std::to_string(header_bytes) + " bytes long");
  const Json header = parse_header(bytes.substr(sizeof header_bytes, header_bytes));
  const std::string_view data = bytes.substr(sizeof header_bytes + header_bytes);
  std::vector<Entry> entries;
  for (const auto& [name, item] : header.items())
    if (name != "__metadata__") entries.push_back(entry_of(name, item, static_cast<int64_t>(data.size())));
  check_cover(entries, static_cast<int64_t>(data.size()));
  NamedTensors tensors;
  for (const Entry& e : entries) {
    Tensor tensor(e.dtype, e.shape);
    if (!tensor.data.empty()) std::memcpy(tensor.data.data(), data.data() + e.range[0], tensor.data.size());
    tensors.emplace_back(e.name, std::move(tensor));
  }
  return tensors;
}

std::string format_safetensors(const NamedTensors& tensors) {
  Json header = Json::object();
  uint64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", info(tensor.dtype).safetensors}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.data.size()}}};
    at += tensor.data.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t header_bytes = text.size();
  std::string bytes(sizeof header_bytes, '\0');
  std::memcpy(bytes.data(), &header_bytes, sizeof header_bytes);
  bytes.reserve(bytes.size() + text.size() + at);
  bytes += text;
  for (const auto& [name, tensor] : tensors) bytes.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return bytes;
}

}  // namespace fusec
