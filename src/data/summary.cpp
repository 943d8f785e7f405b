#include "data/summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "reference/convert.h"

namespace fusec {

namespace {

constexpr int64_t kFirstValues = 4;

struct Summary {
  std::string type;
  std::vector<std::string> first;  // a few values
  std::string least, greatest;     // "" when every element is NaN or there is none
  int64_t nans = 0;
};

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}
std::string number(int64_t value) { return std::to_string(value); }

template <class Wide>
void fill(Summary& summary, const Tensor& tensor) {
  constexpr DType kWide = std::is_same_v<Wide, double> ? DType::kF64 : DType::kI64;
  constexpr int64_t kChunk = 4096;
  std::vector<Wide> chunk(kChunk);
  bool any = false;
  Wide least{}, greatest{};
  for (int64_t start = 0; start < tensor.elems(); start += kChunk) {
    const int64_t count = std::min(kChunk, tensor.elems() - start);
    convert(tensor.dtype, tensor.data.data() + start * bytes_of(tensor.dtype), kWide, chunk.data(), count);
    for (int64_t i = 0; i < count; ++i) {
      const Wide value = chunk[static_cast<size_t>(i)];
      if (start + i < kFirstValues) summary.first.push_back(number(value));
      if (value != value) {
        ++summary.nans;
        continue;
      }
      least = any ? std::min(least, value) : value;
      greatest = any ? std::max(greatest, value) : value;
      any = true;
    }
  }
  if (!any) return;
  summary.least = number(least);
  summary.greatest = number(greatest);
}

Summary summarize(const Tensor& tensor) {
  Summary summary;
  summary.type = std::string(name_of(tensor.dtype)) + "[";
  for (size_t d = 0; d < tensor.shape.size(); ++d) summary.type += (d ? "," : "") + std::to_string(tensor.shape[d]);
  summary.type += "]";
  if (is_float(tensor.dtype)) fill<double>(summary, tensor);
  else fill<int64_t>(summary, tensor);
  return summary;
}

// JSON has no infinities and NaN: they are strings, as in graph files.
std::string json_number(const std::string& text) {
  if (text.empty()) return "null";
  if (text.find("nan") != std::string::npos) return "\"nan\"";
  return text.find("inf") != std::string::npos ? '"' + text + '"' : text;
}

}  // namespace

std::string summary_text(const NamedTensors& tensors) {
  size_t name_width = 0, type_width = 0;
  std::vector<Summary> summaries;
  for (const auto& [name, tensor] : tensors) {
    summaries.push_back(summarize(tensor));
    name_width = std::max(name_width, name.size());
    type_width = std::max(type_width, summaries.back().type.size());
  }
  std::string text;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Summary& s = summaries[i];
    std::string line = tensors[i].first + std::string(name_width - tensors[i].first.size() + 2, ' ');
    line += s.type + std::string(type_width - s.type.size() + 2, ' ');
    if (!s.least.empty()) line += "min " + s.least + "  max " + s.greatest + "  ";
    if (s.nans > 0) line += "nan " + std::to_string(s.nans) + "  ";
    for (size_t k = 0; k < s.first.size(); ++k) line += (k ? ", " : "[") + s.first[k];
    if (!s.first.empty()) line += tensors[i].second.elems() > kFirstValues ? ", …]" : "]";
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string summary_json(const NamedTensors& tensors) {
  std::string text = "[";
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    const Summary s = summarize(tensor);
    text += (i ? ", " : "") + ("{\"name\": \"" + name) + "\", \"dtype\": \"" + std::string(name_of(tensor.dtype)) + "\", \"shape\": [";
    for (size_t d = 0; d < tensor.shape.size(); ++d) text += (d ? ", " : "") + std::to_string(tensor.shape[d]);
    text += "], \"min\": " + json_number(s.least) + ", \"max\": " + json_number(s.greatest) + ", \"nan\": " + std::to_string(s.nans) +
            ", \"first\": [";
    for (size_t k = 0; k < s.first.size(); ++k) text += (k ? ", " : "") + json_number(s.first[k]);
    text += "]}";
  }
  return text + "]";
}

}  // namespace fusec
