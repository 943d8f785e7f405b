// Elementwise ops and conversions, block by block: widen the operands to the computing type, apply the row, round once.
#include <algorithm>
#include <cstring>

#include "reference/convert.h"
#include "reference/elementwise_rows.h"
#include "reference/op_call.h"
#include "support/check.h"
#include "support/parallel.h"

namespace fusec::reference {

namespace {

constexpr int64_t kBlockElems = 4096;
// Room for a block of any type.
using Block = std::vector<std::byte>;
Block make_block() { return Block(kBlockElems * 8); }

Kernel kernel_of(OpKind kind, DType computing) {
  switch (computing) {
    case DType::kBool:
      return kernel_for<bool>(kind);
    case DType::kU8:
      return kernel_for<uint8_t>(kind);
    case DType::kI8:
      return kernel_for<int8_t>(kind);
    case DType::kI16:
      return kernel_for<int16_t>(kind);
    case DType::kI32:
      return kernel_for<int32_t>(kind);
    case DType::kI64:
      return kernel_for<int64_t>(kind);
    case DType::kF64:
      return kernel_for<double>(kind);
    default:
      return kernel_for<float>(kind);
  }
}

// An operand, broadcast to the result's shape and widened to the computing type.
class BlockReader {
 public:
  BlockReader(const Tensor& tensor, const Extents& shape, DType computing) : stored_(tensor.dtype), computing_(computing) {
    if (tensor.elems() == 1) {
      fill(tensor.data.data());
    } else {
      view_ = merge_dimensions(broadcast(view_of(tensor), shape));
      dense_ = is_dense(view_);
    }
  }
  // A literal: rounded to `type`, then widened.
  BlockReader(const Literal& literal, DType type, DType computing) : stored_(type), computing_(computing) {
    std::byte value[8];
    store(literal, type, value);
    fill(value);
  }

  const void* read(int64_t start, int64_t count) {
    if (constant_) return values_.data();
    const std::byte* raw = view_.base + start * view_.elem_bytes;
    if (!dense_) {
      reference::read(view_, start, count, raw_.data());
      raw = raw_.data();
    }
    if (stored_ == computing_) return raw;
    convert(stored_, raw, computing_, values_.data(), count);
    return values_.data();
  }

 private:
  void fill(const std::byte* value) {
    constant_ = true;
    const int64_t bytes = bytes_of(computing_);
    convert(stored_, value, computing_, values_.data(), 1);
    for (int64_t i = 1; i < kBlockElems; ++i) std::memcpy(values_.data() + i * bytes, values_.data(), static_cast<size_t>(bytes));
  }

  DType stored_, computing_;
  View view_;
  bool dense_ = false, constant_ = false;
  Block raw_ = make_block(), values_ = make_block();
};

// The dtype that the op's operands share; `where`'s condition stands apart.
DType operand_dtype(const OpCall& call) {
  for (size_t i = call.op.kind == OpKind::kWhere ? 1 : 0; i < call.in.size(); ++i)
    if (call.in[i]) return call.in[i]->dtype;
  FUSEC_CHECK(false, "an op of literals only");
  return DType::kF32;
}

std::vector<BlockReader> readers_of(const OpCall& call, const Extents& shape, DType computing) {
  std::vector<BlockReader> readers;
  for (size_t i = 0; i < call.in.size(); ++i) {
    const bool condition = call.op.kind == OpKind::kWhere && i == 0;
    if (call.in[i]) readers.emplace_back(*call.in[i], shape, computing);
    else readers.emplace_back(*call.op.in[i].literal, condition ? DType::kBool : literal_type(call.graph, call.op), computing);
  }
  return readers;
}

}  // namespace

std::vector<Tensor> evaluate_elementwise(const OpCall& call) {
  const DType computing = computing_type(operand_dtype(call));
  const Kernel kernel = kernel_of(call.op.kind, computing);
  FUSEC_CHECK(kernel != nullptr, call.name() + " does not take " + std::string(name_of(operand_dtype(call))));
  Tensor out(call.dtype(), call.shape());
  // The kernel writes the computing type, or bool.
  const DType written = info(call.op.kind).result == ResultRule::kBool ? DType::kBool : computing;
  in_parallel(out.elems(), kBlockElems, [&](int64_t begin, int64_t end) {
    std::vector<BlockReader> readers = readers_of(call, out.shape, computing);
    Block results = make_block();
    for (int64_t start = begin; start < end; start += kBlockElems) {
      const int64_t count = std::min(kBlockElems, end - start);
      const void* in[3] = {};
      for (size_t i = 0; i < 3; ++i) in[i] = i < readers.size() ? readers[i].read(start, count) : in[0];
      std::byte* to = out.data.data() + start * bytes_of(out.dtype);
      kernel(in[0], in[1], in[2], written == out.dtype ? to : results.data(), count);
      if (written != out.dtype) convert(written, results.data(), out.dtype, to, count);
    }
  });
  return {std::move(out)};
}

std::vector<Tensor> evaluate_conversion(const OpCall& call) {
  const Tensor& x = *call.in[0];
  Tensor out(call.dtype(), call.shape());
  if (call.op.kind == OpKind::kCast) {
    const int64_t from = bytes_of(x.dtype), to = bytes_of(out.dtype);
    in_parallel(out.elems(), kBlockElems, [&](int64_t begin, int64_t end) {
      convert(x.dtype, x.data.data() + begin * from, out.dtype, out.data.data() + begin * to, end - begin);
    });
  } else {
    FUSEC_CHECK(x.data.size() == out.data.size(), "a bitcast between sizes");
    // (A bool in memory is 0 or 1.)
    if (out.dtype == DType::kBool) convert(DType::kU8, x.data.data(), out.dtype, out.data.data(), out.elems());
    else out.data = x.data;
  }
  return {std::move(out)};
}

}  // namespace fusec::reference
