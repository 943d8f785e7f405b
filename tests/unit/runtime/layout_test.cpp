#include "runtime/layout.h"

#include "catch.h"

using namespace fusec;

namespace {
std::vector<int32_t> scattered(const Layout& layout, const std::vector<int32_t>& logical) {
  std::vector<int32_t> storage(static_cast<size_t>(layout.storage_bytes()) / 4, -1);
  scatter_to_layout(layout, reinterpret_cast<const std::byte*>(logical.data()), reinterpret_cast<std::byte*>(storage.data()));
  std::vector<int32_t> back(logical.size(), -2);
  gather_from_layout(layout, reinterpret_cast<const std::byte*>(storage.data()), reinterpret_cast<std::byte*>(back.data()));
  CHECK(back == logical);
  return storage;
}
}  // namespace

TEST_CASE("layouts") {
  CHECK(scattered({4, {2, 3}, {3, 1}}, {0, 1, 2, 3, 4, 5}) == std::vector<int32_t>{0, 1, 2, 3, 4, 5});
  CHECK(scattered({4, {2, 3}, {1, 2}}, {0, 1, 2, 3, 4, 5}) == std::vector<int32_t>{0, 3, 1, 4, 2, 5});  // transposed
  CHECK(scattered({4, {2, 2}, {4, 1}}, {0, 1, 2, 3}) == std::vector<int32_t>{0, 1, -1, -1, 2, 3});      // padded rows
  CHECK(scattered({4, {2, 2}, {0, 1}}, {7, 8, 7, 8}) == std::vector<int32_t>{7, 8});                    // expanded
  CHECK(scattered({4, {3}, {2}}, {1, 2, 3}) == std::vector<int32_t>{1, -1, 2, -1, 3});
  CHECK(scattered({4, {}, {}}, {5}) == std::vector<int32_t>{5});
  CHECK(scattered({4, {2, 2, 2}, {1, 4, 2}}, {0, 1, 2, 3, 4, 5, 6, 7}) == std::vector<int32_t>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(scattered({4, {2, 0}, {5, 1}}, {}).empty());
  CHECK(scattered({4, {0}, {1}}, {}).empty());
}

TEST_CASE("dense layouts are told from others") {
  CHECK(Layout{4, {2, 3}, {3, 1}}.is_row_major());
  CHECK(Layout{4, {1, 3}, {99, 1}}.is_row_major());
  CHECK(Layout{4, {}, {}}.is_row_major());
  CHECK_FALSE(Layout{4, {2, 3}, {1, 2}}.is_row_major());
  CHECK_FALSE(Layout{4, {2, 3}, {4, 1}}.is_row_major());
}
