#include "driver/reduce.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "parser/read_graph.h"

namespace fusec {

namespace {

using Json = nlohmann::ordered_json;

std::optional<Graph> read(const std::string& text) {
  Diagnostics diagnostics;
  return read_graph(SourceText("reduced.fusion.json", text), {}, diagnostics);
}

// One line for each input and op.
std::string to_text(const Json& root) {
  std::string out;
  for (const auto& [key, value] : root.items()) {
    out += (out.empty() ? "{\n  " : ",\n  ") + Json(key).dump() + ": ";
    if (!value.is_array() || value.empty() || !value[0].is_object()) {
      out += value.dump();
      continue;
    }
    std::string lines;
    for (const Json& entry : value) lines += (lines.empty() ? "[\n    " : ",\n    ") + entry.dump();
    out += lines + "\n  ]";
  }
  return out + "\n}\n";
}

size_t length(const Json& root, const char* key) { return root.contains(key) && root[key].is_array() ? root[key].size() : 0; }

// The text under a key, or "".
std::string text_at(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

template <class Use>
void for_each_result(const Json& op, Use use) {
  if (!op.is_object() || !op.contains("out")) return;
  const Json& out = op["out"];
  if (out.is_string()) use(out.get<std::string>());
  if (out.is_array())
    for (const Json& name : out)
      if (name.is_string()) use(name.get<std::string>());
}

std::set<std::string> results_of(const Json& op) {
  std::set<std::string> names;
  for_each_result(op, [&](const std::string& name) { names.insert(name); });
  return names;
}

// Calls use(name) for every place that reads a value; `use` may change it.
template <class Use>
void for_each_use(Json& root, Use use) {
  if (length(root, "ops"))
    for (Json& op : root["ops"])
      if (op.is_object() && op.contains("in") && op["in"].is_array())
        for (Json& name : op["in"])
          if (name.is_string()) use(name);
  if (length(root, "outputs"))
    for (Json& output : root["outputs"]) {
      if (output.is_string()) use(output);
      if (output.is_object() && output.contains("value") && output["value"].is_string()) use(output["value"]);
    }
}

// Leaves out what no output of a legal graph needs.
void drop_unused(Json& root) {
  for (bool changed = true; changed;) {
    std::set<std::string> used;
    for_each_use(root, [&](Json& name) { used.insert(name.get<std::string>()); });
    for (const Json& output : root["outputs"]) used.insert(text_at(output, "alias"));
    auto unused = [&](const Json& op) {
      const auto names = results_of(op);
      return std::none_of(names.begin(), names.end(), [&](const std::string& name) { return used.contains(name); });
    };
    const size_t before = length(root, "ops") + length(root, "inputs");
    Json ops = Json::array(), inputs = Json::array();
    for (Json& op : root["ops"])
      if (!unused(op)) ops.push_back(std::move(op));
    for (Json& input : root["inputs"])
      if (used.contains(text_at(input, "name"))) inputs.push_back(std::move(input));
    root["ops"] = std::move(ops);
    root["inputs"] = std::move(inputs);
    changed = length(root, "ops") + length(root, "inputs") != before;
  }
  if (!root.contains("dims") || !root["dims"].is_object()) return;
  const std::string body = root["inputs"].dump() + root["ops"].dump();
  Json dims = Json::object();
  for (const auto& [name, size] : root["dims"].items())
    if (body.find(name) != std::string::npos) dims[name] = size;
  if (dims.empty()) root.erase("dims");
  else root["dims"] = std::move(dims);
}

class Reducer {
 public:
  Reducer(Json root, const std::function<bool(const std::string&)>& is_bad, const ReduceOptions& options)
      : best_(std::move(root)), is_bad_(is_bad), options_(options), legal_(read(to_text(best_)).has_value()) {
    seen_.insert(std::hash<std::string>()(text()));
  }

  void run() {
    accept_tidied();
    for (bool progress = true; progress && tries_ < options_.max_tries;) {
      progress = false;
      progress |= drop_chunks("outputs", [](Json& root, size_t from, size_t to) { erase(root, "outputs", from, to); });
      progress |= drop_chunks("ops", [this](Json& root, size_t from, size_t to) { cut_ops(root, from, to); });
      progress |= drop_chunks("inputs", [](Json& root, size_t from, size_t to) { erase(root, "inputs", from, to); });
      progress |= each_entry("ops", &Reducer::bypass_op);
      progress |= each_entry("inputs", &Reducer::simplify_input);
      progress |= each_entry("outputs", &Reducer::simplify_output);
      progress |= shrink_sizes();
      progress |= each_entry("ops", &Reducer::simplify_op);
      progress |= plain_keys();
    }
  }

  std::string text() const { return to_text(best_); }
  size_t ops() const { return length(best_, "ops"); }
  size_t tries() const { return tries_; }

 private:
  // --- trying ------------------------------------------------------------------------------------------------------------

  bool attempt(const Json& candidate) {
    const std::string text = to_text(candidate);
    if (tries_ >= options_.max_tries || !seen_.insert(std::hash<std::string>()(text)).second) return false;
    if (legal_ && !read(text)) return false;
    ++tries_;
    if (!is_bad_(text)) return false;
    best_ = candidate;
    options_.keep(text);
    return true;
  }

  // A change and everything that is of no use after it; the change alone where the fault needs that.
  bool attempt_tidied(const Json& candidate) {
    if (!legal_) return attempt(candidate);
    Json tidied = candidate;
    drop_unused(tidied);
    return attempt(tidied) || attempt(candidate);
  }

  void accept_tidied() {
    if (!legal_) return;
    Json tidied = best_;
    drop_unused(tidied);
    attempt(tidied);
  }

  // Half of a list, quarters, … single entries: what can go goes.
  template <class Drop>
  bool drop_chunks(const char* key, Drop drop) {
    bool progress = false;
    for (size_t chunk = std::max<size_t>(1, length(best_, key) / 2);; chunk /= 2) {
      for (size_t from = 0; from < length(best_, key);) {
        Json candidate = best_;
        drop(candidate, from, std::min(from + chunk, length(candidate, key)));
        if (attempt_tidied(candidate)) progress = true;
        else from += chunk;
      }
      if (chunk <= 1) return progress;
    }
  }

  bool each_entry(const char* key, bool (Reducer::*edit)(size_t)) {
    bool progress = false;
    for (size_t i = length(best_, key); i-- > 0;)
      while (i < length(best_, key) && (this->*edit)(i)) progress = true;
    return progress;
  }

  static void erase(Json& root, const char* key, size_t from, size_t to) {
    Json& list = root[key];
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(from), list.begin() + static_cast<std::ptrdiff_t>(to));
  }

  // --- ops ---------------------------------------------------------------------------------------------------------------

  // A value as an input.
  static Json as_input(const Graph& graph, const Value& value) {
    Json shape = Json::array();
    for (const Size& size : value.shape)
      if (size.is_constant()) shape.push_back(size.value());
      else shape.push_back(to_string(size, graph.symbols));
    return {{"name", value.name}, {"dtype", std::string(name_of(value.dtype))}, {"shape", shape}};
  }

  // Ops go; their results become inputs.
  void cut_ops(Json& root, size_t from, size_t to) const {
    std::set<std::string> cut;
    for (size_t i = from; i < to; ++i) cut.merge(results_of(root["ops"][i]));
    erase(root, "ops", from, to);
    const auto graph = legal_ ? read(text()) : std::nullopt;
    if (!graph) return;
    for (const Value& value : graph->values)
      if (cut.contains(value.name)) root["inputs"].push_back(as_input(*graph, value));
  }

  // The result of an op is its operand, where dtype and shape are the same.
  bool bypass_op(size_t i) {
    const Json op = best_["ops"][i];
    if (!op.is_object() || !op.contains("in") || !op["in"].is_array() || !op.contains("out")) return false;
    for (const Json& operand : op["in"]) {
      if (!operand.is_string()) continue;
      for (const std::string& result : results_of(op)) {
        Json candidate = best_;
        for_each_use(candidate, [&](Json& name) {
          if (name == result) name = operand;
        });
        if (attempt_tidied(candidate)) return true;
      }
    }
    return false;
  }

  bool simplify_op(size_t i) {
    const Json op = best_["ops"][i];
    if (!op.is_object()) return false;
    for (const auto& [key, value] : op.items()) {
      if (key == "op" || key == "out") continue;
      if (key != "in" && try_without("ops", i, key)) return true;
      if (try_plainer(Json::json_pointer("/ops/" + std::to_string(i) + "/" + key))) return true;
    }
    return false;
  }

  bool try_without(const char* list, size_t i, const std::string& key) {
    Json candidate = best_;
    candidate[list][i].erase(key);
    return attempt_tidied(candidate);
  }

  // Numbers become 0 or 1, in lists as well.
  bool try_plainer(const Json::json_pointer& at) {
    const Json value = best_[at];
    if (value.is_array()) {
      for (size_t k = 0; k < value.size(); ++k)
        if (try_plainer(at / k)) return true;
      return false;
    }
    if (!value.is_number()) return false;
    for (const int plain : {0, 1}) {
      if (value == plain) return false;
      Json candidate = best_;
      candidate[at] = plain;
      if (attempt_tidied(candidate)) return true;
    }
    return false;
  }

  // --- inputs and outputs --------------------------------------------------------------------------------------------------

  bool simplify_input(size_t i) {
    const Json input = best_["inputs"][i];
    if (!input.is_object() || !input.contains("name")) return false;
    for (const char* key : {"strides", "init", "value", "scalar"})
      if (input.contains(key) && try_without("inputs", i, key)) return true;
    // Another input in its place.
    for (size_t other = 0; other < i; ++other) {
      const Json& first = best_["inputs"][other];
      if (!first.is_object() || !first.contains("name") || text_at(first, "dtype") != text_at(input, "dtype")) continue;
      Json candidate = best_;
      for_each_use(candidate, [&](Json& name) {
        if (name == input["name"]) name = first["name"];
      });
      if (attempt_tidied(candidate)) return true;
    }
    return false;
  }

  bool simplify_output(size_t i) {
    const Json output = best_["outputs"][i];
    if (!output.is_object()) return false;
    for (const char* key : {"alias", "strides"})
      if (output.contains(key) && try_without("outputs", i, key)) return true;
    if (output.size() != 1 || !output.contains("value")) return false;
    Json candidate = best_;
    candidate["outputs"][i] = output["value"];
    return attempt(candidate);
  }

  // --- sizes -------------------------------------------------------------------------------------------------------------

  // Every integer that may be an extent: in dims, in shapes, and in attributes that hold sizes.
  template <class Use>
  static void for_each_size(Json& root, Use use) {
    auto in_list = [&](Json& list) {
      if (list.is_array())
        for (Json& size : list)
          if (size.is_number_integer()) use(size);
    };
    if (root.contains("dims") && root["dims"].is_object())
      for (auto& [name, size] : root["dims"].items()) {
        if (size.is_number_integer()) use(size);
        if (size.is_object() && size.contains("size") && size["size"].is_number_integer()) use(size["size"]);
      }
    for (const char* list : {"inputs", "ops"}) {
      if (!length(root, list)) continue;
      for (Json& entry : root[list]) {
        if (!entry.is_object()) continue;
        for (const char* key : {"shape", "stops", "starts", "low", "high", "strides"})
          if (entry.contains(key)) in_list(entry[key]);
        if (entry.contains("k") && entry["k"].is_number_integer()) use(entry["k"]);
        if (entry.contains("init") && entry["init"].is_object())
          for (auto& [word, argument] : entry["init"].items()) {
            if (argument.is_number_integer()) use(argument);
            in_list(argument);
          }
      }
    }
  }

  // An extent changes wherever it stands, and in its multiples: a reshape keeps its count so.
  bool shrink_sizes() {
    bool progress = false;
    std::set<int64_t, std::greater<>> sizes;
    for_each_size(best_, [&](Json& size) { sizes.insert(size.get<int64_t>()); });
    for (const int64_t from : sizes) {
      if (from <= 1) continue;
      for (const int64_t to : {int64_t{1}, int64_t{2}, from / 4, from / 2, from - 1}) {
        if (to < 1 || to >= from) continue;
        if (!try_size(from, to, true) && !try_size(from, to, false)) continue;
        progress = true;
        break;
      }
    }
    return progress;
  }

  bool try_size(int64_t from, int64_t to, bool multiples) {
    Json candidate = best_;
    for_each_size(candidate, [&](Json& size) {
      const auto n = size.get<int64_t>();
      if (n == from || (multiples && n > from && n % from == 0)) size = n / from * to;
    });
    return attempt_tidied(candidate);
  }

  // --- the rest ------------------------------------------------------------------------------------------------------------

  bool plain_keys() {
    bool progress = false;
    for (const char* key : {"doc", "meta", "name"}) {
      if (!best_.contains(key)) continue;
      Json candidate = best_;
      candidate.erase(key);
      progress |= attempt(candidate);
    }
    if (!best_.contains("dims") || !best_["dims"].is_object()) return progress;
    const Json dims = best_["dims"];
    for (const auto& [name, size] : dims.items()) {
      if (!size.is_object() || !size.contains("size")) continue;
      Json candidate = best_;
      candidate["dims"][name] = size["size"];
      progress |= attempt(candidate);
    }
    return progress;
  }

  Json best_;
  const std::function<bool(const std::string&)>& is_bad_;
  const ReduceOptions& options_;
  const bool legal_;
  size_t tries_ = 0;
  std::unordered_set<size_t> seen_;  // hashes of what was tried
};

}  // namespace

Reduction reduce_graph(const std::string& text, const std::function<bool(const std::string&)>& is_bad, const ReduceOptions& options) {
  Json root = Json::parse(text, nullptr, false);
  if (!root.is_object()) throw Failure(Exit::kBadInput, "the graph is no JSON object, so its parts cannot be left out one by one");
  Reduction reduction;
  reduction.ops_before = length(root, "ops");
  Reducer reducer(std::move(root), is_bad, options);
  reducer.run();
  reduction.text = reducer.text();
  reduction.ops_after = reducer.ops();
  reduction.tries = reducer.tries();
  return reduction;
}

}  // namespace fusec
