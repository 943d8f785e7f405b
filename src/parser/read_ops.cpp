// Ops are read in the file's order (names, operands, attributes), put into a topological order, and only then checked against
// the rules of their kind, which need the operands' dtypes and shapes.
#include <algorithm>

#include "graph/literal.h"
#include "graph/verify.h"
#include "parser/op_order.h"
#include "parser/read_parts.h"

namespace fusec {

namespace {

constexpr uint32_t kNoDefinition = UINT32_MAX;

struct OperandDraft {
  std::optional<std::string_view> name;  // of a value; without name and literal it is null
  std::optional<Literal> literal;
  std::string_view word;  // a literal's, when it is written as a string
  Span at;
  uint32_t definition = kNoDefinition;
};

struct OpDraft {
  JsonValue json;
  OpKind kind = OpKind::kCopy;
  Span at;  // of the op's name
  std::optional<DType> dtype;
  uint32_t attrs = UINT32_MAX;  // into OpReader::attrs_
  uint32_t first_operand = 0, operands = 0;
  uint32_t first_result = 0, results = 0;
  bool failed = false;
};

std::optional<OpKind> find_kind(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, OpKind> map;
    for (int i = 0; i < static_cast<int>(OpKind::kCount); ++i) map.emplace(info(static_cast<OpKind>(i)).name, static_cast<OpKind>(i));
    return map;
  }();
  const auto it = by_name.find(name);
  return it == by_name.end() ? std::nullopt : std::optional(it->second);
}

// Whether the operand at `position` may be null: the optional ones of composites and of `linear`.
bool may_be_absent(OpKind kind, size_t position) {
  const OpInfo& i = info(kind);
  return i.max_operands > i.min_operands && static_cast<int>(position) >= i.min_operands;
}

bool may_be_literal(OpKind kind, size_t position) {
  const OpCategory c = info(kind).category;
  return c == OpCategory::kElementwise || (c == OpCategory::kScatter && position == 2);
}

std::string count(int n, const char* noun) { return std::to_string(n) + " " + noun + (n == 1 ? "" : "s"); }

class OpReader {
 public:
  explicit OpReader(Reading& reading) : r(reading) {}

  void read(JsonValue list) {
    const size_t n = list.size();
    ops_.reserve(n);
    results_.reserve(n);
    operands_.reserve(2 * n);
    r.definitions.reserve(r.definitions.size() + n);
    r.by_name.reserve(r.by_name.size() + n);
    for (JsonValue op : list) {
      if (r.hopeless()) return;
      read_op(op);
    }
    for (OpDraft& op : ops_) find_operands(op);
    for (uint32_t i : order()) {
      if (r.hopeless()) return;
      build(ops_[i]);
    }
  }

 private:
  // --- one op, by itself -------------------------------------------------------------------------------------------------
  void read_op(JsonValue json) {
    OpDraft op{json};
    op.first_operand = static_cast<uint32_t>(operands_.size());
    op.first_result = static_cast<uint32_t>(results_.size());
    if (expect(r, json, JsonKind::kObject, {"", "an op", ""})) {
      op.at = {json.span().begin, json.span().begin + 1};
      const bool known = read_kind(op);
      // Results are defined even when the op is wrong, so that their users are not blamed.
      read_results(op, known);
      if (known) {
        read_operands(op);
        ReadAttrs attrs = read_attributes(r, op.kind, json, op.at);
        op.kind = attrs.kind;
        op.dtype = attrs.dtype;
        op.failed |= !attrs.ok;
        if (has_attributes(op.kind) && attrs.ok) {
          op.attrs = static_cast<uint32_t>(attrs_.size());
          attrs_.push_back(std::move(attrs.attrs));
        }
      }
    } else {
      op.failed = r.names_are_missing = true;
    }
    ops_.push_back(op);
  }

  bool read_kind(OpDraft& op) {
    const auto name = op.json.find("op");
    op.failed = true;
    if (!name) {
      r.error("missing-key", op.at, "an op needs the key 'op'");
      return false;
    }
    op.at = name->span();
    if (!expect(r, *name, JsonKind::kString, {"op", "", ""})) return false;
    const auto kind = find_kind(name->string());
    if (!kind) {
      std::vector<std::string_view> names;
      for (int i = 0; i < static_cast<int>(OpKind::kCount); ++i) names.push_back(info(static_cast<OpKind>(i)).name);
      r.error("unknown-op", op.at, "no op " + quoted(name->string()) + did_you_mean(r, name->string(), names))
          .notes.push_back({{}, "'fusec ops' lists the ops"});
      return false;
    }
    op.kind = *kind;
    op.failed = false;
    return true;
  }

  void add_result(OpDraft& op, JsonValue v) {
    uint32_t definition = kNoDefinition;
    if (v.is(JsonKind::kString)) {
      op.failed |= !check_value_name(r, v, {"", "a result", ""});
      definition = define(r, v.string(), v.span(), static_cast<uint32_t>(ops_.size())).value_or(kNoDefinition);
      op.failed |= definition == kNoDefinition;
    } else if (!v.is(JsonKind::kNull)) {
      r.error("wrong-type", v.span(), "a result must be a name or null, not " + shown(v.text()));
      op.failed = r.names_are_missing = true;
    }
    results_.push_back(definition);
    ++op.results;
  }

  void read_results(OpDraft& op, bool known) {
    const std::string name = known ? quoted(name_of(op.kind)) : "an op";
    const auto out = op.json.find("out");
    if (!out) {
      r.error("missing-key", op.at, name + " needs the key 'out'");
      op.failed = r.names_are_missing = true;
      return;
    }
    if (out->is(JsonKind::kArray))
      for (JsonValue v : *out) {
        if (!r.hopeless()) add_result(op, v);
      }
    else add_result(op, *out);
    if (!known || op.failed) return;
    const int wanted = info(op.kind).results;
    if (static_cast<int>(op.results) != wanted) {
      const std::string remedy = wanted > 1 ? "; list them as in \"out\": [\"a\", \"b\"], with null for one that nobody needs" : "";
      r.error("result-count", out->span(), name + " has " + count(wanted, "result") + ", not " + std::to_string(op.results) + remedy);
      op.failed = true;
    } else if (std::all_of(results_.begin() + op.first_result, results_.end(), [](uint32_t d) { return d == kNoDefinition; })) {
      r.error("result-count", out->span(), name + " has no named result; leave the op out or name one");
      op.failed = true;
    }
  }

  void add_operand(OpDraft& op, JsonValue v) {
    OperandDraft operand{std::nullopt, std::nullopt, {}, v.span(), kNoDefinition};
    const size_t position = op.operands++;
    const std::string_view kind = name_of(op.kind);
    if (v.is(JsonKind::kString) && !literal_of_word(v.string())) {
      operand.name = v.string();
    } else if (v.is(JsonKind::kNull)) {
      if (!may_be_absent(op.kind, position)) {
        r.error("operand", v.span(), "operand " + std::to_string(position + 1) + " of " + quoted(kind) + " cannot be null");
        op.failed = true;
      }
    } else if (v.is(JsonKind::kArray) || v.is(JsonKind::kObject)) {
      r.error("wrong-type", v.span(), "an operand must be the name of a value, a number, true or false, not " + shown(v.text()));
      op.failed = true;
    } else {
      operand.literal = read_literal(r, v, {"", "an operand", {}});
      if (operand.literal && v.is(JsonKind::kString)) operand.word = v.string();
      else if (operand.literal) check_literal(op, operand, position);
      op.failed |= !operand.literal;
    }
    operands_.push_back(operand);
  }

  void check_literal(OpDraft& op, const OperandDraft& operand, size_t position) {
    if (may_be_literal(op.kind, position)) return;
    r.error("operand", operand.at,
            "operand " + std::to_string(position + 1) + " of " + quoted(name_of(op.kind)) + " must be a value, not the literal " +
                to_string(*operand.literal));
    op.failed = true;
  }

  void read_operands(OpDraft& op) {
    const OpInfo& i = info(op.kind);
    const auto in = op.json.find("in");
    if (!in) {
      if (i.min_operands == 0) return;
      r.error("missing-key", op.at, quoted(i.name) + " needs the key 'in'");
      op.failed = true;
      return;
    }
    if (!in->is(JsonKind::kArray)) {
      r.error("wrong-type", in->span(), "'in' of " + quoted(i.name) + " must be a list of operands, not " + shown(in->text()));
      op.failed = true;
      return;
    }
    for (JsonValue v : *in)
      if (!r.hopeless()) add_operand(op, v);
    const int given = static_cast<int>(op.operands);
    if (given >= i.min_operands && (i.max_operands < 0 || given <= i.max_operands)) return;
    const std::string wanted = i.max_operands < 0 ? "at least " + count(i.min_operands, "operand")
                               : i.min_operands == i.max_operands
                                   ? count(i.min_operands, "operand")
                                   : std::to_string(i.min_operands) + " to " + count(i.max_operands, "operand");
    r.error("operand-count", in->span(), quoted(i.name) + " takes " + wanted + ", not " + std::to_string(given));
    op.failed = true;
  }

  // --- the ops together --------------------------------------------------------------------------------------------------
  void find_operands(OpDraft& op) {
    for (uint32_t i = op.first_operand; i < op.first_operand + op.operands; ++i) {
      OperandDraft& operand = operands_[i];
      // Something is called "nan", which was reported: that is meant.
      if (!operand.word.empty() && r.by_name.contains(operand.word)) op.failed = true;
      else if (!operand.word.empty()) check_literal(op, operand, i - op.first_operand);
      if (!operand.name) continue;
      const auto found = find_value(r, *operand.name, operand.at, {"", "", name_of(op.kind)});
      op.failed |= !found;
      operand.definition = found.value_or(kNoDefinition);
    }
  }

  // The ops in the order in which they can be built; reports cycles.
  std::vector<uint32_t> order() {
    OpOrder order(ops_.size());
    for (uint32_t i = 0; i < ops_.size(); ++i)
      for (uint32_t k = ops_[i].first_operand; k < ops_[i].first_operand + ops_[i].operands; ++k)
        if (const uint32_t d = operands_[k].definition; d != kNoDefinition && r.definitions[d].op != Definition::kInput)
          order.add_edge(r.definitions[d].op, i);
    for (const std::vector<uint32_t>& cycle : order.cycles()) report_cycle(cycle);
    return order.sorted();
  }

  // `cycle`: each op reads a result of the next, the last of the first.
  void report_cycle(const std::vector<uint32_t>& cycle) {
    constexpr size_t kShown = 8;
    auto read_from = [&](uint32_t op, uint32_t producer) -> const OperandDraft& {
      for (uint32_t k = ops_[op].first_operand;; ++k)
        if (const uint32_t d = operands_[k].definition; d != kNoDefinition && r.definitions[d].op == producer) return operands_[k];
    };
    std::string names;
    for (size_t i = 0; i < cycle.size() && i < kShown; ++i)
      names += quoted(read_from(cycle[i], cycle[(i + 1) % cycle.size()]).name.value()) + " needs ";
    // The chain of names starts at what the last op's result is called and ends there.
    const std::string first = quoted(read_from(cycle.back(), cycle[0]).name.value());
    std::string text = cycle.size() > kShown ? first + " needs " + names + "... (" + std::to_string(cycle.size()) + " ops)"
                                             : first + " needs " + names.substr(0, names.size() - 7);
    const OperandDraft& closing = read_from(cycle[0], cycle[1 % cycle.size()]);
    r.error("cycle", closing.at, "the ops form a cycle: " + text);
  }

  // --- into the graph ----------------------------------------------------------------------------------------------------
  bool operands_failed(const OpDraft& op) const {
    return std::any_of(operands_.begin() + op.first_operand, operands_.begin() + op.first_operand + op.operands,
                       [&](const OperandDraft& o) { return o.definition != kNoDefinition && r.definitions[o.definition].failed; });
  }

  void build(OpDraft& draft) {
    if (draft.failed || operands_failed(draft) || !infer(draft))
      for (uint32_t i = draft.first_result; i < draft.first_result + draft.results; ++i)
        if (results_[i] != kNoDefinition) r.definitions[results_[i]].failed = true;
  }

  void collect_places(const OpDraft& draft) {
    places_.operands.clear();
    places_.attributes.clear();
    for (uint32_t i = 0; i < draft.operands; ++i) places_.operands.push_back(operands_[draft.first_operand + i].at);
    for (auto i = draft.json.begin(); !(i == draft.json.end()); ++i) {
      const std::string_view key = (*i).string();
      places_.attributes.emplace_back(key, (*++i).span());
    }
  }

  bool infer(OpDraft& draft) {
    Op op;
    op.kind = draft.kind;
    op.at = draft.at;
    for (uint32_t i = 0; i < draft.operands; ++i) {
      const OperandDraft& o = operands_[draft.first_operand + i];
      op.in.push_back({o.definition == kNoDefinition ? ValueId() : r.definitions[o.definition].value, o.literal});
    }
    const OpId id(r.graph.ops.size());
    for (uint32_t i = 0; i < draft.results; ++i) {
      const uint32_t definition = results_[draft.first_result + i];
      if (definition == kNoDefinition) {
        op.out.push_back(ValueId());
        continue;
      }
      Definition& d = r.definitions[definition];
      d.value = r.graph.values.push({std::string(d.name), draft.dtype.value_or(DType::kF32), {}, id, i, d.at});
      op.out.push_back(d.value);
    }
    if (draft.attrs != UINT32_MAX) op.attrs = r.graph.attributes.push(std::move(attrs_[draft.attrs]));
    r.graph.ops.push(std::move(op));
    collect_places(draft);
    return infer_op(r.graph, id, r.diagnostics, &places_);
  }

  Reading& r;
  std::vector<OpDraft> ops_;
  std::vector<OperandDraft> operands_;
  std::vector<uint32_t> results_;  // definitions
  std::vector<Attrs> attrs_;
  OpPlaces places_;
};

}  // namespace

void read_ops(Reading& r, JsonValue ops) {
  if (expect(r, ops, JsonKind::kArray, {"ops", "", ""})) OpReader(r).read(ops);
}

}  // namespace fusec
