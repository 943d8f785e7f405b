#include "graph/attribute_names.h"

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/console.h"
#include "support/text.h"

namespace fusec {

namespace {

constexpr std::array<std::string_view, 11> kCategories = {"elementwise", "conversion", "shape",   "creation",  "reduction",     "scan",
                                                          "sort",        "gather",     "scatter", "composite", "matrix product"};

std::string operands_text(const OpInfo& row) {
  if (row.max_operands < 0) return std::to_string(row.min_operands) + "+";
  if (row.min_operands == row.max_operands) return std::to_string(row.min_operands);
  return std::to_string(row.min_operands) + "-" + std::to_string(row.max_operands);
}

// The dtypes of the value operands (of the result, where there are none).
std::string_view dtypes_text(OpKind kind) {
  const OpInfo& row = info(kind);
  switch (row.category) {
    case OpCategory::kElementwise: {
      static constexpr std::string_view kClasses[] = {"any", "numbers", "floats", "integers", "integers, bool", "bool"};
      return kind == OpKind::kWhere ? "bool, any, any" : kClasses[static_cast<size_t>(row.operands)];
    }
    case OpCategory::kGather:
      return "any, index i32 or i64";
    case OpCategory::kScatter:
      return "any, index i32 or i64, any";
    case OpCategory::kComposite:
      return kind == OpKind::kCrossEntropy ? "floats, index i32 or i64" : "floats";
    case OpCategory::kMatmul:
      return "floats";
    case OpCategory::kScan:
    case OpCategory::kSort:
      return "numbers";
    default:
      break;
  }
  switch (kind) {
    case OpKind::kUniform:
    case OpKind::kNormal:
    case OpKind::kVar:
    case OpKind::kVarMean:
    case OpKind::kLogsumexp:
      return "floats";
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kArgmax:
    case OpKind::kArgmin:
      return "numbers";
    case OpKind::kAll:
    case OpKind::kAny:
      return "bool";
    default:
      return "any";
  }
}

// Composites lower when the ops of their expansion do.
bool lowers(OpKind kind) {
  if (info(kind).category != OpCategory::kComposite) return has_lowering(kind);
  return kind == OpKind::kRope || kind == OpKind::kDropout || has_lowering(OpKind::kSum);
}

struct Row {
  OpKind kind;
  std::string_view name, category, dtypes;
  std::string operands, attributes;
  bool cuda, cpu;
};

Row row_of(OpKind kind) {
  const OpInfo& i = info(kind);
  return {kind,
          i.name,
          kCategories[static_cast<size_t>(i.category)],
          dtypes_text(kind),
          operands_text(i),
          std::string(attributes_of(kind)),
          lowers(kind),
          has_reference(kind)};
}

// One row per spelling: gelu's two kinds are one op to the user.
std::vector<Row> rows(const std::string& only) {
  std::vector<Row> rows;
  for (int k = 0; k < static_cast<int>(OpKind::kCount); ++k) {
    const auto kind = static_cast<OpKind>(k);
    if (kind != OpKind::kGeluTanh && (only.empty() || info(kind).name == only)) rows.push_back(row_of(kind));
  }
  if (!rows.empty()) return rows;
  std::vector<std::string_view> names;
  for (int k = 0; k < static_cast<int>(OpKind::kCount); ++k) names.push_back(info(static_cast<OpKind>(k)).name);
  const std::string near = nearest(only, names);
  throw Failure(Exit::kBadInput, "no op " + quoted(only) + (near.empty() ? "" : "; did you mean " + quoted(near) + "?"));
}

std::string table_text(const std::vector<Row>& rows) {
  auto pad = [](std::string text, size_t width) { return text.append(width > text.size() ? width - text.size() : 0, ' ') + "  "; };
  auto line = [&](auto name, auto category, auto operands, auto dtypes, auto cuda, auto cpu, auto attributes) {
    std::string text = pad(std::string(name), 15) + pad(std::string(category), 14) + pad(std::string(operands), 8) +
                       pad(std::string(dtypes), 27) + pad(cuda, 4) + pad(cpu, 3) + std::string(attributes);
    return text.erase(text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string out = line("op", "kind", "operands", "dtypes", "CUDA", "CPU", "attributes (?: optional)");
  for (const Row& r : rows) out += line(r.name, r.category, r.operands, r.dtypes, r.cuda ? "yes" : "-", r.cpu ? "yes" : "-", r.attributes);
  return out;
}

std::string attributes_json(const std::string& list) {
  std::string required, optional;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(' ', begin), list.size());
    const bool is_optional = list[end - 1] == '?';
    std::string& into = is_optional ? optional : required;
    into += (into.empty() ? "" : ", ") + json_quote(std::string_view(list).substr(begin, end - begin - is_optional));
    begin = end + 1;
  }
  return "\"required\": [" + required + "], \"optional\": [" + optional + "]";
}

std::string table_json(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& r : rows) {
    const OpInfo& i = info(r.kind);
    out += out.empty() ? "" : ",\n ";
    out += "{\"op\": " + json_quote(r.name) + ", \"kind\": " + json_quote(r.category) +
           ", \"min_operands\": " + std::to_string(i.min_operands) +
           ", \"max_operands\": " + (i.max_operands < 0 ? "null" : std::to_string(i.max_operands)) +
           ", \"results\": " + std::to_string(i.results) + ", \"dtypes\": " + json_quote(r.dtypes) + ", " + attributes_json(r.attributes) +
           ", \"cuda\": " + (r.cuda ? "true" : "false") + ", \"cpu\": " + (r.cpu ? "true" : "false") + "}";
  }
  return "[" + out + "]\n";
}

}  // namespace

int run_ops(const OpsCommand& command) {
  const std::vector<Row> all = rows(command.op);
  print_result(command.json ? table_json(all) : table_text(all));
  return 0;
}

}  // namespace fusec
