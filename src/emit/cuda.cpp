#include "emit/cuda.h"

#include <algorithm>

#include "emit/expression.h"
#include "emit/line_writer.h"
#include "emit/names.h"
#include "emit/part_writer.h"
#include "emit/row_writer.h"

namespace fusec {

namespace {

std::string parameters(const Graph& graph, const Kernel& kernel, NameScope& scope, std::vector<std::string>& names) {
  std::string text;
  for (const Buffer& b : kernel.buffers) {
    const bool input = b.arg.kind == KernelArg::kInput;
    if (b.shared_elems > 0) {
      names.push_back(scope.take(b.value + "_shared"));
      continue;
    }
    names.push_back(scope.take(b.arg.kind == KernelArg::kScalar ? b.value : b.value + (input ? "_in" : b.read ? "_work" : "_out")));
    if (!text.empty()) text += ", ";
    if (b.arg.kind == KernelArg::kScalar) {
      text += std::string("const ") + storage_type(b.dtype) + " " + names.back();
      continue;
    }
    text += (b.written ? "" : "const ") + std::string(storage_type(b.dtype)) + " *" + (b.may_overlap ? "" : "__restrict__ ") + names.back();
  }
  for (size_t s = 0; s < graph.symbols.size(); ++s) {
    if (!text.empty()) text += ", ";
    text += "long long " + symbol_identifier(graph.symbols, SymbolId(s));
  }
  return text;
}

// The blocks that form a cluster.
std::string cluster_text(const Kernel& kernel) {
  if (kernel.parts.empty()) return "";
  const auto& sweep = kernel.parts[0].sweep;
  return sweep && sweep->cluster ? "__cluster_dims__(" + std::to_string(sweep->split) + ", 1, 1) " : "";
}

void take_names(const Kernel& kernel, NameScope& scope) {
  for (const Part& part : kernel.parts)
    for (size_t i = 0; i < part.space.size(); ++i)
      if (!part.space[AtomId(i)].name.empty()) scope.take(part.space[AtomId(i)].name);
  for (const Kernel& phase : kernel.phases) take_names(phase, scope);
}

// What the part computes, by the names of its ops; else by what it stores.
std::string describe(const Graph& graph, const Part& part, const std::vector<std::string>& buffers) {
  std::vector<std::string> ops;
  auto add = [&](OpId op) {
    if (!op.valid()) return;
    const std::string text = graph.name_of(op) + " (" + std::string(name_of(graph[op].kind)) + ")";
    if (std::find(ops.begin(), ops.end(), text) == ops.end()) ops.push_back(text);
  };
  for (const Node& n : part.nodes)
    if (n.kind != Node::kLoad) add(n.op);
  if (part.line) add(part.line->op);
  constexpr size_t kNamed = 8;
  std::string text;
  for (size_t i = 0; i < std::min(ops.size(), kNamed); ++i) text += (i > 0 ? ", " : "") + ops[i];
  if (ops.size() > kNamed) text += ", …";
  std::vector<std::string> stored;
  for (const Store& s : part.stores)
    if (const std::string& name = buffers[s.buffer.index]; std::find(stored.begin(), stored.end(), name) == stored.end())
      stored.push_back(name);
  if (!text.empty()) text += " → ";
  for (size_t i = 0; i < stored.size(); ++i) text += (i > 0 ? ", " : "") + stored[i];
  return text;
}

// The phases of a kernel of one block.
std::string emit_phases(const Graph& graph, const Kernel& kernel, const std::vector<std::string>& names, const NameScope& scope,
                        bool contract) {
  std::string out;
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    if (const Buffer& b = kernel.buffers[BufferId(i)]; b.shared_elems > 0)
      out += "  __shared__ __align__(16) " + std::string(storage_type(b.dtype)) + " " + names[i] + "[" + std::to_string(b.shared_elems) +
             "];\n";
  auto names_of = [&](const Kernel& phase) {
    std::vector<std::string> own;
    for (BufferId b : phase.outer) own.push_back(names[b.index]);
    return own;
  };
  int number = 0;
  for (size_t k = 0; k < kernel.phases.size();) {
    if (k > 0) out += "  __syncthreads();\n";
    out += "  // --- phase " + std::to_string(++number) + "\n";
    // Scans first, all at once.
    std::vector<const Kernel*> scans, others;
    do {
      const Kernel& phase = kernel.phases[k];
      (phase.parts.size() == 1 && is_one_turn(graph, phase, phase.parts[0]) ? scans : others).push_back(&phase);
    } while (++k < kernel.phases.size() && !kernel.phases[k].waits);
    std::vector<std::vector<std::string>> of_scans;
    for (const Kernel* phase : scans) {
      of_scans.push_back(names_of(*phase));
      out += "  // " + describe(graph, phase->parts[0], of_scans.back()) + "\n";
    }
    if (!scans.empty()) out += emit_scans(graph, scans, of_scans, scope, contract, "  ");
    for (const Kernel* phase : others)
      for (const Part& part : phase->parts) {
        const std::vector<std::string> own = names_of(*phase);
        out += "  // " + describe(graph, part, own) + "\n" + emit_part(graph, *phase, part, own, scope, contract, "  ", "");
      }
  }
  return out;
}

}  // namespace

std::string emit_kernel(const Graph& graph, const Kernel& kernel, bool contract) {
  NameScope scope;
  // Sizes and index variables keep their names: index expressions mention them.
  for (size_t s = 0; s < graph.symbols.size(); ++s) scope.take(symbol_identifier(graph.symbols, SymbolId(s)));
  take_names(kernel, scope);
  std::vector<std::string> names;
  const std::string residents = kernel.blocks_resident > 0 ? ", " + std::to_string(kernel.blocks_resident) : "";
  std::string out = emit_tickets(kernel) + emit_published(kernel) + "extern \"C\" __global__ void " + cluster_text(kernel) +
                    "__launch_bounds__(" + std::to_string(kernel.block) + residents + ")\n" + kernel.name + "(";
  out += parameters(graph, kernel, scope, names) + ") {\n";
  if (!kernel.phases.empty()) return out + emit_phases(graph, kernel, names, scope, contract) + "}\n";
  std::string first_block;
  int64_t constant_blocks = 0;
  for (size_t p = 0; p < kernel.parts.size(); ++p) {
    const Part& part = kernel.parts[p];
    const bool several = kernel.parts.size() > 1;
    const std::string indent = several ? "    " : "  ";
    const Size& elems = part.grid.elems;
    const std::string per = std::to_string(part.grid.per_block);
    std::string next;
    if (elems.is_constant() && (first_block.empty() || !first_block.starts_with("("))) {
      constant_blocks += part.grid.blocks();
      next = std::to_string(constant_blocks);
    } else {
      next = "(" + (first_block.empty() ? "" : first_block + " + ") + "(" + size_text(elems, graph.symbols, true) + " + " + per +
             " - 1) / " + per + ")";
    }
    if (several)
      out +=
          p + 1 < kernel.parts.size() ? "  " + std::string(p > 0 ? "} else " : "") + "if (blockIdx.x < " + next + ") {\n" : "  } else {\n";
    out += emit_part(graph, kernel, part, names, scope, contract, indent, p > 0 ? first_block : "");
    first_block = next;
  }
  if (kernel.parts.size() > 1) out += "  }\n";
  return out + "}\n";
}

}  // namespace fusec
