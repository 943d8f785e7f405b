// What a reduction keeps while it runs: the state of one row, and how two states become one.
#pragma once

#include "graph/graph.h"
#include "kernel/index.h"
#include "support/ids.h"

namespace fusec {

struct BufferTag;
using BufferId = Id<BufferTag>;

struct Accumulator {
  enum Kind : uint8_t {
    kSum,
    kProd,
    kMax,
    kMin,
    kAll,
    kAny,
    kArgmax,
    kArgmin,
    kMoments,     // count, mean and Σ (x − mean)², by Chan's update
    kDeviations,  // Σ (x − mean)² of a mean that is known
    kLogsumexp,   // greatest, and Σ exp(x − greatest)
  } kind = kSum;
  DType dtype = DType::kF32;  // in which it accumulates
  NodeId operand;
  NodeId mean;        // kDeviations
  Index position;     // kArgmax, kArgmin: along the reduced dim
  Size count;         // operands of a row
  BufferId partials;  // where blocks that share a row leave their states
};

// The kind that computes a reduction, and the dtype in which it accumulates an operand for a result.
Accumulator::Kind accumulator_kind(OpKind kind);
DType accumulator_dtype(OpKind kind, DType operand, DType result);
// The dtype in which a scan accumulates.
DType scan_dtype(DType operand);
// Leaves every value as it is: -0 does so to a sum of floats, +0 would not.
Literal neutral_update(Accumulate how, DType dtype);
// Bytes of a state, and its name and fields in the emitted text.
int state_bytes(const Accumulator& accumulator);

}  // namespace fusec
