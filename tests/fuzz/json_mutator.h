// Changes to the text of a fusion graph that mostly leave it JSON, and often a graph: fuzzing then reaches behind the parser.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace fusec {

class JsonMutator {
 public:
  explicit JsonMutator(uint64_t seed) : random_(seed) {}

  // One to four changes. A text that is no JSON comes back unchanged.
  std::string mutate(const std::string& text);
  // The first graph with the inputs and ops of the second one, under other names.
  std::string join(const std::string& first, const std::string& second);

 private:
  using Json = nlohmann::ordered_json;

  size_t pick(size_t n) { return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool one_in(size_t n) { return pick(n) == 0; }
  template <class List>
  auto& any_of(List& list) {
    return list[pick(std::size(list))];
  }

  void change(Json& root);
  // Anything in the tree.
  void change_node(Json& root);
  void change_list(Json& list);
  void change_object(Json& object);
  Json other_atom(const Json& node, const Json& root);
  Json size(const Json& root);
  Json attribute(std::string_view name, const Json& root, size_t rank);
  // The parts of a graph.
  void add_op(Json& root);
  void rewire(Json& root);
  void swap_kind(Json& root);
  void change_input(Json& root);
  void change_outputs(Json& root);
  std::vector<std::string> value_names(const Json& root);

  std::mt19937_64 random_;
};

}  // namespace fusec
