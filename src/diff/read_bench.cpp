#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "diff/bench_diff.h"
#include "support/diag.h"
#include "support/text.h"

namespace fusec {

namespace {

using Json = nlohmann::json;

class BenchReader {
 public:
  explicit BenchReader(const std::string& path) : path_(path) {}

  std::vector<BenchRecord> read(const std::string& text) {
    std::istringstream stream(text);
    // Objects one after the other; a list of them is one value.
    while (stream >> std::ws && !stream.eof()) add(next(stream));
    if (records_.empty()) fail("it holds no result of `fusec run --bench --json`");
    return std::move(records_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw Failure(Exit::kBadInput, path_ + ": " + why); }

  Json next(std::istream& stream) const {
    try {
      Json json;
      stream >> json;
      return json;
    } catch (const Json::exception&) {
      fail("what stands after " + std::to_string(values_) + " JSON values is no JSON");
    }
  }

  void add(const Json& json) {
    ++values_;
    if (json.is_array()) {
      for (const Json& one : json) add_result(one);
    } else {
      add_result(json);
    }
  }

  void add_result(const Json& json) {
    if (!json.is_object()) fail("a value is no JSON object");
    if (json.contains("error") && json["error"].is_string())
      fail("it holds the error of a run that failed: " + shown(json["error"].get<std::string>()));
    if (!json.contains("us"))
      fail(json.contains("segments") || json.contains("ops")
               ? "it is a graph or a report, and no result of `fusec run --bench --json`"
               : "an object in it lacks \"us\": it is no result of `fusec run --bench --json`");
    BenchRecord r;
    try {
      r.graph = escaped(json.at("graph").get<std::string>());
      r.device = escaped(json.value("device", std::string()));
      if (json.contains("limit_gbps") && json["limit_gbps"].is_number()) r.limit_gbps = json["limit_gbps"].get<double>();
      read_times(json.at("us"), json, r);
    } catch (const Json::exception&) {
      fail("a result lacks \"graph\", or the \"median\", \"q1\", \"q3\", \"min\" or \"n\" of its \"us\", or one has another type");
    }
    const bool in_order = r.min > 0 && r.min <= r.q1 && r.q1 <= r.median && r.median <= r.q3 && std::isfinite(r.q3);
    if (!in_order) fail("the times of " + fusec::quoted(r.graph) + " are not 0 < min ≤ q1 ≤ median ≤ q3");
    merge(std::move(r));
  }

  static void read_times(const Json& us, const Json& result, BenchRecord& r) {
    for (const Json* at : {&us, &result})
      if (at->contains("samples")) r.samples = at->at("samples").get<std::vector<double>>();
    us.at("median").get_to(r.median);
    us.at("q1").get_to(r.q1);
    us.at("q3").get_to(r.q3);
    us.at("min").get_to(r.min);
    us.at("n").get_to(r.n);
  }

  // Runs of one graph: the spread between them counts, too, so the widest quartiles stand.
  void merge(BenchRecord r) {
    const auto old = std::find_if(records_.begin(), records_.end(), [&](const BenchRecord& one) { return one.graph == r.graph; });
    if (old == records_.end()) {
      records_.push_back(std::move(r));
      return;
    }
    if (old->device != r.device) fail("it holds runs of " + fusec::quoted(r.graph) + " on different GPUs");
    old->median = (old->median * old->n + r.median * r.n) / std::max(1.0, old->n + r.n);
    old->q1 = std::min(old->q1, r.q1);
    old->q3 = std::max(old->q3, r.q3);
    old->min = std::min(old->min, r.min);
    old->n += r.n;
    if (old->samples.empty() != r.samples.empty()) old->samples.clear();
    else old->samples.insert(old->samples.end(), r.samples.begin(), r.samples.end());
    if (old->limit_gbps && r.limit_gbps) old->limit_gbps = std::min(*old->limit_gbps, *r.limit_gbps);
  }

  const std::string& path_;
  size_t values_ = 0;
  std::vector<BenchRecord> records_;
};

}  // namespace

std::vector<BenchRecord> read_bench(const std::string& text, const std::string& path) { return BenchReader(path).read(text); }

}  // namespace fusec
