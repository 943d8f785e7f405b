// What a set of ops moves and computes as one kernel: bytes touched, lane instructions, and how often each op is evaluated.
#pragma once

#include <vector>

#include "segment/facts.h"
#include "segment/segment.h"

namespace fusec {

// Where a value is evaluated: at one index map (a path of views from the stored result; 0 is the identity), `evals` elements.
struct Context {
  uint64_t path = 0;
  double evals = 0;
};

// A value read from memory, and the index maps at which it is read.
struct Read {
  ValueId value;
  std::vector<Context> contexts;
};

struct Evaluation {
  std::vector<Read> reads;  // by value id
  std::vector<ValueId> writes;
  double instructions = 0, atomics = 0;
  double copies = 0;       // Σ over ops of the index maps at which each is evaluated
  size_t most_copies = 1;  // of one op
  int64_t bytes_read = 0, bytes_written = 0;
};

// The union of two lists of index maps; equal paths are one.
void add_contexts(std::vector<Context>& to, const std::vector<Context>& from);
// `inner` seen through `outer`: every pair composed; evaluations scale by what outer asks of `elems` elements.
std::vector<Context> compose(const std::vector<Context>& inner, const std::vector<Context>& outer, double elems);

int64_t touched_bytes(const Facts& facts, const Read& read);
int64_t written_bytes(const Facts& facts, ValueId value);

class Evaluator {
 public:
  explicit Evaluator(const Facts& facts);
  // `ops`: in rank order, closed under everything `outputs` need except values read from memory. `inline_reductions`: small
  // reductions are loops inside a thread, evaluated wherever their results are.
  Evaluation evaluate(const std::vector<OpId>& ops, const std::vector<ValueId>& outputs, bool inline_reductions = false);

  // More index maps than this for one op are not told apart.
  static constexpr size_t kMaxContexts = 64;

 private:
  void spread(OpId op, const std::vector<Context>& contexts);
  void ask(ValueId operand, Context context);

  const Facts& facts_;
  bool inline_reductions_ = false;
  uint32_t stamp_ = 0;
  IdVec<OpId, uint32_t> member_;
  IdVec<OpId, std::vector<Context>> at_;
  IdVec<ValueId, uint32_t> read_stamp_, read_place_;
  Evaluation result_;
};

// Estimated µs of a kernel, its launch included. `parallel`: the share of the multiprocessors that have work.
double kernel_us(const Evaluation& evaluation, const Target& target, double parallel = 1);

}  // namespace fusec
