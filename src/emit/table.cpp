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
      teams_(part.grid.elems.value() / table_.slices),
      dtype_(kernel.buffers[store_.buffer].dtype),
      target_(target),
      value_(value),
      type_(table_.counts ? "unsigned" : storage_type(dtype_)),
      name_(scope.take(table_.counts ? "counts" : "table")),
      tags_(table_.cached ? scope.take("tags") : ""),
      turn_(scope.take("turn")),
      slice_(table_.slices > 1 ? scope.take("slice") : ""),
      slot_(table_.slices > 1 ? scope.take("slot") : ""),
      crowded_(looks_for_crowds() ? scope.take("crowded") : ""),
      looks_(looks_for_crowds() ? scope.take("looks") : "") {
  if (lanes_ > 1 || part.dims.size() < 2) return;
  const Size extent = part.space.extent(part.dims.back());
  if (extent.is_constant() && extent.value() <= kLongestPeriod && store_.index.coefficient(part.dims.back()).is(1))
    period_ = extent.value();
}

// Floats are added by comparing and swapping: where a warp meets in one element, and few copies keep its lanes apart, it should add once.
bool TableText::is_joined() const { return !table_.counts && store_.accumulate == Accumulate::kAdd && table_.copies < kApart; }

// Whether lanes that meet in some of several elements should, too.
bool TableText::looks_for_crowds() const { return is_joined() && is_float(dtype_) && table_.copies == 1 && !table_.cached && lanes_ > 1; }

std::string TableText::initial() const { return table_.counts ? "0u" : literal_text(neutral_update(store_.accumulate, dtype_), dtype_); }

std::vector<std::string> TableText::start() const {
  std::vector<std::string> lines{"extern __shared__ __align__(16) unsigned char fs_table[];",
                                 type_ + " *" + name_ + " = (" + type_ + " *)fs_table;"};
  if (!slice_.empty()) lines.push_back("const unsigned " + slice_ + " = blockIdx.x % " + number(table_.slices) + ";");
  if (table_.cached) {
    lines.push_back("unsigned *" + tags_ + " = (unsigned *)(" + name_ + " + " + number(table_.size) + ");  // whose places these are");
    lines.push_back("fs_clear_table(" + tags_ + ", " + number(table_.size) + ", ~0u);");
  }
  lines.push_back("fs_clear_table(" + name_ + ", " + number(table_.range() * table_.copies) + ", (" + type_ + ")" + initial() + ");");
  if (!crowded_.empty()) lines.push_back("bool " + crowded_ + " = false;");
  return lines;
}

std::string TableText::loop(const std::string& index_type, const std::string& turns) const {
  const std::string team = table_.slices > 1 ? "blockIdx.x / " + number(table_.slices) : "blockIdx.x";
  return "for (" + index_type + " " + turn_ + " = " + team + "; " + turn_ + " < " + turns + "; " + turn_ + " += " + number(teams_) + ") {";
}

std::vector<std::string> TableText::start_of_turn() const {
  if (crowded_.empty()) return {};
  return {"const bool " + looks_ + " = " + turn_ + " / " + number(teams_) + " % " + number(kTurnsOfLook) + " == 0;  // whether lanes meet"};
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
  const bool adds = store_.accumulate == Accumulate::kAdd;
  const std::string function = table_.counts       ? "atomicAdd"
                               : !crowded_.empty() ? "fs_add_crowded"
                               : is_joined()       ? (period_ > 1 ? "fs_add_shared<" + number(period_) + ">" : "fs_add_shared")
                               : adds              ? "fs_atomic_add"
                                                   : shared_update_function(store_.accumulate);
  auto text = [&](const std::string& slot) {
    return function + "(&" + element(slot) + ", " + (table_.counts ? "1u" : value) + (is_joined() ? ", " + slot + ", " + meets : "") +
           (crowded_.empty() ? "" : ", lane == 0 && " + looks_ + ", " + crowded_) + ");";
  };
  if (table_.cached) {
    const std::string pointer = "(" + type_ + " *p, " + type_ + " x";
    return "fs_update_cached<" + number(table_.size) + ">(" + name_ + ", " + tags_ + ", " + index + ", " + value + ", " + target_ +
           ", [&]" + pointer + ", unsigned place) { " + function + "(p, x" + (is_joined() ? ", place, " + meets : "") + "); }, []" +
           pointer + ") { " + update_function(store_) + "(p, x); });";
  }
  if (slice_.empty()) return text(index);
  const std::string slices = number(table_.slices), at = "(unsigned)(" + index + ")";
  return "if (const unsigned " + slot_ + " = " + at + " / " + slices + "; " + at + " - " + slot_ + " * " + slices + " == " + slice_ + ") " +
         text(slot_);
}

std::vector<std::string> TableText::finish() const {
  if (table_.cached)
    return {"fs_finish_cache<" + number(table_.size) + ">(" + name_ + ", " + tags_ + ", " + target_ + ", [](" + type_ + " *p, " + type_ +
            " x) { " + update_function(store_) + "(p, x); });"};
  std::string value = "x";
  if (table_.counts && is_float(dtype_)) value = "(" + std::string(storage_type(dtype_)) + ")x * " + value_;
  else if (table_.counts && value_ == "1") value = "(" + std::string(storage_type(dtype_)) + ")x";
  else if (table_.counts) value = "(" + std::string(storage_type(dtype_)) + ")((unsigned long long)x * (unsigned long long)" + value_ + ")";
  const std::string step = number(std::max<int64_t>(1, table_.range() / teams_));
  return {"// What has changed goes to the target; the blocks begin at different elements.",
          "fs_finish_table<" + number(table_.copies) + ">(" + name_ + ", " + number(table_.range()) + ", " + "blockIdx.x * " + step +
              " % " + number(table_.range()) + ", (" + type_ + ")" + initial() + ", [&](unsigned slot, " + type_ + " x) { " +
              update_function(store_) + "(&" + target_ + "[slot" + (slice_.empty() ? "" : " * " + number(table_.slices) + " + " + slice_) +
              "], " + value + "); });"};
}

}  // namespace fusec
