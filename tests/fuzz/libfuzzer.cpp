// The entry points of libFuzzer. An exception is a broken law: it ends the process, and libFuzzer keeps the input.
#include <cstring>

#include "fuzz/front_door.h"
#include "fuzz/json_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fusec::try_front_door(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

namespace {
size_t put(const std::string& text, uint8_t* data, size_t max_size) {
  if (text.size() > max_size) return 0;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  // Now and then bytes, for the parser itself.
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string changed = fusec::JsonMutator(seed).mutate(text);
  const size_t length = changed == text ? 0 : put(changed, data, max_size);
  return length != 0 ? length : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second, size_t second_size,
                                            uint8_t* out, size_t max_size, unsigned seed) {
  const std::string a(reinterpret_cast<const char*>(first), first_size), b(reinterpret_cast<const char*>(second), second_size);
  return put(fusec::JsonMutator(seed).join(a, b), out, max_size);
}
