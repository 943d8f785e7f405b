// y = scatter(x, index, src, add) of floats  →  two scatters of integers, which give the same bits in any order of the updates:
//   m = scatter(|x|, index, |src|, max)                          the greatest magnitude that meets in an element, as bits
//   a = scatter(0, index, round(src · 2^(B−k)), add)             in i64, with 2^k > m
//   y = (a + round(x · 2^(B−k))) · 2^(k−B)                       rounded once
// B leaves room for the sum of all updates of one element. Of f64 a second sum takes the remainders of the roundings, scaled likewise.
// A NaN is the greatest magnitude; where it is infinite, the sum counts plus and minus infinities instead; where all are −0, it is −1.
// An element without updates gives x: f32 and narrower are whole multiples of the scale, f64 of that of the remainders; of NaNs x is kept.
#include <algorithm>
#include <bit>
#include <cmath>

#include "rewrite/deterministic.h"

namespace fusec {

namespace {

struct FloatBits {
  DType type, bits;
  int64_t magnitude, infinity;  // masks
  int64_t mantissa;             // bits
};
constexpr FloatBits kF32Bits = {DType::kF32, DType::kI32, 0x7fffffff, 0x7f800000, 23};
constexpr FloatBits kF64Bits = {DType::kF64, DType::kI64, 0x7fffffffffffffff, 0x7ff0000000000000, 52};

constexpr int64_t kAssumedUpdates = int64_t{1} << 31;  // where a run-time size has no bound
constexpr int64_t kLowBits = 20;                       // of the first sum: what is above them is an exact f64
constexpr int64_t kMinusShift = 32;                    // infinities: plus ones are counted below, minus ones above

// The bits that remain for one summand beside n others.
int64_t summand_bits(const Size& updates, const Symbols& symbols) {
  int64_t n = upper_bound(updates, symbols);
  if (n == INT64_MAX) n = kAssumedUpdates;
  return 62 - std::bit_width(static_cast<uint64_t>(n));
}

class Sum {
 public:
  explicit Sum(ScatterSteps& steps)
      : s_(steps),
        f_(steps.dtype == DType::kF64 ? kF64Bits : kF32Bits),
        wide_(steps.dtype == DType::kF64),
        bits_(summand_bits(steps.updates, steps.graph().symbols)) {}

  void run();

 private:
  // A number as multiples of the scale, and the rest as multiples of a finer one (f64 only).
  struct Multiples {
    ValueId whole, rest;
  };

  bool starts_at_zero() const;
  ValueId magnitude(ValueId v);
  ValueId exponent(ValueId m);
  ValueId power(ValueId exponent_bits) {
    const ValueId shifted = s_.step("power_bits", OpKind::kShl, operand(exponent_bits), constant(kF64Bits.mantissa));
    return s_.bitcast("power", shifted, DType::kF64);
  }
  Multiples multiples(ValueId v, ValueId m);
  ValueId infinities(ValueId v);
  ValueId rounded_sum(const Multiples& total, ValueId m);
  ValueId special_sums(ValueId y, ValueId count, ValueId m);
  void finish(ValueId y, ValueId m);
  ValueId summed(const char* name, ValueId multiples) {
    const ValueId zero = s_.full("zero", s_[s_.x].shape, DType::kI64, Literal{int64_t{0}});
    return s_.scatter(name, zero, operand(multiples), Accumulate::kAdd);
  }

  ScatterSteps& s_;
  const FloatBits f_;
  const bool wide_;
  const int64_t bits_;
};

// The usual base. (+0: it takes part in no sum, and none is −0.)
bool Sum::starts_at_zero() const {
  const OpId def = s_[s_.x].def;
  if (!def.valid() || s_.graph()[def].kind != OpKind::kFull) return false;
  const double value = s_.graph().attrs(s_.graph()[def]).value.as_double();
  return value == 0 && !std::signbit(value);
}

// |v| as an integer of its order; −1 for −0.
ValueId Sum::magnitude(ValueId v) {
  const ValueId bits = s_.bitcast("bits", v, f_.bits);
  const ValueId size = s_.step("size", OpKind::kBitwiseAnd, operand(bits), constant(f_.magnitude));
  const ValueId minus_zero = s_.step("minus_zero", OpKind::kEq, operand(bits), constant(-f_.magnitude - 1));
  return s_.step("magnitude", OpKind::kWhere, {operand(minus_zero), constant(int64_t{-1}), operand(size)});
}

// The exponent's field in i64, that of denormals as if they were normal.
ValueId Sum::exponent(ValueId m) {
  const ValueId field = s_.step("field", OpKind::kShr, operand(m), constant(f_.mantissa));
  return s_.cast("exponent", s_.step("normal_field", OpKind::kMaximum, operand(field), constant(int64_t{1})), DType::kI64);
}

Sum::Multiples Sum::multiples(ValueId v, ValueId m) {
  const ValueId field = exponent(m);
  ValueId scaled;
  if (wide_) {
    // In two steps: the scale itself may be no f64.
    const ValueId near_one = s_.step("near_one", OpKind::kSub, constant(int64_t{2047}), operand(field));
    const ValueId normal = s_.step("normal", OpKind::kMul, operand(v), operand(power(near_one)));
    scaled = s_.step("scaled", OpKind::kMul, operand(normal), constant(std::ldexp(1.0, static_cast<int>(bits_ - 2))));
  } else {
    const ValueId scale = power(s_.step("scale_field", OpKind::kSub, constant(1149 + bits_), operand(field)));
    scaled = s_.step("scaled", OpKind::kMul, operand(s_.cast("widened", v, DType::kF64)), operand(scale));
  }
  const ValueId whole = s_.step("whole", OpKind::kRound, {operand(scaled)});
  const ValueId finite = s_.step("finite", OpKind::kLt, operand(m), constant(f_.infinity));
  Multiples result;
  result.whole = s_.step("multiples", OpKind::kWhere,
                         {operand(finite), operand(s_.cast("whole_integer", whole, DType::kI64)), operand(infinities(v))});
  if (wide_) {
    const ValueId rest = s_.step("rest", OpKind::kSub, operand(scaled), operand(whole));
    const ValueId fine = s_.step("fine", OpKind::kMul, operand(rest), constant(std::ldexp(1.0, static_cast<int>(bits_))));
    result.rest = s_.cast("rest_integer", s_.step("fine_whole", OpKind::kRound, {operand(fine)}), DType::kI64);
  }
  return result;
}

ValueId Sum::infinities(ValueId v) {
  const double infinity = HUGE_VAL;
  const ValueId plus = s_.cast("plus_one", s_.step("plus", OpKind::kEq, operand(v), constant(infinity)), DType::kI64);
  const ValueId minus = s_.cast("minus_one", s_.step("minus", OpKind::kEq, operand(v), constant(-infinity)), DType::kI64);
  const ValueId above = s_.step("minus_count", OpKind::kShl, operand(minus), constant(kMinusShift));
  return s_.step("infinities", OpKind::kAdd, operand(plus), operand(above));
}

ValueId Sum::rounded_sum(const Multiples& total, ValueId m) {
  const ValueId field = exponent(m);
  if (!wide_) {
    const ValueId unit = power(s_.step("unit_field", OpKind::kAdd, operand(field), constant(897 - bits_)));
    return s_.step("sum", OpKind::kMul, operand(s_.cast("total_widened", total.whole, DType::kF64)), operand(unit));
  }
  auto f64 = [&](const char* name, ValueId v) { return operand(s_.cast(name, v, DType::kF64)); };
  const ValueId low = s_.step("low", OpKind::kBitwiseAnd, operand(total.whole), constant((int64_t{1} << kLowBits) - 1));
  const ValueId high = s_.step("high", OpKind::kSub, operand(total.whole), operand(low));
  const ValueId rest =
      s_.step("rest_sum", OpKind::kMul, f64("rest_widened", total.rest), constant(std::ldexp(1.0, static_cast<int>(-bits_))));
  const ValueId small = s_.step("small", OpKind::kAdd, f64("low_widened", low), operand(rest));
  const ValueId sum = s_.step("multiple", OpKind::kAdd, f64("high_widened", high), operand(small));
  const ValueId normal = s_.step("normal_sum", OpKind::kMul, operand(sum), constant(std::ldexp(1.0, static_cast<int>(1 - bits_))));
  return s_.step("sum", OpKind::kMul, operand(normal), operand(power(field)));
}

// Where an infinity or a NaN takes part.
ValueId Sum::special_sums(ValueId y, ValueId count, ValueId m) {
  auto infinite = [&](const char* name, ValueId some) {
    const ValueId any = s_.step(name, OpKind::kNe, operand(some), constant(int64_t{0}));
    const ValueId counted = s_.step("counted", OpKind::kGe, operand(m), constant(f_.infinity));
    return s_.step(name, OpKind::kLogicalAnd, operand(counted), operand(any));
  };
  const ValueId plus =
      infinite("any_plus", s_.step("plus_total", OpKind::kBitwiseAnd, operand(count), constant((int64_t{1} << kMinusShift) - 1)));
  const ValueId minus = infinite("any_minus", s_.step("minus_total", OpKind::kShr, operand(count), constant(kMinusShift)));
  const ValueId both = s_.step("both", OpKind::kLogicalAnd, operand(plus), operand(minus));
  const ValueId nan = s_.step("any_nan", OpKind::kGt, operand(m), constant(f_.infinity));
  y = s_.step("or_inf", OpKind::kWhere, {operand(plus), constant(HUGE_VAL), operand(y)});
  y = s_.step("or_minus_inf", OpKind::kWhere, {operand(minus), constant(-HUGE_VAL), operand(y)});
  const ValueId undefined = s_.step("undefined", OpKind::kLogicalOr, operand(both), operand(nan));
  return s_.step("or_nan", OpKind::kWhere, {operand(undefined), constant(std::nan("")), operand(y)});
}

void Sum::finish(ValueId y, ValueId m) {
  if (starts_at_zero()) return s_.last(s_.dtype == DType::kF64 ? OpKind::kCopy : OpKind::kCast, {operand(y)});
  const ValueId all_minus_zero = s_.step("all_minus_zero", OpKind::kLt, operand(m), constant(int64_t{0}));
  y = s_.step("or_minus_zero", OpKind::kWhere, {operand(all_minus_zero), constant(-0.0), operand(y)});
  const ValueId sum = s_.cast("rounded", y, s_.dtype);
  if (s_.dtype == DType::kF8E5M2) {
    // A rounding to f8 makes an infinity finite, but not where there is no update.
    return s_.last_where(s_.touched(), sum, s_.x);
  }
  const ValueId nan = s_.step("nan_before", OpKind::kIsNan, {operand(s_.x)});
  s_.last_where(nan, s_.x, sum);
}

void Sum::run() {
  const ValueId src = s_.cast("src_wide", s_.source("src"), f_.type);
  const bool from_zero = starts_at_zero();
  const ValueId x = from_zero ? s_.x : s_.cast("before", s_.x, f_.type);
  const ValueId least = from_zero ? s_.full("no_magnitude", s_[x].shape, f_.bits, Literal{int64_t{0}}) : magnitude(x);
  const ValueId m = s_.scatter("greatest", least, operand(magnitude(src)), Accumulate::kMax);
  const Multiples updates = multiples(src, s_.at_updates("greatest_there", m));
  Multiples total = {summed("total", updates.whole), {}};
  if (wide_) total.rest = summed("rest_total", updates.rest);
  if (!from_zero) {
    const Multiples before = multiples(x, m);
    total.whole = s_.step("total_with_x", OpKind::kAdd, operand(total.whole), operand(before.whole));
    if (wide_) total.rest = s_.step("rest_with_x", OpKind::kAdd, operand(total.rest), operand(before.rest));
  }
  finish(special_sums(rounded_sum(total, m), total.whole, m), m);
}

}  // namespace

void add_in_any_order(ScatterSteps& s) { Sum(s).run(); }

}  // namespace fusec
