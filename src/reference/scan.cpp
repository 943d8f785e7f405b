// Scans: running sums, products and extremes along one dimension.
#include <limits>

#include "reference/math.h"
#include "reference/op_call.h"
#include "reference/wide.h"
#include "support/check.h"

namespace fusec::reference {

namespace {

// The value that an exclusive cummax or cummin starts with: below (above) every value of the dtype.
template <class Wide>
Wide identity(OpKind kind, DType t) {
  const bool max = kind == OpKind::kCummax;
  if constexpr (std::is_floating_point_v<Wide>) {
    return max ? -std::numeric_limits<Wide>::infinity() : std::numeric_limits<Wide>::infinity();
  } else {
    const int width = 8 * bytes_of(t);
    if (t == DType::kBool) return max ? 0 : 1;
    if (t == DType::kU8) return max ? 0 : 255;
    const Wide least = std::numeric_limits<Wide>::min() >> (64 - width);
    return max ? least : ~least;
  }
}

// Calls step(element) for a line's elements in scanning order; `step` returns the result there.
template <class Wide, class F>
void scan_line(const OpCall& call, const Lines& lines, int64_t o, int64_t i, const std::vector<Wide>& x, std::vector<Wide>& out, F step) {
  for (int64_t k = 0; k < lines.extent; ++k) {
    const size_t at = static_cast<size_t>(lines.at(o, call.attrs.reverse ? lines.extent - 1 - k : k, i));
    out[at] = step(x[at]);
  }
}

template <class Wide>
Tensor scanned(const OpCall& call) {
  const Tensor& x = *call.in[0];
  const OpKind kind = call.op.kind;
  const bool exclusive = call.attrs.exclusive;
  const Lines lines(x.shape, call.attrs.dim);
  const std::vector<Wide> in = widen<Wide>(x);
  std::vector<Wide> out(in.size());
  for (int64_t o = 0; o < lines.outer; ++o)
    for (int64_t i = 0; i < lines.inner; ++i) {
      if (kind == OpKind::kCumsum || kind == OpKind::kCumprod) {
        using A = Accumulator<Wide>;
        A total = kind == OpKind::kCumprod ? 1 : 0;
        scan_line(call, lines, o, i, in, out, [&](Wide value) {
          const A before = total;
          total = kind == OpKind::kCumprod ? total * static_cast<A>(value) : total + static_cast<A>(value);
          return settled<Wide>(exclusive ? before : total, x.dtype);
        });
      } else {
        Wide best = identity<Wide>(kind, x.dtype);
        scan_line(call, lines, o, i, in, out, [&](Wide value) {
          const Wide before = best;
          best = kind == OpKind::kCummax ? maximum(best, value) : minimum(best, value);
          return exclusive ? before : best;
        });
      }
    }
  return narrow(out, x.dtype, x.shape);
}

}  // namespace

std::vector<Tensor> evaluate_scan(const OpCall& call) {
  if (is_float(call.in[0]->dtype)) return {scanned<double>(call)};
  return {scanned<int64_t>(call)};
}

}  // namespace fusec::reference
