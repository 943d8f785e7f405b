#include "graph/dtype.h"

#include <utility>

namespace fusec {

namespace {
constexpr std::pair<std::string_view, DType> kAliases[] = {
    {"uint8", DType::kU8},           {"int8", DType::kI8},       {"int16", DType::kI16},
    {"short", DType::kI16},          {"int32", DType::kI32},     {"int", DType::kI32},
    {"int64", DType::kI64},          {"long", DType::kI64},      {"float8_e4m3fn", DType::kF8E4M3},
    {"float8_e5m2", DType::kF8E5M2}, {"float16", DType::kF16},   {"half", DType::kF16},
    {"fp16", DType::kF16},           {"bfloat16", DType::kBF16}, {"float32", DType::kF32},
    {"float", DType::kF32},          {"fp32", DType::kF32},      {"float64", DType::kF64},
    {"double", DType::kF64},         {"fp64", DType::kF64},
};
}  // namespace

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  for (const auto& [alias, dtype] : kAliases)
    if (alias == name) return dtype;
  return std::nullopt;
}

std::vector<std::string_view> dtype_spellings() {
  std::vector<std::string_view> names;
  for (const DTypeInfo& d : kDTypes) names.push_back(d.name);
  for (const auto& [alias, dtype] : kAliases) names.push_back(alias);
  return names;
}

}  // namespace fusec
