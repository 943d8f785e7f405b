#include "reference/convert.h"

#include <cstring>
#include <variant>

namespace fusec {

namespace {

template <class From, class To>
void convert_all(const void* src, void* dst, int64_t n) {
  const From* in = static_cast<const From*>(src);
  To* out = static_cast<To*>(dst);
  for (int64_t i = 0; i < n; ++i) out[i] = stored_as<To>(value_of(in[i]));
}

}  // namespace

void store(const Literal& literal, DType t, void* out) {
  std::visit([&](auto value) { store(value, t, out); }, literal.value);
}

void convert(DType from, const void* src, DType to, void* dst, int64_t n) {
  if (from == to) {
    if (n > 0) std::memcpy(dst, src, static_cast<size_t>(n * bytes_of(from)));
    return;
  }
  with_stored_type(from, [&]<class From>(From) { with_stored_type(to, [&]<class To>(To) { convert_all<From, To>(src, dst, n); }); });
}

}  // namespace fusec
