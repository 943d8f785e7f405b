#include "parser/read_graph.h"

#include <algorithm>

#include "parser/json.h"
#include "parser/read_parts.h"

namespace fusec {

namespace {

constexpr size_t kMaxNameBytes = 200;  // files are called after the graph

// False when the file is of another version, whose rules are not these.
bool check_version(Reading& r, JsonValue root) {
  const auto version = root.find("version");
  if (!version) return true;  // reported as a missing key
  const auto n = read_integer(r, *version, {"version", "", ""});
  if (n && *n != 1)
    r.error("version", version->span(), "this is a graph of version " + std::to_string(*n) + "; this fusec reads version 1");
  return n == 1;
}

// The file's stem, made an identifier.
std::string name_from_file(std::string_view path) {
  path.remove_prefix(std::min(path.size(), path.rfind('/') + 1));
  for (std::string_view ending : {".json", ".fusion"})
    if (path.size() > ending.size() && path.ends_with(ending)) path.remove_suffix(ending.size());
  if (path.starts_with('<') && path.ends_with('>')) path = path.substr(1, path.size() - 2);  // <stdin>
  std::string name(path.substr(0, kMaxNameBytes));
  std::replace_if(name.begin(), name.end(), [](char c) { return !is_identifier(std::string("_") + c); }, '_');
  return is_identifier(name) ? name : "_" + name;
}

void read_name(Reading& r, std::optional<JsonValue> name, const std::string& path) {
  r.graph.name = name_from_file(path);
  if (!name || !expect(r, *name, JsonKind::kString, {"name", "the graph", ""})) return;
  const std::string_view text = name->string();
  if (!is_identifier(text))
    r.error("bad-name", name->span(),
            "a graph cannot be called " + quoted(text) + ": its name is a letter or '_', then letters, digits or '_'");
  else if (text.size() > kMaxNameBytes)
    r.error(
        "bad-name", name->span(),
        "the graph's name has " + std::to_string(text.size()) + " characters; at most " + std::to_string(kMaxNameBytes) + " are allowed");
  else r.graph.name = text;
}

void read_parts(Reading& r, JsonValue root, const std::string& path) {
  if (!check_version(r, root)) return;
  check_keys(r, root, {"", "a graph", ""}, {"version", "name", "dims", "inputs", "ops", "outputs", "doc", "meta"},
             {"version", "inputs", "ops", "outputs"});
  read_name(r, root.find("name"), path);
  if (const auto doc = root.find("doc"); doc && expect(r, *doc, JsonKind::kString, {"doc", "", ""})) r.graph.doc = doc->string();
  read_dims(r, root.find("dims"));
  const auto inputs = root.find("inputs"), ops = root.find("ops"), outputs = root.find("outputs");
  if (inputs) read_inputs(r, *inputs);
  // Without these lists every name would seem undefined.
  if (inputs && ops) read_ops(r, *ops);
  if (inputs && ops && outputs) read_outputs(r, *outputs);
}

}  // namespace

std::optional<Graph> read_graph(const SourceText& source, const ReadOptions& options, Diagnostics& diagnostics) {
  const size_t errors_before = diagnostics.error_count();
  const auto document = JsonDocument::parse(source.text(), diagnostics);
  if (!document) return std::nullopt;
  Reading r{diagnostics, options, {}, {}, {}, {}, {}};
  const JsonValue root = document->root();
  if (!root.is(JsonKind::kObject))
    r.error("wrong-type", {root.span().begin, root.span().begin + 1},
            "a graph is a JSON object {...}, not " + std::string(describe(root.kind())));
  else read_parts(r, root, source.name());
  if (diagnostics.error_count() > errors_before) return std::nullopt;
  warn_unused(r);
  return std::move(r.graph);
}

}  // namespace fusec
