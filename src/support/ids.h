// Typed 32-bit ids into vectors, and the vectors they index.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace fusec {

template <class Tag>
struct Id {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(size_t i) : index(static_cast<uint32_t>(i)) {}
  constexpr bool valid() const { return index != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

// A vector indexed by one kind of id only.
template <class IdType, class T>
class IdVec {
 public:
  IdVec() = default;
  explicit IdVec(size_t n, T fill = T()) : items_(n, std::move(fill)) {}

  // (vector<bool> hands out proxies, hence decltype(auto).)
  decltype(auto) operator[](IdType id) { return items_[id.index]; }
  decltype(auto) operator[](IdType id) const { return items_[id.index]; }
  IdType push(T item) {
    items_.push_back(std::move(item));
    return IdType(items_.size() - 1);
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void resize(size_t n) { items_.resize(n); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool operator==(const IdVec&) const = default;

 private:
  std::vector<T> items_;
};

}  // namespace fusec

template <class Tag>
struct std::hash<fusec::Id<Tag>> {
  size_t operator()(fusec::Id<Tag> id) const noexcept { return std::hash<uint32_t>()(id.index); }
};
