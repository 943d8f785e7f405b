#include "emit/expression.h"

#include <charconv>
#include <cmath>

#include "emit/cuda.h"
#include "emit/names.h"
#include "support/check.h"

namespace fusec {

const char* storage_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return "unsigned char";
    case DType::kI8:
      return "signed char";
    case DType::kI16:
      return "short";
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "long long";
    case DType::kF16:
      return "__half";
    case DType::kBF16:
      return "__nv_bfloat16";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
  }
  return "";
}

const char* register_type(DType dtype) { return dtype == DType::kBool ? "bool" : storage_type(dtype); }

namespace {

const char* unsigned_type(DType dtype) { return dtype == DType::kI64 ? "unsigned long long" : "unsigned"; }

std::string shortest(double v) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return std::string(buffer, end);
}

std::string shortest(float v) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return std::string(buffer, end);
}

std::string with_point(std::string s) { return s.find_first_of(".e") == std::string::npos ? s + ".0" : s; }

std::string float_literal(float v) {
  if (std::isnan(v)) return "__int_as_float(0x7fffffff)";
  if (std::isinf(v)) return v > 0 ? "__int_as_float(0x7f800000)" : "__int_as_float(0xff800000)";
  return with_point(shortest(v)) + "f";
}

std::string double_literal(double v) {
  if (std::isnan(v)) return "__longlong_as_double(0x7fffffffffffffff)";
  if (std::isinf(v)) return v > 0 ? "__longlong_as_double(0x7ff0000000000000)" : "__longlong_as_double(0xfff0000000000000)";
  return with_point(shortest(v));
}

int64_t as_integer(const Literal& l) {
  return std::visit([](auto v) { return static_cast<int64_t>(v); }, l.value);
}

std::string integer_literal(int64_t v, DType dtype) {
  if (dtype == DType::kI64) return v == INT64_MIN ? "(-9223372036854775807LL - 1)" : std::to_string(v) + "LL";
  const std::string digits = v == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(v);
  return dtype == DType::kI32 ? digits : "(" + std::string(register_type(dtype)) + ")" + digits;
}

// A narrow literal, rounded once from the number as written.
std::string narrow_literal(const Literal& l, DType dtype) {
  const double v = l.as_double();
  if (static_cast<double>(static_cast<float>(v)) == v || std::isnan(v)) return narrow_text(float_literal(static_cast<float>(v)), dtype);
  return narrow_text("fs_odd_float(" + double_literal(v) + ")", dtype);
}

}  // namespace

namespace {

std::string bare_literal(const Literal& literal, DType dtype) {
  if (dtype == DType::kBool) return as_integer(literal) != 0 ? "true" : "false";
  if (is_integer(dtype)) return integer_literal(as_integer(literal), dtype);
  if (dtype == DType::kF64) return double_literal(literal.as_double());
  if (dtype == DType::kF32) {
    if (const int64_t* i = std::get_if<int64_t>(&literal.value)) return float_literal(static_cast<float>(*i));
    return float_literal(static_cast<float>(literal.as_double()));
  }
  return narrow_literal(literal, dtype);
}

}  // namespace

std::string literal_text(const Literal& literal, DType dtype) {
  const std::string text = bare_literal(literal, dtype);
  return text[0] == '-' ? "(" + text + ")" : text;
}

std::string widen_text(const std::string& x, DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
      return "fs_from_e4m3(" + x + ")";
    case DType::kF8E5M2:
      return "fs_from_e5m2(" + x + ")";
    case DType::kF16:
      return "__half2float(" + x + ")";
    case DType::kBF16:
      return "__bfloat162float(" + x + ")";
    default:
      return x;
  }
}

std::string narrow_text(const std::string& x, DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
      return "fs_to_e4m3(" + x + ")";
    case DType::kF8E5M2:
      return "fs_to_e5m2(" + x + ")";
    case DType::kF16:
      return "__float2half_rn(" + x + ")";
    case DType::kBF16:
      return "__float2bfloat16_rn(" + x + ")";
    default:
      return x;
  }
}

std::string cast_text(const std::string& x, DType from, DType to) {
  if (from == to) return x;
  const std::string wide = widen_text(x, from);
  if (to == DType::kBool) return is_float(from) ? "(" + wide + " != 0)" : "(" + x + " != 0)";
  if (from == DType::kBool) {
    if (is_integer(to)) return "(" + std::string(register_type(to)) + ")" + x;
    if (to == DType::kF64) return "(" + x + " ? 1.0 : 0.0)";
    return narrow_text("(" + x + " ? 1.0f : 0.0f)", to);
  }
  if (is_integer(from)) {
    if (is_integer(to)) return "(" + std::string(register_type(to)) + ")" + x;
    const bool small = bytes_of(from) <= 2;
    if (to == DType::kF64) return from == DType::kI64 ? "__ll2double_rn(" + x + ")" : "(double)" + x;
    if (to == DType::kF32) return from == DType::kI64 ? "__ll2float_rn(" + x + ")" : "__int2float_rn(" + x + ")";
    return narrow_text((small ? "__int2float_rn(" : "fs_odd_float(") + x + ")", to);
  }
  if (is_integer(to)) return "fs_to_int<" + std::string(register_type(to)) + ">(" + wide + ")";
  if (from == DType::kF64) return to == DType::kF32 ? "__double2float_rn(" + x + ")" : narrow_text("fs_odd_float(" + x + ")", to);
  if (to == DType::kF64) return "(double)" + wide;
  return narrow_text(wide, to);
}

namespace {

// Replaces $a, $b, $c, $T and $U in a row of the op table.
std::string fill(std::string_view pattern, const std::vector<std::string>& operands, DType computing) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      out.push_back(pattern[i]);
      continue;
    }
    const char c = pattern[++i];
    if (c == 'T') out += register_type(computing);
    else if (c == 'U') out += unsigned_type(computing);
    else out += operands[static_cast<size_t>(c - 'a')];
  }
  return out;
}

}  // namespace

std::string op_text(const Graph& graph, const Op& op, const std::vector<std::string>& operands, const std::vector<DType>& dtypes,
                    bool contract) {
  ValueId result = op.out[0];
  const DType to = graph[result].dtype;
  if (op.kind == OpKind::kCast) return cast_text(operands[0], dtypes[0], to);
  if (op.kind == OpKind::kBitcast && to == DType::kBool && dtypes[0] != DType::kBool)
    return "(fs_bitcast<unsigned char>(" + operands[0] + ") != 0)";
  if (op.kind == OpKind::kBitcast) return "fs_bitcast<" + std::string(register_type(to)) + ">(" + operands[0] + ")";
  const OpInfo& row = info(op.kind);
  DType type = dtypes.back();
  for (size_t i = op.kind == OpKind::kWhere ? 1 : 0; i < op.in.size(); ++i)
    if (op.in[i].is_value()) type = graph[op.in[i].value].dtype;
  const DType computing = computing_type(type);
  std::vector<std::string> wide;
  for (size_t i = 0; i < operands.size(); ++i)
    wide.push_back(is_narrow_float(dtypes[i]) ? widen_text(operands[i], dtypes[i]) : operands[i]);
  if (contract && op.kind == OpKind::kMul && is_float(computing)) return narrow_text(wide[0] + " * " + wide[1], to);
  const std::string_view pattern = computing == DType::kF64 ? row.cuda_f64 : computing == DType::kF32 ? row.cuda_f32 : row.cuda_int;
  FUSEC_CHECK(!pattern.empty(), std::string(row.name) + " has no CUDA spelling for " + std::string(name_of(type)));
  const std::string text = fill(pattern, wide, computing);
  return row.result == ResultRule::kBool ? text : narrow_text(text, to);
}

std::string iota_text(const Attrs& a, DType dtype, const std::string& index) {
  const std::string i = "(long long)(" + index + ")";
  const int64_t* start = std::get_if<int64_t>(&a.start.value);
  const int64_t* step = std::get_if<int64_t>(&a.step.value);
  if (start && step) {
    std::string sum = *step == 1 ? i : i + " * " + literal_text(a.step, DType::kI64);
    if (*start != 0) sum += " + " + literal_text(a.start, DType::kI64);
    return cast_text("(" + sum + ")", DType::kI64, dtype);
  }
  const std::string args = "(" + literal_text(a.start, DType::kF64) + ", " + literal_text(a.step, DType::kF64) + ", " + i + ")";
  if (dtype == DType::kF64) return "fs_iota" + args;
  if (is_integer(dtype)) return cast_text("fs_iota" + args, DType::kF64, dtype);
  return cast_text("fs_iota_odd" + args, DType::kF64, dtype);
}

std::string random_text(OpKind kind, const Attrs& a, DType dtype, const std::string& index) {
  const std::string args = "(" + std::to_string(a.seed) + "ull, " + std::to_string(a.stream) + "ull, " + index + ")";
  if (kind == OpKind::kNormal) return dtype == DType::kF64 ? "fs_normal_f64" + args : narrow_text("fs_normal" + args, dtype);
  if (dtype == DType::kF64) return "fs_uniform_f64" + args;
  const int bits = dtype == DType::kF32 ? 24 : dtype == DType::kF16 ? 11 : dtype == DType::kBF16 ? 8 : dtype == DType::kF8E4M3 ? 4 : 3;
  return narrow_text("fs_uniform<" + std::to_string(bits) + ">" + args, dtype);
}

std::string size_text(const Size& size, const Symbols& symbols, bool wide) {
  std::string out;
  for (const Size::Term& t : size.terms()) {
    std::string product = t.coefficient == 1 ? "" : std::to_string(t.coefficient);
    for (SymbolId s : t.symbols) product += (product.empty() ? "" : " * ") + ((wide ? "" : "(unsigned)") + symbol_identifier(symbols, s));
    out += (out.empty() ? "" : " + ") + product;
  }
  if (size.is_constant() || size.constant() != 0) {
    const int64_t c = size.constant();
    if (out.empty()) out = std::to_string(c);
    else out += (c < 0 ? " - " : " + ") + std::to_string(c < 0 ? -c : c);
    if (wide && (c > INT32_MAX || c < INT32_MIN)) out += "LL";
  }
  return out.find(' ') == std::string::npos ? out : "(" + out + ")";
}

std::string atom_definition_text(const IndexSpace& space, AtomId id, bool wide) {
  const Atom& a = space[id];
  const std::string operand = index_text(space, a.operand, wide);
  const bool simple = operand.find(' ') == std::string::npos;
  return (simple ? operand : "(" + operand + ")") + (a.kind == Atom::kQuotient ? " / " : " % ") +
         size_text(a.divisor, space.symbols(), wide);
}

namespace {

std::string atom_text(const IndexSpace& space, AtomId id, bool wide) {
  return space[id].name.empty() ? atom_definition_text(space, id, wide) : space[id].name;
}

std::string term_text(const IndexSpace& space, AtomId atom, const Size& c, bool wide) {
  std::string text = atom_text(space, atom, wide);
  const Atom& a = space[atom];
  if (a.name.empty() && (a.kind == Atom::kRemainder || !c.is(1))) text = "(" + text + ")";
  if (c.is(1)) return text;
  // Lanes and repetitions are counted in int: a wide product is made wide by its constant.
  return text + " * " + size_text(c, space.symbols(), wide) + (wide && c.is_constant() && c.value() <= INT32_MAX ? "LL" : "");
}

}  // namespace

std::string index_text(const IndexSpace& space, const Index& index, bool wide) {
  std::string out;
  for (const auto& [atom, c] : index.terms) {
    const bool minus = c.is_constant() && c.value() < 0;
    const std::string text = term_text(space, atom, minus ? Size(0) - c : c, wide);
    if (out.empty()) out = !minus ? text : text.find(" / ") == std::string::npos ? "-" + text : "-(" + text + ")";
    else out += (minus ? " - " : " + ") + text;
  }
  if (index.constant.is(0) && !out.empty()) return out;
  const bool minus = index.constant.is_constant() && index.constant.value() < 0;
  const std::string c = size_text(minus ? Size(0) - index.constant : index.constant, space.symbols(), wide);
  if (out.empty()) return (minus ? "-" : "") + c;
  return out + (minus ? " - " : " + ") + c;
}

std::string guard_text(const IndexSpace& space, const std::vector<Index>& guard, bool wide) {
  std::string out;
  for (const Index& g : guard) {
    const auto [positive, negative] = sides_of(g);
    // Written with the variables on the left.
    const std::string text = positive.is_constant() ? index_text(space, negative, wide) + " <= " + index_text(space, positive, wide)
                                                    : index_text(space, positive, wide) + " >= " + index_text(space, negative, wide);
    out += (out.empty() ? "" : " && ") + text;
  }
  return out;
}

}  // namespace fusec
