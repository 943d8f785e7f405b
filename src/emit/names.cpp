#include "emit/names.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace fusec {

namespace {

// Keywords, and the functions and types that generated code or the headers it includes may mention.
const std::unordered_set<std::string_view> kReserved = {
    "alignas",     "alignof",   "and",       "and_eq",     "asm",       "auto",         "bitand",
    "bitor",       "bool",      "break",     "case",       "catch",     "char",         "char8_t",
    "char16_t",    "char32_t",  "class",     "co_await",   "co_return", "co_yield",     "compl",
    "concept",     "const",     "consteval", "constexpr",  "constinit", "const_cast",   "continue",
    "decltype",    "default",   "delete",    "do",         "double",    "dynamic_cast", "else",
    "enum",        "explicit",  "export",    "extern",     "false",     "float",        "for",
    "friend",      "goto",      "if",        "inline",     "int",       "long",         "mutable",
    "namespace",   "new",       "noexcept",  "not",        "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",     "private",   "protected",  "public",    "register",     "reinterpret_cast",
    "requires",    "return",    "short",     "signed",     "sizeof",    "static",       "static_assert",
    "static_cast", "struct",    "switch",    "template",   "this",      "thread_local", "throw",
    "true",        "try",       "typedef",   "typeid",     "typename",  "union",        "unsigned",
    "using",       "virtual",   "void",      "volatile",   "wchar_t",   "while",        "xor",
    "xor_eq",      "half",      "half2",     "uint",       "ushort",    "uchar",        "ulong",
    "size_t",      "main",      "NULL",      "NAN",        "INFINITY",  "EOF",          "errno",
    "abs",         "acos",      "acosf",     "acosh",      "asin",      "asinh",        "assert",
    "atan",        "atan2",     "atanh",     "block",      "blockDim",  "blockIdx",     "ceil",
    "ceilf",       "copysign",  "copysignf", "cos",        "cosf",      "cosh",         "cosine",
    "cuda",        "erf",       "erfc",      "erff",       "erfinv",    "exp",          "exp2",
    "exp2f",       "expf",      "expm1",     "expm1f",     "fabs",      "fabsf",        "floor",
    "floorf",      "fma",       "fmax",      "fmaxf",      "fmin",      "fminf",        "fmod",
    "fmodf",       "gridDim",   "hypot",     "isfinite",   "isinf",     "isnan",        "lane",
    "lgamma",      "linux",     "log",       "log10",      "log1p",     "log2",         "logf",
    "max",         "memcpy",    "min",       "normcdf",    "pow",       "powf",         "printf",
    "rint",        "rintf",     "round",     "rsqrt",      "rsqrtf",    "signbit",      "sin",
    "sincosf",     "copied",    "asinf",     "atanf",      "sinhf",     "coshf",        "asinhf",
    "acoshf",      "atanhf",    "log2f",     "log10f",     "log1pf",    "erfcf",        "erfinvf",
    "lgammaf",     "atan2f",    "hypotf",    "normcdff",   "cospif",    "sinpif",       "cospi",
    "sinpi",       "sinf",      "sinh",      "sine",       "sqrt",      "sqrtf",        "std",
    "tan",         "tanf",      "tanh",      "tanhf",      "threadIdx", "trunc",        "truncf",
    "unix",        "warpSize",  "t",         "t0",         "u",         "first_block",  "count",
    "whole",       "column",    "row",       "row_vector", "pass",      "piece",        "block_index",
    "k",           "Vec",       "stream",    "inputs",     "outputs",   "workspace",    "workspace_bytes",
    "sizes",       "p",         "begin",     "member",     "partial",   "first",        "end",
    "chunk",       "begin_row", "before",    "at",         "shift",     "vectors",      "lanes",
    "head",        "tail",      "q",         "slot",       "fetch",     "turn",
};

bool looks_like_macro(const std::string& s) {
  // FP_NAN, INT_MAX, CUDART_…: capitals with an underscore.
  return s.find('_') != std::string::npos && std::none_of(s.begin(), s.end(), [](unsigned char c) { return std::islower(c); }) &&
         std::any_of(s.begin(), s.end(), [](unsigned char c) { return std::isupper(c); });
}

// The identifier that a size gets when no other size wants the same.
std::string wanted_identifier(const std::string& name) {
  const std::string id = c_identifier(name);
  const bool like_an_index = id.size() > 1 && (id[0] == 'i' || id[0] == 'j') && std::isdigit(static_cast<unsigned char>(id[1]));
  return like_an_index ? "v_" + id : id;
}

}  // namespace

std::string c_identifier(const std::string& name) {
  std::string id;
  for (unsigned char c : name) {
    const char mapped = std::isalnum(c) ? static_cast<char>(c) : '_';
    // Two underscores in a row, and a leading one, belong to the implementation.
    if (mapped == '_' && (id.empty() || id.back() == '_')) continue;
    id.push_back(mapped);
  }
  if (id.empty() || std::isdigit(static_cast<unsigned char>(id[0]))) id.insert(0, "v");
  if (id.starts_with("fs_") || looks_like_macro(id) || kReserved.contains(id)) id.insert(0, "v_");
  return id;
}

std::string symbol_identifier(const Symbols& symbols, SymbolId id) {
  const std::string& name = symbols[id].name;
  const std::string wanted = wanted_identifier(name);
  if (wanted == name) return wanted;
  for (size_t i = 0; i < symbols.size(); ++i)
    // No other identifier has two underscores in a row.
    if (SymbolId(i) != id && wanted_identifier(symbols[SymbolId(i)].name) == wanted) return wanted + "__" + std::to_string(id.index);
  return wanted;
}

std::string NameScope::take(const std::string& name) {
  const std::string base = c_identifier(name);
  std::string id = base;
  for (int& n = next_[base]; !taken_.insert(id).second;) id = base + "_" + std::to_string(++n);
  return id;
}

}  // namespace fusec
