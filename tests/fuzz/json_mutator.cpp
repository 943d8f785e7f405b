#include "fuzz/json_mutator.h"

#include <algorithm>

#include "graph/attribute_names.h"
#include "graph/dtype.h"
#include "graph/ops.h"

namespace fusec {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kNumbers[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 32, 33, 64, 255, 256, 1024, 65536, 1 << 20, -1, -2, INT64_MAX, INT64_MIN};
constexpr double kReals[] = {0.0, -0.0, 0.5, 1e-5, -1.5, 1e30, 1e300, 5e-324};
constexpr const char* kWords[] = {"inf", "-inf", "nan",  "",     "N",      "N*M",     "2*N",    "add", "mul",
                                  "max", "min",  "none", "tanh", "normal", "uniform", "arange", "a#2", "x.y"};
constexpr const char* kKeys[] = {"version", "name",        "dims",   "inputs", "ops",  "outputs", "doc",  "dtype",
                                 "shape",   "strides",     "scalar", "value",  "init", "alias",   "size", "dynamic",
                                 "max",     "multiple_of", "op",     "in",     "out",  "note"};

void collect(Json& node, std::vector<Json*>& nodes) {
  nodes.push_back(&node);
  for (auto& child : node)
    if (node.is_structured()) collect(child, nodes);
}

bool is_list(const Json& root, const char* key) {
  return root.is_object() && root.contains(key) && root[key].is_array() && !root[key].empty();
}

OpKind kind_at(size_t i) { return static_cast<OpKind>(i); }
constexpr size_t kKinds = static_cast<size_t>(OpKind::kCount);

// Appends `prefix` to every name of a value.
void rename(Json& root, const std::string& prefix) {
  auto one = [&](Json& v) {
    if (v.is_string() && v != "inf" && v != "-inf" && v != "nan") v = prefix + v.get<std::string>();
  };
  for (const char* list : {"inputs", "ops"}) {
    if (!is_list(root, list)) continue;
    for (Json& entry : root[list]) {
      if (!entry.is_object()) continue;
      for (const char* key : {"name", "in", "out"}) {
        if (!entry.contains(key)) continue;
        if (entry[key].is_array()) std::for_each(entry[key].begin(), entry[key].end(), one);
        else one(entry[key]);
      }
    }
  }
}

}  // namespace

std::string JsonMutator::mutate(const std::string& text) {
  Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) return text;
  for (size_t n = 1 + pick(4); n > 0; --n) change(root);
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string JsonMutator::join(const std::string& first, const std::string& second) {
  Json a = Json::parse(first, nullptr, false), b = Json::parse(second, nullptr, false);
  if (!a.is_object() || !b.is_object()) return first;
  rename(b, "q_");
  for (const char* list : {"inputs", "ops"})
    if (is_list(b, list) && a.contains(list) && a[list].is_array())
      for (const Json& entry : b[list]) a[list].push_back(entry);
  if (b.contains("dims") && b["dims"].is_object() && a.contains("dims") && a["dims"].is_object())
    for (const auto& [name, size] : b["dims"].items())
      if (!a["dims"].contains(name)) a["dims"][name] = size;
  if (is_list(a, "outputs") && is_list(b, "ops")) rewire(a), change_outputs(a);
  return a.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void JsonMutator::change(Json& root) {
  if (!root.is_object() || one_in(3)) return change_node(root);
  switch (pick(6)) {
    case 0:
    case 1:
      return add_op(root);
    case 2:
      return rewire(root);
    case 3:
      return swap_kind(root);
    case 4:
      return change_input(root);
    default:
      return change_outputs(root);
  }
}

void JsonMutator::change_node(Json& root) {
  std::vector<Json*> nodes;
  collect(root, nodes);
  Json& node = *any_of(nodes);
  if (one_in(8)) {
    node = Json(*any_of(nodes));
  } else if (node.is_array()) {
    change_list(node);
  } else if (node.is_object()) {
    change_object(node);
  } else {
    node = other_atom(node, root);
  }
}

void JsonMutator::change_list(Json& list) {
  if (list.empty()) return list.push_back(kNumbers[pick(std::size(kNumbers))]);
  const size_t i = pick(list.size()), j = pick(list.size());
  switch (pick(4)) {
    case 0:
      list.erase(i);
      break;
    case 1:
      list.push_back(Json(list[i]));
      break;
    case 2:
      std::swap(list[i], list[j]);
      break;
    default:
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), Json(kNumbers[pick(std::size(kNumbers))]));
  }
}

void JsonMutator::change_object(Json& object) {
  if (!object.empty() && one_in(2)) {
    auto it = object.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(pick(object.size())));
    object.erase(it);
    return;
  }
  if (one_in(2)) {
    object[any_of(kKeys)] = kNumbers[pick(std::size(kNumbers))];
    return;
  }
  for_each_attribute(info(kind_at(pick(kKinds))).attributes, [&](std::string_view name, bool) {
    if (one_in(2)) object[std::string(name)] = attribute(name, object, pick(4));
  });
}

nlohmann::ordered_json JsonMutator::other_atom(const Json& node, const Json& root) {
  if (node.is_boolean() && !one_in(4)) return !node.get<bool>();
  if (node.is_number_integer() && one_in(2)) {
    const auto n = node.get<uint64_t>();  // wraps
    const uint64_t near[] = {n + 1, n - 1, n * 2, n / 2, ~n + 1};
    return static_cast<int64_t>(any_of(near));
  }
  switch (pick(8)) {
    case 0:
      return any_of(kReals);
    case 1:
      return std::string(any_of(kWords));
    case 2:
      return std::string(kDTypes[pick(std::size(kDTypes))].name);
    case 3:
      return std::string(name_of(kind_at(pick(kKinds))));
    case 4:
      return one_in(2) ? Json(nullptr) : one_in(2) ? Json::array() : Json(one_in(2));
    case 5: {
      const std::vector<std::string> names = value_names(root);
      return names.empty() ? Json("x") : Json(any_of(names));
    }
    default:
      return any_of(kNumbers);
  }
}

std::vector<std::string> JsonMutator::value_names(const Json& root) {
  std::vector<std::string> names;
  auto add = [&](const Json& v) {
    if (v.is_string()) names.push_back(v.get<std::string>());
  };
  if (is_list(root, "inputs"))
    for (const Json& input : root["inputs"])
      if (input.is_object() && input.contains("name")) add(input["name"]);
  if (is_list(root, "ops"))
    for (const Json& op : root["ops"]) {
      if (!op.is_object() || !op.contains("out")) continue;
      if (op["out"].is_array()) std::for_each(op["out"].begin(), op["out"].end(), add);
      else add(op["out"]);
    }
  return names;
}

nlohmann::ordered_json JsonMutator::size(const Json& root) {
  if (root.is_object() && root.contains("dims") && root["dims"].is_object() && !root["dims"].empty() && one_in(3)) {
    auto it = root["dims"].begin();
    std::advance(it, static_cast<std::ptrdiff_t>(pick(root["dims"].size())));
    return one_in(4) ? it.key() + "*2" : it.key();
  }
  return kNumbers[pick(one_in(8) ? std::size(kNumbers) : 8)];
}

// A value that an attribute of this name might have, for an operand of that rank.
nlohmann::ordered_json JsonMutator::attribute(std::string_view name, const Json& root, size_t rank) {
  auto list = [&](auto element) {
    Json all = Json::array();
    for (size_t d = 0; d < rank; ++d) all.push_back(element(d));
    return all;
  };
  if (name == "dtype") return std::string(kDTypes[pick(std::size(kDTypes))].name);
  if (name == "shape") return list([&](size_t) { return one_in(6) ? Json(-1) : size(root); });
  if (name == "perm") {
    Json perm = list([](size_t d) { return d; });
    std::shuffle(perm.begin(), perm.end(), random_);
    return perm;
  }
  if (name == "steps") return list([&](size_t) { return 1 + pick(3); });
  if (name == "starts") return list([&](size_t) { return pick(3); });
  if (name == "stops" || name == "low" || name == "high") return list([&](size_t) { return size(root); });
  if (name == "dims") return one_in(2) ? Json::array({static_cast<int>(pick(4)) - 2}) : list([](size_t d) { return d; });
  if (name == "dim") return static_cast<int>(pick(5)) - 2;
  if (name == "k" || name == "groups" || name == "seed" || name == "stream") return size(root);
  if (name == "accumulate") return any_of(kWords);
  if (name == "eps" || name == "p") return any_of(kReals);
  if (name == "value" || name == "start" || name == "step" || name == "correction") return any_of(kNumbers);
  return one_in(2);
}

void JsonMutator::add_op(Json& root) {
  const std::vector<std::string> names = value_names(root);
  if (!root.contains("ops") || !root["ops"].is_array() || root["ops"].size() > 200) return;
  const OpKind kind = one_in(3) ? OpKind::kCast : kind_at(pick(kKinds));
  const OpInfo& row = info(kind);
  Json op = {{"op", std::string(row.name)}};
  const auto least = static_cast<size_t>(row.min_operands);
  const size_t most = row.max_operands < 0 ? least + 2 : static_cast<size_t>(row.max_operands);
  const size_t operands = least + pick(most - least + 1);
  if (operands > 0 && names.empty()) return;
  if (operands > 0) op["in"] = Json::array();
  for (size_t i = 0; i < operands; ++i) op["in"].push_back(one_in(12) ? other_atom(Json(1), root) : Json(any_of(names)));
  const size_t rank = pick(4);
  for_each_attribute(row.attributes, [&](std::string_view name, bool required) {
    if (required || one_in(3)) op[std::string(name)] = attribute(name, root, rank);
  });
  const std::string out = "v" + std::to_string(root["ops"].size()) + "_" + std::to_string(pick(1000));
  if (row.results == 1) op["out"] = out;
  else op["out"] = Json::array({out, one_in(2) ? Json(nullptr) : Json(out + ".b")});
  root["ops"].insert(root["ops"].begin() + static_cast<std::ptrdiff_t>(pick(root["ops"].size() + 1)), op);
  if (one_in(2) && root.contains("outputs") && root["outputs"].is_array()) root["outputs"].push_back(out);
}

void JsonMutator::rewire(Json& root) {
  const std::vector<std::string> names = value_names(root);
  if (!is_list(root, "ops") || names.empty()) return;
  Json& op = any_of(root["ops"]);
  if (op.is_object() && is_list(op, "in")) any_of(op["in"]) = any_of(names);
}

// Another op with as many operands and results.
void JsonMutator::swap_kind(Json& root) {
  if (!is_list(root, "ops")) return;
  Json& op = any_of(root["ops"]);
  if (!op.is_object() || !op.contains("in") || !op["in"].is_array()) return;
  const auto operands = static_cast<int>(op["in"].size());
  for (int tries = 0; tries < 20; ++tries) {
    const OpInfo& row = info(kind_at(pick(kKinds)));
    if (row.min_operands > operands || (row.max_operands >= 0 && row.max_operands < operands)) continue;
    op["op"] = std::string(row.name);
    return;
  }
}

void JsonMutator::change_input(Json& root) {
  if (!is_list(root, "inputs")) return;
  Json& input = any_of(root["inputs"]);
  if (!input.is_object()) return;
  switch (pick(4)) {
    case 0:
      input["dtype"] = std::string(kDTypes[pick(std::size(kDTypes))].name);
      break;
    case 1:
      input["shape"] = attribute("shape", root, pick(5));
      break;
    case 2:
      input["strides"] = attribute("starts", root, input.contains("shape") && input["shape"].is_array() ? input["shape"].size() : pick(3));
      break;
    default:
      if (root.contains("dims") && root["dims"].is_object())
        root["dims"][one_in(2) ? "N" : "M"] = {{"size", size(Json())}, {"dynamic", true}};
  }
}

void JsonMutator::change_outputs(Json& root) {
  const std::vector<std::string> names = value_names(root);
  if (!root.contains("outputs") || !root["outputs"].is_array() || names.empty()) return;
  Json& outputs = root["outputs"];
  if (!outputs.empty() && one_in(3)) return static_cast<void>(outputs.erase(pick(outputs.size())));
  if (one_in(4)) outputs.push_back({{"value", any_of(names)}, {"alias", any_of(names)}});
  else outputs.push_back(any_of(names));
}

}  // namespace fusec
