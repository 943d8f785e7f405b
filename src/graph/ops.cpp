#include "graph/ops.h"

#include "support/check.h"

namespace fusec {

namespace {

using enum OpCategory;
using enum OperandClass;
using enum ResultRule;

constexpr OpInfo kOps[] = {
#define FUSEC_ELEMENTWISE(e, name, arity, operands, result, cost, ref_float, ref_int, f32, f64, integer) \
  {name, OpCategory::kElementwise, arity, arity, 1, "", OperandClass::operands, ResultRule::result, cost, f32, f64, integer},
#define FUSEC_OP(e, name, category, min_operands, max_operands, results, attributes) \
  {name, OpCategory::category, min_operands, max_operands, results, attributes, OperandClass::kAny, ResultRule::kSame, 1, "", "", ""},
#include "graph/ops.def"
};

}  // namespace

const OpInfo& info(OpKind kind) { return kOps[static_cast<size_t>(kind)]; }

}  // namespace fusec
