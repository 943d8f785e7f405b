#include "emit/launcher.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "emit/cuda.h"
#include "emit/expression.h"
#include "emit/names.h"
#include "graph/literal.h"

namespace fusec {

namespace {

constexpr int kRecordBytes = 32, kRecordSpace = 256;  // of the error record, behind the rest of the workspace

std::string derived_text(const Graph& graph, const Symbol& s) {
  return size_text(s.numerator, graph.symbols, true) + " / " + std::to_string(s.denominator);
}

// Run-time sizes are read from `sizes`, derived ones computed from them.
std::string size_locals(const Graph& graph) {
  std::string out;
  int given = 0;
  for (size_t i = 0; i < graph.symbols.size(); ++i) {
    const Symbol& s = graph.symbols[SymbolId(i)];
    const std::string value = s.derived ? derived_text(graph, s) : "sizes[" + std::to_string(given++) + "]";
    out += "  const long long " + symbol_identifier(graph.symbols, SymbolId(i)) + " = " + value + ";\n";
  }
  return out;
}

// What the kernels were compiled for: sizes that break the graph's promises, or a scalar that is missing, launch nothing.
std::string argument_checks(const Graph& graph) {
  std::string out;
  auto refuse_if = [&](const std::string& condition) { out += "  if (" + condition + ") return cudaErrorInvalidValue;\n"; };
  for (size_t i = 0; i < graph.symbols.size(); ++i) {
    const Symbol& s = graph.symbols[SymbolId(i)];
    if (s.derived) continue;
    const std::string n = symbol_identifier(graph.symbols, SymbolId(i));
    refuse_if(n + " < 0" + (s.max < INT64_MAX ? " || " + n + " > " + std::to_string(s.max) : "") +
              (s.multiple_of > 1 ? " || " + n + " % " + std::to_string(s.multiple_of) + " != 0" : ""));
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].scalar && !graph.inputs[i].scalar_value) refuse_if("!inputs[" + std::to_string(i) + "]");
  return out;
}

std::string workspace_size(const Graph& graph, const Program& program, size_t buffers) {
  if (program.workspace_is_static) return std::to_string(program.workspace_bytes);
  std::string sum = "0";
  for (size_t i = 0; i < buffers; ++i) sum += " + (" + size_text(program.workspace[i].bytes, graph.symbols, true) + " + 255) / 256 * 256";
  return sum;
}

std::string workspace_offset(const Graph& graph, const Program& program, size_t buffer) {
  return program.workspace_is_static ? std::to_string(program.workspace[buffer].offset) : workspace_size(graph, program, buffer);
}

std::string pointer(const Graph& graph, const Program& program, const KernelArg& arg) {
  const std::string i = std::to_string(arg.index);
  switch (arg.kind) {
    case KernelArg::kInput:
      return "inputs[" + i + "]";
    case KernelArg::kOutput:
      return "outputs[" + i + "]";
    case KernelArg::kWorkspace:
      return "(char *)workspace + " + workspace_offset(graph, program, arg.index);
    case KernelArg::kErrorFlag:
      return "(char *)workspace + record_at";
    default:
      return "";
  }
}

// The memory format of a number that the f8 dtype holds exactly.
int f8_bits(DType dtype, double value) {
  const int mantissa_bits = dtype == DType::kF8E4M3 ? 3 : 2, bias = dtype == DType::kF8E4M3 ? 7 : 15;
  const int sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return sign | 0x7f;
  if (value == 0) return sign;
  const int exponent = std::max(std::ilogb(value), 1 - bias);
  return sign + ((exponent + bias - 1) << mantissa_bits) + static_cast<int>(std::ldexp(std::fabs(value), mantissa_bits - exponent));
}

// A scalar's default as a host expression of its storage type.
std::string default_text(const Literal& literal, DType dtype) {
  const std::string type = "(" + std::string(storage_type(dtype)) + ")";
  if (dtype == DType::kBool) return type + (literal.as_double() != 0 ? "1" : "0");
  if (is_integer(dtype)) return type + literal_text(literal, DType::kI64);
  const double value = literal.as_double();
  if (is_f8(dtype)) return type + std::to_string(f8_bits(dtype, value));
  if (std::isnan(value)) return type + "NAN";
  if (std::isinf(value)) return type + (value > 0 ? "INFINITY" : "-INFINITY");
  return type + literal_text(literal, DType::kF64);
}

std::string argument(const Graph& graph, const Program& program, const KernelArg& arg, DType dtype) {
  if (arg.kind == KernelArg::kSymbol) return symbol_identifier(graph.symbols, SymbolId(arg.index));
  if (arg.kind == KernelArg::kScalar) {
    const Input& input = graph.inputs[arg.index];
    const DType type = graph[input.value].dtype;
    const std::string i = std::to_string(arg.index);
    const std::string given = "*(const " + std::string(storage_type(type)) + " *)inputs[" + i + "]";
    return input.scalar_value ? "inputs[" + i + "] ? " + given + " : " + default_text(*input.scalar_value, type) : given;
  }
  const std::string p = pointer(graph, program, arg);
  return "(" + std::string(storage_type(dtype)) + " *)(" + p + ")";
}

// The number of blocks when it is known, else a formula.
std::optional<int64_t> constant_blocks(const Launch& launch) {
  int64_t sum = 0;
  for (const GridTerm& t : launch.grid) {
    if (!t.elems.is_constant()) return std::nullopt;
    sum += t.blocks();
  }
  return sum;
}

std::string blocks_formula(const Graph& graph, const Launch& launch) {
  std::string sum;
  for (const GridTerm& t : launch.grid) {
    const std::string per = std::to_string(t.per_block);
    sum += (sum.empty() ? "" : " + ") + ("(" + size_text(t.elems, graph.symbols, true)) + " + " + per + " - 1) / " + per;
  }
  return sum;
}

std::string copy_text(const Graph& graph, const Program& program, const Launch& launch) {
  return "  { const cudaError_t copied = cudaMemcpyAsync(" + pointer(graph, program, launch.args[1]) + ", " +
         pointer(graph, program, launch.args[0]) + ", (size_t)(" + size_text(launch.copy_bytes, graph.symbols, true) +
         "), cudaMemcpyDeviceToDevice, stream);\n    if (copied != cudaSuccess) return copied; }\n";
}

std::string launch_text(const Graph& graph, const Program& program, const Launch& launch) {
  if (launch.kind == Launch::kCopy) return copy_text(graph, program, launch);
  std::string args;
  for (size_t i = 0; i < launch.args.size(); ++i)
    args += (i > 0 ? ", " : "") + argument(graph, program, launch.args[i], launch.arg_dtypes[i]);
  auto call = [&](const std::string& blocks) {
    return launch.kernel + "<<<" + blocks + ", " + std::to_string(launch.block) + ", " + std::to_string(launch.shared_bytes) +
           ", stream>>>(" + args + ");\n";
  };
  constexpr uint32_t kUnaskedBytes = 48 * 1024;  // of shared memory, which need no asking
  const std::string ask = launch.shared_bytes <= kUnaskedBytes
                              ? ""
                              : "  cudaFuncSetAttribute((const void *)" + launch.kernel +
                                    ", cudaFuncAttributeMaxDynamicSharedMemorySize, " + std::to_string(launch.shared_bytes) + ");\n";
  if (const std::optional<int64_t> blocks = constant_blocks(launch))
    return *blocks > 0 ? ask + "  " + call(std::to_string(*blocks)) : "  // " + launch.kernel + " has nothing to do: a size is zero.\n";
  return ask + "  {\n    const long long count = " + blocks_formula(graph, launch) +
         ";\n    if (count > 2147483647) return cudaErrorInvalidConfiguration;\n    if (count > 0) " + call("(unsigned)count") + "  }\n";
}

std::string signature(const std::string& name, bool sized) {
  return "int " + name + (sized ? "_launch_sized(const long long *sizes, " : "_launch(") +
         "void *const *inputs, void *const *outputs, void *workspace, size_t workspace_bytes, cudaStream_t stream)";
}

std::string typical_sizes(const Graph& graph) {
  std::string out;
  for (const Symbol& s : graph.symbols)
    if (!s.derived) out += (out.empty() ? "" : ", ") + std::to_string(s.typical) + "LL";
  return out;
}

// --- the header

std::string describe_pointers(const Graph& graph) {
  auto line = [&](const std::string& pointer, const Value& v, const std::string& how) {
    return " *   " + pointer + "  " + v.name + ": " + std::string(name_of(v.dtype)) + to_string(v.shape, graph.symbols) + how + "\n";
  };
  std::string out = "/* Device pointers, each aligned to 16 bytes:\n";
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Input& in = graph.inputs[i];
    std::string how = in.strides ? ", strided as the graph says" : "";
    if (in.scalar)
      how = in.scalar_value ? ", by value: a host pointer to it, or 0 for " + to_string(*in.scalar_value)
                            : ", by value: a host pointer to it";
    out += line("inputs[" + std::to_string(i) + "]", graph[in.value], how);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Output& o = graph.outputs[i];
    const std::string how = o.alias     ? ", the same pointer as inputs[" + std::to_string(*o.alias) + "]"
                            : o.strides ? ", strided as the graph says"
                                        : "";
    out += line("outputs[" + std::to_string(i) + "]", graph[o.value], how);
  }
  return out + " */\n\n";
}

int64_t typical_bytes(const Graph& graph, const Value& v, const std::vector<Size>& strides) {
  const SymbolValues typical = typical_values(graph.symbols);
  int64_t span = 1;
  for (size_t d = 0; d < v.shape.size(); ++d) {
    const int64_t n = evaluate(v.shape[d], typical);
    span = n == 0 || span == 0 ? 0 : span + (n - 1) * evaluate(strides[d], typical);
  }
  return span * bytes_of(v.dtype);
}

std::string byte_counts(const Graph& graph, const std::string& name, const std::string& kind) {
  std::vector<int64_t> bytes;
  if (kind == "input")
    for (const Input& in : graph.inputs) bytes.push_back(typical_bytes(graph, graph[in.value], strides_of(graph, in)));
  else
    for (const Output& o : graph.outputs) bytes.push_back(typical_bytes(graph, graph[o.value], strides_of(graph, o)));
  if (bytes.empty()) return "";  // C has no empty arrays
  std::string list;
  for (int64_t n : bytes) list += (list.empty() ? "" : ", ") + std::to_string(n);
  return "/* Bytes of each " + kind + (graph.symbols.empty() ? "" : " at the typical sizes") + ". */\nstatic const size_t " + name + "_" +
         kind + "_bytes[" + std::to_string(bytes.size()) + "] = {" + list + "};\n";
}

// Tables for a caller that treats all graphs alike.
std::string pointer_kinds(const Graph& graph, const std::string& name) {
  std::string by_value, alias;
  for (const Input& in : graph.inputs) by_value += std::string(by_value.empty() ? "" : ", ") + (in.scalar ? "1" : "0");
  for (const Output& o : graph.outputs) alias += (alias.empty() ? "" : ", ") + (o.alias ? std::to_string(*o.alias) : "-1");
  std::string out;
  auto table = [&](const std::string& comment, const std::string& suffix, size_t count, const std::string& list) {
    if (count > 0)
      out += "/* " + comment + " */\nstatic const int " + name + suffix + "[" + std::to_string(count) + "] = {" + list + "};\n";
  };
  table("1: a host pointer to a value.", "_input_by_value", graph.inputs.size(), by_value);
  table("The input whose pointer an output has to have, or -1.", "_output_alias", graph.outputs.size(), alias);
  return out;
}

std::string describe_sizes(const Graph& graph) {
  std::string given, derived;
  for (const Symbol& s : graph.symbols) {
    if (s.derived) {
      derived += " * (" + s.name + " = " + derived_text(graph, s) + ")\n";
      continue;
    }
    given += " *   " + s.name + ": typically " + std::to_string(s.typical);
    if (s.multiple_of > 1) given += ", a multiple of " + std::to_string(s.multiple_of);
    if (s.max < INT64_MAX) given += ", at most " + std::to_string(s.max);
    given += "\n";
  }
  return given + derived;
}

// Where the kernels leave the first index that is out of range.
std::string error_flag(const Program& program, const std::string& name, const std::string& upper) {
  if (program.checks.empty())
    return "/* No index that this program reads from memory is checked: it raises no error flag. */\n#define " + upper +
           "_ERROR_FLAG_BYTES 0\n";
  std::string ops;
  for (size_t i = 0; i < program.checks.size(); ++i) ops += " *   " + std::to_string(i + 1) + ": " + program.checks[i].op + "\n";
  return "/* An index out of range neither reads nor writes. The first to come leaves four 64-bit integers in the workspace, at\n"
         " * " +
         name +
         "_error_flag_offset(sizes): a number of the list below, the position in the index operand (counted in row-major\n"
         " * order), the index, and the size that it selects from. All are 0 when there was none. Each launch clears them first.\n" +
         ops + " */\n#define " + upper + "_ERROR_FLAG_BYTES " + std::to_string(kRecordBytes) + "\nsize_t " + name +
         "_error_flag_offset(const long long *sizes);\n";
}

std::string capitals(std::string s) {
  for (char& c : s) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return s;
}

}  // namespace

std::string emit_launcher(const Graph& graph, const Program& program) {
  const std::string name = program.name;
  const bool sized = !graph.symbols.empty();
  std::string out = "#ifndef __CUDACC_RTC__\n// Host launcher: plain C calling convention, described in " + graph.name +
                    ".h.\n#include <math.h>\n#include <stddef.h>\n\n#include <cuda_runtime_api.h>\n\n";
  const std::string locals = sized ? "  if (!sizes) sizes = " + name + "_typical_sizes;\n" + size_locals(graph) : "";
  if (sized) out += "static const long long " + name + "_typical_sizes[] = {" + typical_sizes(graph) + "};\n\n";
  const bool checks = !program.checks.empty();
  auto size_function = [&](const std::string& what, const std::string& more) {
    return "extern \"C\" size_t " + name + what + "(const long long *sizes) {\n  (void)sizes;\n" +
           (program.workspace_is_static ? "" : locals) + "  return (size_t)(" + workspace_size(graph, program, program.workspace.size()) +
           ")" + more + ";\n}\n\n";
  };
  out += size_function("_workspace_bytes", checks ? " + " + std::to_string(kRecordSpace) : "");
  if (checks) out += size_function("_error_flag_offset", "");
  out += "extern \"C\" " + signature(name, sized) + " {\n";
  if (!sized) out += "  const long long *sizes = 0;\n";
  out += "  (void)inputs, (void)outputs, (void)workspace;\n";
  out += locals + argument_checks(graph);
  out += "  if (workspace_bytes < " + name + "_workspace_bytes(sizes)) return cudaErrorInvalidValue;\n  cudaGetLastError();\n";
  if (checks)
    out += "  const size_t record_at = " + name +
           "_error_flag_offset(sizes);\n  const cudaError_t cleared = cudaMemsetAsync((char *)workspace + record_at, 0, " +
           std::to_string(kRecordBytes) + ", stream);\n  if (cleared != cudaSuccess) return cleared;\n";
  for (const Launch& launch : program.launches) out += launch_text(graph, program, launch);
  out += "  return cudaGetLastError();\n}\n";
  if (sized)
    out += "\nextern \"C\" " + signature(name, false) + " {\n  return " + name +
           "_launch_sized(0, inputs, outputs, workspace, workspace_bytes, stream);\n}\n";
  return out + "#endif\n";
}

std::string emit_header(const Graph& graph, const Program& program) {
  const std::string name = program.name, upper = capitals(name);
  const bool sized = !graph.symbols.empty();
  std::string out = "/* " + name + ": host launcher of the kernels in " + graph.name + ".cu, generated by fusec. */\n#ifndef FUSEC_" +
                    upper + "_H\n#define FUSEC_" + upper +
                    "_H\n\n#include <stddef.h>\n\n#include <cuda_runtime_api.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  out += "#define " + upper + "_INPUTS " + std::to_string(graph.inputs.size()) + "\n#define " + upper + "_OUTPUTS " +
         std::to_string(graph.outputs.size()) + "\n\n";
  out += describe_pointers(graph) + byte_counts(graph, name, "input") + byte_counts(graph, name, "output") + pointer_kinds(graph, name);
  if (sized)
    out += "\n/* `sizes`: the run-time sizes, or 0 for the typical ones, in this order:\n" + describe_sizes(graph) +
           " * Others are refused. Returns 0, or the cudaError_t of what failed. */\n" + signature(name, true) +
           ";\n\n/* The same at the typical sizes. */\n";
  else out += "\n/* Launches every kernel on `stream`. Returns 0, or the cudaError_t of what failed. */\n";
  out += signature(name, false) + ";\n\n/* Bytes of workspace that a launch needs, aligned to 256" +
         std::string(sized ? ", for these run-time sizes (0: the typical ones)" : "; `sizes` may be 0") + ". */\nsize_t " + name +
         "_workspace_bytes(const long long *sizes);\n\n" + error_flag(program, name, upper);
  return out + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace fusec
