// full, iota, uniform, normal.
#include <cmath>
#include <cstring>
#include <variant>

#include "reference/convert.h"
#include "reference/op_call.h"
#include "reference/philox.h"
#include "support/check.h"

namespace fusec::reference {

namespace {

void fill(Tensor& out, const Literal& value) {
  std::byte element[8];
  store(value, out.dtype, element);
  const size_t bytes = static_cast<size_t>(bytes_of(out.dtype));
  for (size_t at = 0; at < out.data.size(); at += bytes) std::memcpy(out.data.data() + at, element, bytes);
}

// a + b, rounded to odd: what a later rounding to at most 64 bits makes of it is the rounding of the exact sum.
Quad sum_to_odd(Quad a, Quad b) {
  const Quad sum = a + b, b_part = sum - a;
  const Quad rest = (a - (sum - b_part)) + (b - b_part);  // exact (Knuth's two-sum)
  if (!(rest < 0) && !(rest > 0)) return sum;
  unsigned __int128 bits = 0;
  static_assert(sizeof(bits) == sizeof(Quad));
  std::memcpy(&bits, &sum, sizeof bits);
  if (bits & 1) return sum;
  // The odd neighbour on the exact sum's side.
  const bool grow = (sum < 0) == (rest < 0);
  bits += grow ? 1 : -1;
  Quad odd;
  std::memcpy(&odd, &bits, sizeof odd);
  return odd;
}

// start + i·step: integers exactly, in 64-bit wrapping arithmetic where the result is an integer.
void fill_iota(Tensor& out, const Attrs& attrs) {
  const Lines lines(out.shape, attrs.dim);
  const auto *start = std::get_if<int64_t>(&attrs.start.value), *step = std::get_if<int64_t>(&attrs.step.value);
  const bool integers = start && step;
  const int64_t bytes = bytes_of(out.dtype);
  for (int64_t k = 0; out.elems() > 0 && k < lines.extent; ++k) {
    std::byte element[8];
    if (integers && !is_float(out.dtype)) {
      store(static_cast<int64_t>(static_cast<uint64_t>(*start) + static_cast<uint64_t>(k) * static_cast<uint64_t>(*step)), out.dtype,
            element);
    } else if (integers) {
      store(static_cast<Quad>(*start) + static_cast<Quad>(k) * static_cast<Quad>(*step), out.dtype, element);
    } else {
      const Quad product = static_cast<Quad>(k) * static_cast<Quad>(attrs.step.as_double());
      store(sum_to_odd(static_cast<Quad>(attrs.start.as_double()), product), out.dtype, element);
    }
    for (int64_t o = 0; o < lines.outer; ++o)
      for (int64_t i = 0; i < lines.inner; ++i)
        std::memcpy(out.data.data() + lines.at(o, k, i) * bytes, element, static_cast<size_t>(bytes));
  }
}

void fill_uniform(Tensor& out, const Attrs& attrs) {
  const int bits = uniform_bits(out.dtype);
  const int64_t bytes = bytes_of(out.dtype), per_block = out.dtype == DType::kF64 ? 2 : 4;
  PhiloxWords words{};
  for (int64_t i = 0; i < out.elems(); ++i) {
    const size_t at = static_cast<size_t>(i % per_block);
    if (at == 0) words = philox_block(attrs.seed, attrs.stream, static_cast<uint64_t>(i / per_block));
    std::byte* to = out.data.data() + i * bytes;
    if (out.dtype == DType::kF64) store(static_cast<double>(word_pair(words, 2 * at) >> 11) * 0x1p-53, out.dtype, to);
    else store(std::ldexp(static_cast<float>(words[at] >> (32 - bits)), -bits), out.dtype, to);
  }
}

template <class T>
void fill_normal(Tensor& out, const Attrs& attrs) {
  const int64_t bytes = bytes_of(out.dtype);
  std::array<T, 4> block{};
  for (int64_t i = 0; i < out.elems(); ++i) {
    if (i % 4 == 0) block = normals<T>(philox_block(attrs.seed, attrs.stream, static_cast<uint64_t>(i / 4)));
    store(block[static_cast<size_t>(i % 4)], out.dtype, out.data.data() + i * bytes);
  }
}

}  // namespace

std::vector<Tensor> evaluate_creation(const OpCall& call) {
  Tensor out(call.dtype(), call.shape());
  switch (call.op.kind) {
    case OpKind::kFull:
      fill(out, call.attrs.value);
      break;
    case OpKind::kIota:
      fill_iota(out, call.attrs);
      break;
    case OpKind::kUniform:
      fill_uniform(out, call.attrs);
      break;
    case OpKind::kNormal:
      out.dtype == DType::kF64 ? fill_normal<double>(out, call.attrs) : fill_normal<float>(out, call.attrs);
      break;
    default:
      FUSEC_CHECK(false, "not a creation op: " + call.name());
  }
  return {std::move(out)};
}

}  // namespace fusec::reference
