#include "runtime/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/check.h"
#include "support/diag.h"
#include "support/version.h"

namespace fusec {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kFormat = 1;
constexpr const char* kFileKinds[] = {"cu", "header", "ptx", "cubin"};

// --- sizes: an integer, or a list of products [coefficient, dim, dim, …] ---------------------------------------------------

Json to_json(const Size& size, const Symbols& symbols) {
  if (size.is_constant()) return size.value();
  Json sum = Json::array();
  for (const Size::Term& term : size.terms()) {
    Json product = {term.coefficient};
    for (SymbolId id : term.symbols) product.push_back(symbols[id].name);
    sum.push_back(product);
  }
  if (size.constant() != 0) sum.push_back(Json::array({size.constant()}));
  return sum;
}

Json to_json(const std::vector<Size>& sizes, const Symbols& symbols) {
  Json list = Json::array();
  for (const Size& size : sizes) list.push_back(to_json(size, symbols));
  return list;
}

// Wrong manifests end in this, whatever found the mistake.
[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

int64_t integer(const Json& json, int64_t least, int64_t greatest) {
  const bool fits = json.is_number_integer() && !(json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  if (!fits || json.get<int64_t>() < least || json.get<int64_t>() > greatest)
    refuse(json.dump() + " is no integer from " + std::to_string(least) + " to " + std::to_string(greatest));
  return json.get<int64_t>();
}
uint32_t index_below(const Json& json, size_t count) {
  if (count == 0) refuse("an index where there is nothing to index");
  return static_cast<uint32_t>(integer(json, 0, static_cast<int64_t>(count) - 1));
}

Size symbol_named(const std::string& name, const Symbols& symbols) {
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[SymbolId(i)].name == name) return Size::symbol(SymbolId(i));
  refuse("no size is called '" + name + "'");
}

Size size_from(const Json& json, const Symbols& symbols) {
  if (!json.is_array()) return Size(integer(json, INT64_MIN, INT64_MAX));
  Size sum;
  for (const Json& factors : json) {
    Size product(integer(factors.at(0), INT64_MIN, INT64_MAX));
    for (size_t i = 1; i < factors.size(); ++i) product *= symbol_named(factors[i].get<std::string>(), symbols);
    sum += product;
  }
  return sum;
}

// --- symbols ---------------------------------------------------------------------------------------------------------------

Json to_json(const Symbols& symbols) {
  Json list = Json::array();
  for (const Symbol& symbol : symbols) {
    Json json = {{"name", symbol.name}, {"typical", symbol.typical}, {"multiple_of", symbol.multiple_of}};
    if (symbol.max != INT64_MAX) json["max"] = symbol.max;
    if (symbol.derived) json["floor_of"] = {{"numerator", to_json(symbol.numerator, symbols)}, {"denominator", symbol.denominator}};
    list.push_back(json);
  }
  return list;
}

Symbols symbols_from(const Json& list) {
  Symbols symbols;
  for (const Json& json : list) {
    Symbol symbol;
    symbol.name = json.at("name").get<std::string>();
    symbol.typical = integer(json.at("typical"), 0, INT64_MAX);
    symbol.multiple_of = integer(json.at("multiple_of"), 1, INT64_MAX);
    if (json.contains("max")) symbol.max = integer(json["max"], 0, INT64_MAX);
    if (json.contains("floor_of")) {
      symbol.derived = true;
      symbol.numerator = size_from(json["floor_of"].at("numerator"), symbols);  // earlier symbols only
      symbol.denominator = integer(json["floor_of"].at("denominator"), 1, INT64_MAX);
    }
    symbols.push(symbol);
  }
  return symbols;
}

// --- launches --------------------------------------------------------------------------------------------------------------

struct ArgName {
  KernelArg::Kind kind;
  const char* name;
};
constexpr ArgName kArgNames[] = {{KernelArg::kInput, "input"},   {KernelArg::kOutput, "output"}, {KernelArg::kWorkspace, "workspace"},
                                 {KernelArg::kScalar, "scalar"}, {KernelArg::kSymbol, "size"},   {KernelArg::kErrorFlag, "error_flag"}};

Json to_json(const KernelArg& arg, const Symbols& symbols) {
  for (const ArgName& row : kArgNames)
    if (row.kind == arg.kind) {
      if (arg.kind == KernelArg::kSymbol) return {{row.name, symbols[SymbolId(arg.index)].name}};
      return {{row.name, arg.index}};
    }
  FUSEC_CHECK(false, "a kernel parameter of no kind");
  return {};
}

KernelArg arg_from(const Json& json, const Manifest& manifest) {
  KernelArg arg;
  const auto row = std::find_if(std::begin(kArgNames), std::end(kArgNames), [&](const ArgName& r) { return json.contains(r.name); });
  if (row == std::end(kArgNames)) refuse("unknown parameter " + json.dump());
  arg.kind = row->kind;
  const Json& value = json.at(row->name);
  switch (arg.kind) {
    case KernelArg::kInput:
    case KernelArg::kScalar:
      arg.index = index_below(value, manifest.inputs);
      break;
    case KernelArg::kOutput:
      arg.index = index_below(value, manifest.outputs);
      break;
    case KernelArg::kWorkspace:
      arg.index = index_below(value, manifest.program.workspace.size());
      break;
    case KernelArg::kSymbol:
      arg.index = symbol_named(value.get<std::string>(), manifest.symbols).terms()[0].symbols[0].index;
      break;
    case KernelArg::kErrorFlag:
      break;
  }
  return arg;
}

Json to_json(const Launch& launch, const Symbols& symbols) {
  Json json = {{"segment", launch.segment}};
  if (launch.kind == Launch::kCopy) {
    FUSEC_CHECK(launch.args.size() == 2, "a copy has a source and a destination");
    json["copy"] = {{"bytes", to_json(launch.copy_bytes, symbols)},
                    {"from", to_json(launch.args[0], symbols)},
                    {"to", to_json(launch.args[1], symbols)}};
    return json;
  }
  json["kernel"] = launch.kernel;
  json["grid"] = Json::array();
  for (const GridTerm& term : launch.grid) json["grid"].push_back({{"elems", to_json(term.elems, symbols)}, {"per_block", term.per_block}});
  json["block"] = launch.block;
  json["shared_bytes"] = launch.shared_bytes;
  json["cooperative"] = launch.cooperative;
  json["args"] = Json::array();
  for (size_t i = 0; i < launch.args.size(); ++i) {
    json["args"].push_back(to_json(launch.args[i], symbols));
    if (i < launch.arg_dtypes.size()) json["args"].back()["dtype"] = name_of(launch.arg_dtypes[i]);
  }
  json["schedule"] = Json::object();
  for (const auto& [name, value] : launch.schedule) json["schedule"][name] = value;
  return json;
}

Launch launch_from(const Json& json, const Manifest& manifest) {
  Launch launch;
  launch.segment = index_below(json.at("segment"), manifest.segments);
  if (json.contains("copy")) {
    const Json& copy = json["copy"];
    launch.kind = Launch::kCopy;
    launch.copy_bytes = size_from(copy.at("bytes"), manifest.symbols);
    for (const char* side : {"from", "to"}) {
      launch.args.push_back(arg_from(copy.at(side), manifest));
      if (launch.args.back().kind > KernelArg::kWorkspace) refuse("a copy between things that have no address");
    }
    return launch;
  }
  launch.kernel = json.at("kernel").get<std::string>();
  for (const Json& term : json.at("grid"))
    launch.grid.push_back({size_from(term.at("elems"), manifest.symbols), integer(term.at("per_block"), 1, INT64_MAX)});
  launch.block = static_cast<uint32_t>(integer(json.at("block"), 1, 1024));
  launch.shared_bytes = static_cast<uint32_t>(integer(json.at("shared_bytes"), 0, INT32_MAX));
  launch.cooperative = json.at("cooperative").get<bool>();
  for (const Json& arg : json.at("args")) {
    launch.args.push_back(arg_from(arg, manifest));
    if (!arg.contains("dtype")) continue;
    const auto dtype = parse_dtype(arg["dtype"].get<std::string>());
    if (!dtype) refuse("unknown dtype " + arg["dtype"].dump());
    launch.arg_dtypes.push_back(*dtype);
  }
  for (const auto& [name, value] : json.at("schedule").items()) launch.schedule.emplace_back(name, integer(value, INT64_MIN, INT64_MAX));
  return launch;
}

// --- workspace, files ------------------------------------------------------------------------------------------------------

Json workspace_json(const Manifest& manifest) {
  const Program& program = manifest.program;
  Json json = {{"static", program.workspace_is_static}, {"bytes", program.workspace_bytes}, {"buffers", Json::array()}};
  for (const WorkspaceBuffer& buffer : program.workspace)
    json["buffers"].push_back({{"bytes", to_json(buffer.bytes, manifest.symbols)},
                               {"offset", buffer.offset},
                               {"first_segment", buffer.first_segment},
                               {"last_segment", buffer.last_segment}});
  return json;
}

void read_workspace(const Json& json, Manifest& manifest) {
  Program& program = manifest.program;
  program.workspace_is_static = json.at("static").get<bool>();
  program.workspace_bytes = integer(json.at("bytes"), 0, INT64_MAX);
  for (const Json& entry : json.at("buffers")) {
    WorkspaceBuffer buffer;
    buffer.bytes = size_from(entry.at("bytes"), manifest.symbols);
    buffer.offset = integer(entry.at("offset"), 0, program.workspace_is_static ? program.workspace_bytes : INT64_MAX);
    if (program.workspace_is_static && buffer.bytes.value() > program.workspace_bytes - buffer.offset)
      refuse("a buffer passes the workspace's end");
    buffer.first_segment = static_cast<uint32_t>(integer(entry.at("first_segment"), 0, UINT32_MAX));
    buffer.last_segment = static_cast<uint32_t>(integer(entry.at("last_segment"), 0, UINT32_MAX));
    program.workspace.push_back(buffer);
  }
}

Json to_json(const ManifestFile& file) {
  Json json = {{"kind", kFileKinds[file.kind]}, {"name", file.name}};
  if (!file.arch.empty()) json["arch"] = file.arch;
  json["sha256"] = file.sha256;
  return json;
}

ManifestFile file_from(const Json& json) {
  ManifestFile file;
  const auto kind = json.at("kind").get<std::string>();
  const auto row = std::find(std::begin(kFileKinds), std::end(kFileKinds), kind);
  if (row == std::end(kFileKinds)) refuse("unknown file kind '" + kind + "'");
  file.kind = static_cast<ManifestFile::Kind>(row - kFileKinds);
  file.name = json.at("name").get<std::string>();
  if (file.name.empty() || file.name.find('/') != std::string::npos) refuse("the file name '" + file.name + "'");
  file.arch = json.value("arch", "");
  file.sha256 = json.at("sha256").get<std::string>();
  return file;
}

// Inputs and outputs for loaders other than ours, which takes them from the graph.
Json tensors_json(const Graph& graph) {
  Json inputs = Json::array(), outputs = Json::array();
  auto tensor = [&](const std::string& name, const Value& value, const std::vector<Size>& strides) {
    return Json{{"name", name},
                {"dtype", name_of(value.dtype)},
                {"shape", to_json(value.shape, graph.symbols)},
                {"strides", to_json(strides, graph.symbols)}};
  };
  for (const Input& input : graph.inputs) {
    inputs.push_back(tensor(graph[input.value].name, graph[input.value], strides_of(graph, input)));
    if (input.scalar) inputs.back()["scalar"] = true;
  }
  for (const Output& output : graph.outputs) {
    outputs.push_back(tensor(output.name, graph[output.value], strides_of(graph, output)));
    if (output.alias) outputs.back()["alias"] = graph[graph.inputs[*output.alias].value].name;
  }
  return {{"inputs", inputs}, {"outputs", outputs}};
}

}  // namespace

std::string write_manifest(const Manifest& manifest, const Graph& graph) {
  Json json = {{"version", kFormat}, {"fusec", kVersion}, {"name", manifest.program.name}, {"files", Json::array()}};
  for (const ManifestFile& file : manifest.files) json["files"].push_back(to_json(file));
  json["sizes"] = to_json(manifest.symbols);
  json.update(tensors_json(graph));
  json["segments"] = manifest.segments;
  json["bytes"] = manifest.bytes;
  json["segment_bytes"] = manifest.segment_bytes;
  json["workspace"] = workspace_json(manifest);
  json["checks"] = Json::array();
  for (const IndexCheck& check : manifest.program.checks)
    json["checks"].push_back({{"op", check.op}, {"shape", to_json(check.shape, manifest.symbols)}});
  json["launches"] = Json::array();
  for (const Launch& launch : manifest.program.launches) json["launches"].push_back(to_json(launch, manifest.symbols));
  // The graph's text as it is: one line an op.
  std::string text = json.dump(1), graph_json = manifest.graph_json;
  while (!graph_json.empty() && graph_json.back() == '\n') graph_json.pop_back();
  text.resize(text.size() - std::string_view("\n}").size());
  return text + ",\n \"graph\": " + graph_json + "\n}\n";
}

Manifest read_manifest(const std::string& text, const std::string& path) {
  Manifest manifest;
  try {
    const Json json = Json::parse(text);
    if (integer(json.at("version"), 0, INT64_MAX) != kFormat)
      refuse("it has version " + json["version"].dump() + ", and this fusec (" + kVersion + ") reads version " + std::to_string(kFormat));
    manifest.program.name = json.at("name").get<std::string>();
    for (const Json& file : json.at("files")) manifest.files.push_back(file_from(file));
    manifest.symbols = symbols_from(json.at("sizes"));
    manifest.inputs = json.at("inputs").size();
    manifest.outputs = json.at("outputs").size();
    manifest.segments = static_cast<uint32_t>(integer(json.at("segments"), 0, UINT32_MAX));
    manifest.bytes = integer(json.at("bytes"), 0, INT64_MAX);
    if (json.contains("segment_bytes"))
      for (const Json& bytes : json["segment_bytes"]) manifest.segment_bytes.push_back(integer(bytes, 0, INT64_MAX));
    read_workspace(json.at("workspace"), manifest);
    for (const Json& check : json.at("checks")) {
      manifest.program.checks.push_back({check.at("op").get<std::string>(), {}});
      for (const Json& size : check.at("shape")) manifest.program.checks.back().shape.push_back(size_from(size, manifest.symbols));
    }
    for (const Json& launch : json.at("launches")) manifest.program.launches.push_back(launch_from(launch, manifest));
    manifest.graph_json = json.at("graph").dump();
  } catch (const std::exception& error) {
    std::string why = error.what();
    if (const size_t end = why.find("] "); why.starts_with("[json.exception.") && end != std::string::npos) why.erase(0, end + 2);
    throw Failure(Exit::kBadInput, path + " is no manifest that this fusec can use: " + why + ". Compile the graph again.");
  }
  return manifest;
}

}  // namespace fusec
