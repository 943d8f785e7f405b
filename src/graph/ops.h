// The op table of ops.def as data.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace fusec {

enum class OpKind : uint8_t {
#define FUSEC_ELEMENTWISE(e, ...) k##e,
#define FUSEC_OP(e, ...) k##e,
#include "graph/ops.def"
  kCount
};

enum class OpCategory : uint8_t {
  kElementwise,
  kConvert,
  kShape,
  kCreation,
  kReduction,
  kScan,
  kSort,
  kGather,
  kScatter,
  kComposite,
  kMatmul
};
enum class OperandClass : uint8_t { kAny, kNumber, kFloat, kInteger, kIntegerOrBool, kBoolOnly };
enum class ResultRule : uint8_t { kSame, kBool };

struct OpInfo {
  std::string_view name;
  OpCategory category;
  int min_operands, max_operands;  // max -1: any number
  int results;
  std::string_view attributes;  // "dim? accumulate?": optional ones end in '?'
  // Elementwise rows only:
  OperandClass operands;
  ResultRule result;
  int cost;  // instructions an element
  std::string_view cuda_f32, cuda_f64, cuda_int;
};

const OpInfo& info(OpKind kind);
inline std::string_view name_of(OpKind kind) { return info(kind).name; }
// Elementwise or a conversion: result element i depends on operand elements i only.
inline bool is_pointwise(OpKind kind) { return info(kind).category <= OpCategory::kConvert; }
inline bool is_view(OpKind kind) { return info(kind).category == OpCategory::kShape; }
inline bool is_creation(OpKind kind) { return info(kind).category == OpCategory::kCreation; }
// Ops for which this version emits CUDA; the others are refused by name before lowering.
inline bool has_lowering(OpKind kind) {
  return info(kind).category <= OpCategory::kReduction || info(kind).category == OpCategory::kGather ||
         info(kind).category == OpCategory::kScatter;
}
// Ops that the CPU reference evaluates (composites by expansion).
inline bool has_reference(OpKind kind) { return info(kind).category != OpCategory::kMatmul; }

}  // namespace fusec
