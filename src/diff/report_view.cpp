#include "diff/report_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/diag.h"
#include "support/text.h"

namespace fusec {

namespace {

using Json = nlohmann::json;

class ReportReader {
 public:
  explicit ReportReader(const std::string& path) : path_(path) {}

  ReportView read(const std::string& text) {
    const Json json = parse(text);
    check_version(json);
    ReportView r;
    r.graph = string(json, "graph");
    r.fusec = string(json, "fusec");
    r.arch = string(json, "arch");
    for (const Json& one : list(json, "segments")) r.segments.push_back(segment(one));
    for (const Json& one : list(json, "cast_groups")) {
      CastGroupView group{names(one, "ops"), one.value("whole", true), words(one, "why")};
      r.cast_groups.push_back(std::move(group));
    }
    for (const Json& one : list(json, "edges")) r.edges.push_back(edge(one, r.segments.size()));
    for (const auto& [name, into] : {std::pair("origin", &r.origin), std::pair("merged", &r.merged)})
      for (const auto& [from, to] : member(json, name).items()) into->emplace(from, to.get<std::string>());
    for (const auto& [name, number] : member(json, "totals").items())
      if (number.is_number()) r.totals[name] = number.get<double>();
    for (const char* needed : {"segments", "launches", "edge_bytes", "wide_edges", "bytes"})
      if (!r.totals.contains(needed)) fail(std::string("its totals lack ") + fusec::quoted(needed));
    return r;
  }

  [[noreturn]] void fail(const std::string& why) const { throw Failure(Exit::kBadInput, path_ + " is no segmentation report: " + why); }

 private:
  Json parse(const std::string& text) const {
    try {
      return Json::parse(text);
    } catch (const Json::exception&) {
      fail("it is no JSON");
    }
  }

  void check_version(const Json& json) const {
    if (!json.is_object()) fail("it is no JSON object");
    if (!json.contains("version")) fail("it has no \"version\"");
    const Json& version = json["version"];
    if (version != 1)
      throw Failure(Exit::kBadInput, path_ + " is a report of version " +
                                         shown(version.dump(-1, ' ', false, Json::error_handler_t::replace)) +
                                         "; this fusec reads version 1");
  }

  const Json& member(const Json& json, const char* name) const {
    const auto at = json.find(name);
    if (at == json.end()) fail(std::string("it lacks ") + fusec::quoted(name));
    return *at;
  }
  const Json& list(const Json& json, const char* name) const {
    const Json& value = member(json, name);
    if (!value.is_array()) fail(std::string(fusec::quoted(name)) + " is no list");
    return value;
  }
  std::string string(const Json& json, const char* name) const {
    const Json& value = member(json, name);
    if (!value.is_string()) fail(std::string(fusec::quoted(name)) + " is no string");
    return escaped(value.get<std::string>());
  }
  // Reports are shown on terminals: nothing in them may control one.
  static std::string words(const Json& json, const char* name) { return escaped(json.value(name, std::string())); }
  std::vector<std::string> names(const Json& json, const char* name) const {
    std::vector<std::string> all;
    for (const Json& one : list(json, name)) all.push_back(escaped(one.get<std::string>()));
    return all;
  }

  SegmentView segment(const Json& json) const {
    SegmentView s{string(json, "kernel"), string(json, "kind"), names(json, "ops"), names(json, "recomputed"), 0, 0, {}, {}, false};
    s.bytes = member(json, "bytes_read").get<int64_t>() + member(json, "bytes_written").get<int64_t>();
    s.us = json.value("estimated_us", 0.0);
    if (json.contains("registers")) s.registers = json["registers"].get<int64_t>();
    if (json.contains("spill_bytes")) s.spill_bytes = json["spill_bytes"].get<int64_t>();
    s.lowered = json.contains("launch");
    return s;
  }

  EdgeView edge(const Json& json, size_t segments) const {
    EdgeView e{string(json, "value"), string(json, "dtype"), words(json, "why"), member(json, "bytes").get<int64_t>(), {}, 0, {}};
    if (json.contains("narrow_bytes")) e.narrow_bytes = json["narrow_bytes"].get<int64_t>();
    e.from = member(json, "from").get<uint32_t>();
    for (const Json& to : list(json, "to")) e.to.push_back(to.get<uint32_t>());
    const bool in_range = e.from < segments && std::all_of(e.to.begin(), e.to.end(), [&](uint32_t to) { return to < segments; });
    if (!in_range) fail("an edge of " + fusec::quoted(e.value) + " names a segment that there is not");
    return e;
  }

  const std::string& path_;
};

}  // namespace

bool ReportView::lowered() const {
  return std::any_of(segments.begin(), segments.end(), [](const SegmentView& s) { return s.lowered; });
}

ReportView read_report(const std::string& text, const std::string& path) {
  ReportReader reader(path);
  try {
    return reader.read(text);
  } catch (const Json::exception&) {
    reader.fail("a value in it has another type than reports give it");
  }
}

}  // namespace fusec
