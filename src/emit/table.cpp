#include "emit/table.h"

#include <algorithm>
#include <regex>

#include "emit/cuda.h"
#include "emit/expression.h"
#include "emit/node_writer.h"

namespace fusec {

namespace {
constexpr int64_t kLongestPeriod = 16;  // threads: half a warp
constexpr int kApart = 16;              // copies that leave two lanes of a warp in one place at most
constexpr int kTurnsOfLook = 8;         // of which one finds out whether lanes meet: that costs as much as some updates
}  // namespace

TableText::TableText(const Kernel& kernel, const Part& part, const std::string& target, const std::string& value, NameScope& scope)
    : table_(*part.table),
      store_(part.stores[0]),
      lanes_(part.vector),
      blocks_(part.grid.elems.value()),
      shares_(table_.share.valid() ? part.space.extent(table_.share).value() : 1),
      dtype_(kernel.buffers[store_.buffer].dtype),
      target_(target),
      value_(value),
      type_(table_.counts ? "unsigned" : storage_type(dtype_)),
      name_(table_.whole > 0 ? scope.take(table_.counts ? "counts" : "table") : ""),
      cache_(table_.cache > 0 ? scope.take("cache") : ""),
      tags_(table_.cache > 0 ? scope.take("tags") : ""),
      turn_(scope.take("turn")),
      slot_(table_.whole > 0 && table_.cache > 0 ? scope.take("slot") : ""),
      share_(table_.share.valid() ? part.space[table_.share].name : ""),
      crowded_(looks_for_crowds() ? scope.take("crowded") : ""),
      looks_(looks_for_crowds() ? scope.take("looks") : "") {
  if (lanes_ > table_.lanes) return;
  const Size extent = part.space.extent(part.dims.back()), step = store_.index.coefficient(part.dims.back());
  if (step.is(0)) period_ = 1;
  else if (extent.is_constant() && extent.value() <= kLongestPeriod && step.is(lanes_)) period_ = extent.value();
}

// Floats are added by comparing and swapping: where a warp meets in one element, and few copies keep its lanes apart, it should add once.
bool TableText::is_joined() const { return !table_.counts && store_.accumulate == Accumulate::kAdd && table_.copies < kApart; }

// Whether lanes that meet in some of several elements should, too.
bool TableText::looks_for_crowds() const { return is_joined() && is_float(dtype_) && table_.copies == 1 && table_.whole > 0 && lanes_ > 1; }

std::string TableText::initial() const {
  return "(" + std::string(storage_type(dtype_)) + ")" + literal_text(neutral_update(store_.accumulate, dtype_), dtype_);
}

std::vector<std::string> TableText::declare() const {
  std::vector<std::string> lines{"extern __shared__ __align__(16) unsigned char fs_table[];"};
  if (!name_.empty()) lines.push_back(type_ + " *" + name_ + " = (" + type_ + " *)fs_table;");
  if (cache_.empty()) return lines;
  const std::string type = storage_type(dtype_), before = number(table_.whole_bytes());
  lines.push_back(type + " *" + cache_ + " = (" + type + " *)" + (name_.empty() ? "fs_table" : "(fs_table + " + before + ")") + ";");
  lines.push_back("unsigned *" + tags_ + " = (unsigned *)(" + cache_ + " + " + number(table_.cache * table_.lanes) +
                  ");  // whose places these are");
  return lines;
}

std::string TableText::shares() const {
  if (share_.empty()) return "";
  return "for (unsigned " + share_ + " = " + number(shares_) + "; " + share_ +
         "-- > 0;) {  // a share of the target that the L2 cache holds, the last one first";
}

std::vector<std::string> TableText::start() const {
  std::vector<std::string> lines;
  if (!name_.empty())
    lines.push_back("fs_clear_table(" + name_ + ", " + number(table_.whole * table_.copies) + ", " + (table_.counts ? "0u" : initial()) +
                    ");");
  if (!cache_.empty()) {
    lines.push_back("fs_clear_table(" + tags_ + ", " + number(table_.cache) + ", ~0u);");
    lines.push_back("fs_clear_table(" + cache_ + ", " + number(table_.cache * table_.lanes) + ", " + initial() + ");");
  }
  if (!crowded_.empty()) lines.push_back("bool " + crowded_ + " = false;");
  return lines;
}

std::string TableText::loop(const std::string& index_type, const std::string& turns) const {
  return "for (" + index_type + " " + turn_ + " = blockIdx.x; " + turn_ + " < " + turns + "; " + turn_ + " += " + number(blocks_) + ") {";
}

std::vector<std::string> TableText::start_of_turn() const {
  if (crowded_.empty()) return {};
  return {"const bool " + looks_ + " = " + turn_ + " / " + number(blocks_) + " % " + number(kTurnsOfLook) +
          " == 0;  // whether lanes meet"};
}

std::string TableText::element(const std::string& slot) const {
  const bool bare = slot.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
  if (table_.copies == 1) return name_ + "[" + slot + "]";
  return name_ + "[" + (bare ? slot : "(" + slot + ")") + " * " + number(table_.copies) + " + threadIdx.x % " + number(table_.copies) + "]";
}

namespace {

// The text for lane `k`.
std::string of_lane(const std::string& text, int k) {
  static const std::regex lane("\\blane\\b");
  return std::regex_replace(text, lane, number(k));
}

}  // namespace

std::string TableText::update(const std::string& index, const std::string& value) const {
  // Where the updates of a thread meet, those of its warp may.
  const std::string meets = lanes_ > 1 ? of_lane(index, 0) + " == " + of_lane(index, lanes_ - 1) : "true";
  if (slot_.empty()) return cache_.empty() ? update_own(index, value, meets) : update_cached(index, value, meets);
  return "{ const unsigned " + slot_ + " = (unsigned)(" + index + "); if (" + slot_ + " < " + number(table_.whole) + ") " +
         update_own(slot_, value, meets) + " else " + update_cached(slot_, value, meets) + " }";
}

std::string TableText::update_own(const std::string& index, const std::string& value, const std::string& meets) const {
  const std::string function = table_.counts       ? "atomicAdd"
                               : !crowded_.empty() ? "fs_add_crowded"
                               : is_joined()       ? add_joined()
                                                   : update_shared();
  return function + "(&" + element(index) + ", " + (table_.counts ? "1u" : value) + (is_joined() ? ", " + index + ", " + meets : "") +
         (crowded_.empty() ? "" : ", lane == 0 && " + looks_ + ", " + crowded_) + ");";
}

std::string TableText::update_cached(const std::string& index, const std::string& value, const std::string& meets) const {
  const std::string pointer = "(" + std::string(storage_type(dtype_)) + " *p, " + storage_type(dtype_) + " x";
  const bool adds = store_.accumulate == Accumulate::kAdd;
  const std::string here = adds ? add_joined() + "(p, x, place, " + meets + ")" : update_shared() + "(p, x)";
  return "fs_update_cached<" + number(table_.cache) + ">(" + cache_ + ", " + tags_ + ", " + index + ", " + value + ", " + target_ +
         ", [&]" + pointer + ", unsigned place) { " + here + "; }, []" + pointer + ") { " + update_function(store_) + "(p, x); });";
}

std::string TableText::update_all(const std::string& index, const std::string& vector) const {
  return "fs_update_cached_all<" + number(table_.cache) + ", " + number(period_) + ">(" + cache_ + ", " + tags_ + ", " + index + ", " +
         vector + ", " + target_ + ");";
}

std::string TableText::add_joined() const { return period_ > 1 ? "fs_add_shared<" + number(period_) + ">" : "fs_add_shared"; }

std::string TableText::update_shared() const {
  return store_.accumulate == Accumulate::kAdd ? "fs_atomic_add" : shared_update_function(store_.accumulate);
}

std::vector<std::string> TableText::finish() const {
  std::vector<std::string> lines;
  const std::string type = storage_type(dtype_);
  if (!name_.empty()) {
    std::string value = "x";
    if (table_.counts && is_float(dtype_)) value = "(" + type + ")x * " + value_;
    else if (table_.counts && value_ == "1") value = "(" + type + ")x";
    else if (table_.counts) value = "(" + type + ")((unsigned long long)x * (unsigned long long)" + value_ + ")";
    const std::string size = number(table_.whole), step = number(std::max<int64_t>(1, table_.whole / blocks_));
    lines.push_back("// What has changed goes to the target; the blocks begin at different elements.");
    lines.push_back("fs_finish_table<" + number(table_.copies) + ">(" + name_ + ", " + size + ", blockIdx.x * " + step + " % " + size +
                    ", " + (table_.counts ? "0u" : initial()) + ", [&](unsigned slot, " + type_ + " x) { " + update_function(store_) +
                    "(&" + target_ + "[slot], " + value + "); });");
  }
  if (table_.lanes > 1)
    lines.push_back("fs_finish_cache_all<" + number(table_.cache) + ", " + number(table_.lanes) + ">(" + cache_ + ", " + tags_ + ", " +
                    target_ + ");");
  else if (!cache_.empty())
    lines.push_back("fs_finish_cache<" + number(table_.cache) + ">(" + cache_ + ", " + tags_ + ", " + target_ + ", [](" + type + " *p, " +
                    type + " x) { " + update_function(store_) + "(p, x); });");
  if (!share_.empty()) lines.push_back("__syncthreads();  // before the next share begins with an empty cache");
  return lines;
}

}  // namespace fusec
