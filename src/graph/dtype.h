// Element types: their names, sizes and kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fusec {

enum class DType : uint8_t { kBool, kU8, kI8, kI16, kI32, kI64, kF8E4M3, kF8E5M2, kF16, kBF16, kF32, kF64 };
inline constexpr int kDTypeCount = 12;

struct DTypeInfo {
  std::string_view name;         // canonical spelling in graph files
  std::string_view safetensors;  // tag in safetensors files
  int bytes;
};
inline constexpr DTypeInfo kDTypes[kDTypeCount] = {
    {"bool", "BOOL", 1},      {"u8", "U8", 1},          {"i8", "I8", 1},   {"i16", "I16", 2},   {"i32", "I32", 4}, {"i64", "I64", 8},
    {"f8e4m3", "F8_E4M3", 1}, {"f8e5m2", "F8_E5M2", 1}, {"f16", "F16", 2}, {"bf16", "BF16", 2}, {"f32", "F32", 4}, {"f64", "F64", 8},
};

constexpr const DTypeInfo& info(DType t) { return kDTypes[static_cast<int>(t)]; }
constexpr std::string_view name_of(DType t) { return info(t).name; }
constexpr int bytes_of(DType t) { return info(t).bytes; }
constexpr bool is_float(DType t) { return t >= DType::kF8E4M3; }
constexpr bool is_f8(DType t) { return t == DType::kF8E4M3 || t == DType::kF8E5M2; }
constexpr bool is_narrow_float(DType t) { return is_float(t) && bytes_of(t) <= 2; }
constexpr bool is_integer(DType t) { return t >= DType::kU8 && t <= DType::kI64; }
// The type in which elementwise ops compute: f32 for f8, f16 and bf16, else the type itself.
constexpr DType computing_type(DType t) { return is_narrow_float(t) ? DType::kF32 : t; }

// Canonical names and the PyTorch aliases ("float16", "half", "long", …).
std::optional<DType> parse_dtype(std::string_view name);
std::vector<std::string_view> dtype_spellings();

}  // namespace fusec
