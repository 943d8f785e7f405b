#include "emit/accumulator.h"

#include <limits>

#include "emit/cuda.h"
#include "emit/expression.h"
#include "support/check.h"

namespace fusec {

namespace {

struct KindRow {
  const char* type;
  const char* value;  // the field with the result
};
constexpr KindRow kKinds[] = {
    {"fs_Sum", "value"},       {"fs_Prod", "value"}, {"fs_Max", "value"},          {"fs_Min", "value"},
    {"fs_All", "value"},       {"fs_Any", "value"},  {"fs_ArgMax", "index"},       {"fs_ArgMin", "index"},
    {"fs_Moments", "squares"}, {"fs_Sum", "value"},  {"fs_LogSumExp", "greatest"},
};

// The least or greatest value that an element can have.
std::string extreme(DType dtype, bool least) {
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return literal_text(Literal{least ? -infinity : infinity}, dtype);
  }
  const bool wide = dtype == DType::kI64;
  const int64_t low = wide ? INT64_MIN : INT32_MIN, high = wide ? INT64_MAX : INT32_MAX;
  return literal_text(Literal{least ? low : high}, dtype);
}

// A count as a number of the accumulating type.
std::string count_text(const Graph& graph, const Size& count, DType dtype, bool wide) {
  if (count.is_constant()) return literal_text(Literal{static_cast<double>(count.value())}, dtype);
  return std::string("(") + register_type(dtype) + ")(" + size_text(count, graph.symbols, wide) + ")";
}

// What the squares are divided by: never less than 0.
std::string freedom_text(const Graph& graph, const Size& count, int64_t correction, DType dtype, bool wide) {
  if (count.is_constant()) return count_text(graph, std::max<int64_t>(0, count.value() - correction), dtype, wide);
  const std::string left = count_text(graph, count, dtype, wide) + " - " + count_text(graph, Size(correction), dtype, wide);
  return std::string(dtype == DType::kF64 ? "fmax(" : "fmaxf(") + left + ", 0)";
}

}  // namespace

std::string state_type(const Accumulator& a) {
  const bool wraps = !is_float(a.dtype) && (a.kind == Accumulator::kSum || a.kind == Accumulator::kProd);
  const char* type = !wraps ? register_type(a.dtype) : a.dtype == DType::kI64 ? "unsigned long long" : "unsigned";
  return std::string(kKinds[a.kind].type) + "<" + type + ">";
}

std::string initial_text(const Accumulator& a) {
  switch (a.kind) {
    case Accumulator::kProd:
    case Accumulator::kAll:
      return "{1}";
    case Accumulator::kMax:
      return "{" + extreme(a.dtype, true) + "}";
    case Accumulator::kMin:
      return "{" + extreme(a.dtype, false) + "}";
    case Accumulator::kArgmax:
    case Accumulator::kArgmin:
      return "{" + extreme(a.dtype, a.kind == Accumulator::kArgmax) + ", 0x7fffffffffffffffLL}";
    case Accumulator::kLogsumexp:
      return "{" + extreme(a.dtype, true) + ", 0}";
    default:
      return "{}";
  }
}

std::string result_text(const Graph& graph, const Node& node, const Accumulator& a, const std::string& state, bool wide) {
  const Op& op = graph[node.op];
  std::string value = state + "." + kKinds[a.kind].value;
  if (a.kind == Accumulator::kArgmax || a.kind == Accumulator::kArgmin) return value;
  const bool variance = op.kind == OpKind::kVar || op.kind == OpKind::kVarMean;
  if (variance && node.result == 0) {
    value += " / " + freedom_text(graph, a.count, graph.attrs(op).correction, a.dtype, wide);
  } else if (variance && a.kind == Accumulator::kMoments) {
    const std::string nan = literal_text(Literal{std::numeric_limits<double>::quiet_NaN()}, a.dtype);
    value = "(" + state + ".count > 0 ? " + state + ".mean : " + nan + ")";
  } else if (variance || op.kind == OpKind::kMean) {
    value += " / " + count_text(graph, a.count, a.dtype, wide);
  } else if (a.kind == Accumulator::kLogsumexp && op.kind == OpKind::kSum) {
    value = state + ".sum_of_differences()";
  } else if (a.kind == Accumulator::kLogsumexp && op.kind == OpKind::kLogsumexp) {
    value = state + ".result()";
  }
  if (a.dtype == DType::kI64 && a.kind <= Accumulator::kProd) value = "(long long)" + value;
  return a.dtype == node.dtype ? value : cast_text(value.find(' ') == std::string::npos ? value : "(" + value + ")", a.dtype, node.dtype);
}

}  // namespace fusec
