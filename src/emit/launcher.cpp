#include "emit/launcher.h"

#include "emit/cuda.h"
#include "emit/expression.h"
#include "emit/names.h"

namespace fusec {

namespace {

// Run-time sizes are read from `sizes`, derived ones computed from them.
std::string size_locals(const Graph& graph) {
  std::string out;
  for (size_t i = 0; i < graph.symbols.size(); ++i) {
    const Symbol& s = graph.symbols[SymbolId(i)];
    const std::string value = s.derived ? size_text(s.numerator, graph.symbols, true) + " / " + std::to_string(s.denominator) : "sizes[" + std::to_string(i) + "]";
    out += "  const long long " + c_identifier(s.name) + " = " + value + ";\n";
  }
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
    case KernelArg::kInput: return "inputs[" + i + "]";
    case KernelArg::kOutput: return "outputs[" + i + "]";
    case KernelArg::kWorkspace: return "(char *)workspace + " + workspace_offset(graph, program, arg.index);
    case KernelArg::kErrorFlag: return "(char *)workspace";
    default: return "";
  }
}

std::string argument(const Graph& graph, const Program& program, const KernelArg& arg, DType dtype) {
  if (arg.kind == KernelArg::kSymbol) return c_identifier(graph.symbols[SymbolId(arg.index)].name);
  if (arg.kind == KernelArg::kScalar) {
    const Input& input = graph.inputs[arg.index];
    const std::string type = storage_type(graph[input.value].dtype), i = std::to_string(arg.index);
    const std::string given = "*(const " + type + " *)inputs[" + i + "]";
    if (!input.scalar_value) return given;
    return "inputs[" + i + "] ? " + given + " : (" + type + ")" + literal_text(*input.scalar_value, graph[input.value].dtype == DType::kBool ? DType::kBool : is_float(graph[input.value].dtype) ? DType::kF64 : DType::kI64);
  }
  const std::string p = pointer(graph, program, arg);
  return "(" + std::string(storage_type(dtype)) + " *)(" + p + ")";
}

std::string blocks(const Graph& graph, const Launch& launch) {
  std::string sum;
  for (const GridTerm& t : launch.grid) {
    const std::string per = std::to_string(t.per_block);
    sum += (sum.empty() ? "" : " + ");
    if (t.elems.is_constant()) sum += std::to_string((t.elems.value() + t.per_block - 1) / t.per_block) + "LL";
    else sum += "(" + size_text(t.elems, graph.symbols, true) + " + " + per + " - 1) / " + per;
  }
  return sum.empty() ? "0LL" : sum;
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

std::string capitals(std::string s) {
  for (char& c : s) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return s;
}

}  // namespace

std::string emit_launcher(const Graph& graph, const Program& program) {
  const std::string name = program.name;
  const bool sized = !graph.symbols.empty();
  std::string out = "#ifndef __CUDACC_RTC__\n// Host launcher: plain C calling convention, described in " + name + ".h.\n#include <stddef.h>\n\n#include <cuda_runtime_api.h>\n\n";
  const std::string locals = size_locals(graph);
  out += "extern \"C\" size_t " + name + "_workspace_bytes(const long long *sizes) {\n  (void)sizes;\n" + (program.workspace_is_static ? "" : locals) + "  return (size_t)(" +
         workspace_size(graph, program, program.workspace.size()) + ");\n}\n\n";
  out += "extern \"C\" " + signature(name, sized) + " {\n";
  if (!sized) out += "  const long long *sizes = 0;\n";
  out += "  (void)inputs, (void)outputs, (void)workspace;\n";
  out += locals;
  out += "  if (workspace_bytes < " + name + "_workspace_bytes(sizes)) return cudaErrorInvalidValue;\n  cudaGetLastError();\n";
  for (const Launch& launch : program.launches) {
    if (launch.kind == Launch::kCopy) {
      out += "  { const cudaError_t copied = cudaMemcpyAsync(" + pointer(graph, program, launch.args[1]) + ", " + pointer(graph, program, launch.args[0]) + ", (size_t)(" +
             size_text(launch.copy_bytes, graph.symbols, true) + "), cudaMemcpyDeviceToDevice, stream);\n    if (copied != cudaSuccess) return copied; }\n";
      continue;
    }
    std::string args;
    for (size_t i = 0; i < launch.args.size(); ++i) args += (i > 0 ? ", " : "") + argument(graph, program, launch.args[i], launch.arg_dtypes[i]);
    out += "  if (" + blocks(graph, launch) + " > 0) " + launch.kernel + "<<<(unsigned)(" + blocks(graph, launch) + "), " + std::to_string(launch.block) + ", " +
           std::to_string(launch.shared_bytes) + ", stream>>>(" + args + ");\n";
  }
  out += "  return cudaGetLastError();\n}\n";
  if (sized)
    out += "\nextern \"C\" " + signature(name, false) + " {\n  const long long sizes[] = {" + typical_sizes(graph) + "};\n  return " + name +
           "_launch_sized(sizes, inputs, outputs, workspace, workspace_bytes, stream);\n}\n";
  return out + "#endif\n";
}

std::string emit_header(const Graph& graph, const Program& program) {
  const std::string name = program.name, upper = capitals(name);
  const bool sized = !graph.symbols.empty();
  std::string out = "/* " + name + ": host launcher of the kernels in " + name + ".cu, generated by fusec. */\n#ifndef FUSEC_" + upper + "_H\n#define FUSEC_" + upper +
                    "_H\n\n#include <stddef.h>\n\n#include <cuda_runtime_api.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  out += "#define " + upper + "_INPUTS " + std::to_string(graph.inputs.size()) + "\n#define " + upper + "_OUTPUTS " + std::to_string(graph.outputs.size()) + "\n\n";
  auto describe = [&](const char* list, size_t i, const Value& v, const std::string& layout) {
    return " *   " + std::string(list) + "[" + std::to_string(i) + "]  " + v.name + ": " + std::string(name_of(v.dtype)) + to_string(v.shape, graph.symbols) + layout + "\n";
  };
  out += "/* Device pointers, each aligned to 16 bytes (a scalar input: a host pointer to its value, or 0 for its default):\n";
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Input& in = graph.inputs[i];
    out += describe("inputs", i, graph[in.value], in.scalar ? ", by value" : in.strides ? ", strided as the graph says" : "");
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Output& o = graph.outputs[i];
    out += describe("outputs", i, graph[o.value], o.alias ? ", the same pointer as inputs[" + std::to_string(*o.alias) + "]" : o.strides ? ", strided as the graph says" : "");
  }
  out += " */\n\n";
  for (const auto& [kind, count] : {std::pair{"input", graph.inputs.size()}, {"output", graph.outputs.size()}}) {
    if (count == 0) continue;
    out += "/* Bytes of each " + std::string(kind) + (sized ? " at the typical sizes" : "") + ". */\nstatic const size_t " + name + "_" + kind + "_bytes[" + std::to_string(count) + "] = {";
    for (size_t i = 0; i < count; ++i) {
      const bool input = kind == std::string("input");
      const Value& v = graph[input ? graph.inputs[i].value : graph.outputs[i].value];
      const std::vector<Size> strides = input ? strides_of(graph, graph.inputs[i]) : strides_of(graph, graph.outputs[i]);
      const SymbolValues typical = typical_values(graph.symbols);
      int64_t span = 1;
      for (size_t d = 0; d < v.shape.size(); ++d) {
        const int64_t n = evaluate(v.shape[d], typical);
        span = n == 0 || span == 0 ? 0 : span + (n - 1) * evaluate(strides[d], typical);
      }
      out += (i > 0 ? ", " : "") + std::to_string(span * bytes_of(v.dtype));
    }
    out += "};\n";
  }
  if (sized) {
    out += "\n/* Run-time sizes, in this order:";
    for (const Symbol& s : graph.symbols)
      if (!s.derived) out += " " + s.name + " (typically " + std::to_string(s.typical) + (s.multiple_of > 1 ? ", a multiple of " + std::to_string(s.multiple_of) : "") + ")";
    out += ". */\n" + signature(name, true) + ";\n\n/* The same at the typical sizes. */\n";
  } else {
    out += "\n/* Launches every kernel on `stream`. Returns 0, or the cudaError_t of what failed. */\n";
  }
  out += signature(name, false) + ";\n\n/* Bytes of workspace that a launch needs, aligned to 256" + std::string(sized ? ", for these run-time sizes" : "; `sizes` may be 0") + ". */\nsize_t " + name +
         "_workspace_bytes(const long long *sizes);\n\n/* This program reads no index from memory: it raises no error flag. */\n#define " + upper + "_ERROR_FLAG_BYTES 0\n";
  return out + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace fusec
