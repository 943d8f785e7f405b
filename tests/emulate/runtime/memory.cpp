#include "memory.h"

#include <link.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "schedule.h"

namespace emu {

namespace {

constexpr size_t kTracked = size_t{1} << 28;  // larger buffers are sparse: reserved, not tracked
constexpr int kMostProblems = 5;

std::vector<std::unique_ptr<Buffer>> buffers;
Buffer* last_found = nullptr;
int problem_count = 0;
bool collisions_allowed = false;
uintptr_t text_base = 0;  // of the module that the first site lies in

// Buffers lie in one reservation, poisoned except for them.
constexpr size_t kPage = 4096, kArena = size_t{1} << 36, kGap = 64;
char* arena = nullptr;
size_t arena_used = 0;
std::map<std::pair<size_t, size_t>, std::vector<char*>> freed_places;  // by size and alignment

char* reserve(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p != MAP_FAILED) return static_cast<char*>(p);
  std::fprintf(stderr, "emulate: cannot reserve %zu bytes\n", bytes);
  std::exit(2);
}

// An odd multiple of `align`, poisoned memory before and behind.
char* take_place(size_t bytes, size_t align) {
  if (!arena) arena = reserve(kArena);
  const size_t at = (arena_used + kGap + 2 * align - 1) / (2 * align) * (2 * align) + align;
  __asan_poison_memory_region(arena + arena_used, at + bytes + kGap - arena_used);
  arena_used = (at + bytes + kGap + 7) / 8 * 8;
  return arena + at;
}

bool contains(const Buffer& b, const char* address) { return address >= b.begin && address < b.begin + b.bytes; }

std::string who(const Access& a) {
  return "block " + std::to_string(block_number(a.block)) + " thread " + std::to_string(a.thread) + (a.several ? " and others" : "");
}

void race(const Buffer& b, size_t cell, const Access& before, const Access& now, bool wrote_before, bool writes) {
  auto verb = [](const Access& a, bool write) { return std::string(a.atomic ? "atomically updates" : write ? "writes" : "reads"); };
  problem("data race on " + b.name + "[" + std::to_string(cell) + "]: " + who(now) + " " + verb(now, writes) + " it at " + place(now.site) +
          ", " + who(before) + " " + verb(before, wrote_before) + " it at " + place(before.site) + ", nothing orders the two");
}

void touch(Buffer& b, size_t cell, bool write, Access now) {
  Cell& c = b.cells[cell];
  const bool both_atomic = now.atomic && c.write.atomic;
  const bool stores_collide = collisions_allowed && write && c.write.site == now.site;
  if (c.write.block != 0 && !both_atomic && !stores_collide && !ordered(c.write, now)) race(b, cell, c.write, now, true, write);
  if (write) {
    if (c.read.block != 0 && !ordered(c.read, now)) race(b, cell, c.read, now, false, true);
    c.write = now;
    c.written = true;
    return;
  }
  if (now.atomic) return;  // the write of the update stands for both
  // Of several readers in one epoch that nothing orders one is kept, and that there were others.
  if (c.read.block == now.block && c.read.epoch == now.epoch && !ordered(c.read, now))
    now.several = c.read.several < 2 && c.read.thread / 32 == now.thread / 32 && c.read.warp_epoch == now.warp_epoch ? 1 : 2;
  c.read = now;
}

}  // namespace

Buffer* new_buffer(const std::string& name, size_t bytes, size_t grain, size_t align, uint8_t poison) {
  auto b = std::make_unique<Buffer>();
  b->name = name;
  b->bytes = bytes;
  b->grain = grain;
  b->shift = std::has_single_bit(grain) ? std::countr_zero(grain) : -1;
  b->align = std::max<size_t>(align, 8);  // AddressSanitizer's granule
  b->sparse = bytes > kTracked;
  std::vector<char*>& freed = freed_places[{bytes, b->align}];
  if (b->sparse) {
    b->begin = reserve(bytes + 2 * kPage) + kPage;  // untouched pages around it
  } else if (!freed.empty()) {
    b->begin = freed.back();
    freed.pop_back();
  } else {
    b->begin = take_place(bytes, b->align);
  }
  if (!b->sparse) {
    __asan_unpoison_memory_region(b->begin, bytes);
    memset(b->begin, poison, bytes);
    b->cells.resize((bytes + grain - 1) / grain);
  }
  buffers.push_back(std::move(b));
  return buffers.back().get();
}

void track_globals(const std::string& library) {
  struct Search {
    const std::string& library;
    std::vector<std::pair<char*, size_t>> found;
  } search{library, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        if (s.library != info->dlpi_name) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W))
            s.found.emplace_back(reinterpret_cast<char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
        }
        return 0;
      },
      &search);
  for (const auto& [begin, bytes] : search.found) {
    auto b = std::make_unique<Buffer>();
    b->name = "__device__ variables";
    b->begin = begin, b->bytes = bytes;
    b->cells.resize(bytes);
    buffers.push_back(std::move(b));
  }
}

void free_buffer(Buffer* buffer) {
  if (last_found == buffer) last_found = nullptr;
  if (!buffer->sparse) {
    __asan_poison_memory_region(buffer->begin, buffer->bytes);
    freed_places[{buffer->bytes, buffer->align}].push_back(buffer->begin);
  }
  std::erase_if(buffers, [&](const auto& b) { return b.get() == buffer; });
}

Buffer* find_buffer(const void* address) {
  const char* p = static_cast<const char*>(address);
  if (last_found && contains(*last_found, p)) return last_found;
  for (const auto& b : buffers)
    if (contains(*b, p)) return last_found = b.get();
  return nullptr;
}

bool all_written(const Buffer& buffer, size_t* first_missing) {
  for (size_t i = 0; i < buffer.cells.size(); ++i)
    if (!buffer.cells[i].written) return *first_missing = i, false;
  return true;
}

void note_access(const void* address, size_t bytes, bool write, const void* site) {
  if (!running() || on_fiber_stack(address)) return;
  Buffer* b = find_buffer(address);
  if (!b || b->sparse) return;
  const Access now = access_now(site_of(site));
  const size_t at = static_cast<size_t>(static_cast<const char*>(address) - b->begin);
  const size_t end = std::min(at + bytes, b->bytes);  // past it AddressSanitizer speaks
  for (size_t cell = b->cell_of(at); cell * b->grain < end; ++cell) touch(*b, cell, write, now);
}

void allow_collisions(bool allowed) { collisions_allowed = allowed; }

void note_host_write(const void* address, size_t bytes) {
  Buffer* b = find_buffer(address);
  if (!b || b->sparse || bytes == 0) return;
  const size_t at = static_cast<size_t>(static_cast<const char*>(address) - b->begin);
  for (size_t cell = at / b->grain; cell * b->grain < std::min(at + bytes, b->bytes); ++cell) b->cells[cell].written = true;
}

std::string beside(const char* address) {
  const Buffer* best = nullptr;
  ptrdiff_t distance = 0;
  for (const auto& b : buffers) {
    const ptrdiff_t d = address < b->begin ? b->begin - address : address - (b->begin + b->bytes);
    if (!best || d < distance) best = b.get(), distance = d;
  }
  if (!best) return "outside every buffer";
  return "at byte " + std::to_string(address - best->begin) + " of " + best->name + ", which has " + std::to_string(best->bytes) + " bytes";
}

void check_alignment(const void* pointer, size_t align, const void* site) {
  if (reinterpret_cast<uintptr_t>(pointer) % align == 0) return;
  problem("a misaligned pointer: " + std::to_string(align) + " bytes wanted, at " + place(site_of(site)) + " " +
          beside(static_cast<const char*>(pointer)) + (running() ? ", by " + running_thread() : ""));
}

uint32_t site_of(const void* address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  if (text_base == 0) text_base = at & ~uintptr_t{0x3fffffff};
  return static_cast<uint32_t>(at - text_base);
}

std::string place(uint32_t site) {
  // Inlined frames follow each other, each with its NUL: the first one of the emitted text is meant.
  char text[2048] = {};
  __sanitizer_symbolize_pc(reinterpret_cast<void*>(text_base + site), "%s:%l", text, sizeof text - 2);
  for (const char* frame = text; *frame; frame += strlen(frame) + 1)
    if (strstr(frame, ".cu:")) return frame;
  return text;
}

void problem(const std::string& text) {
  std::fprintf(stderr, "emulate: %s\n", text.c_str());
  if (++problem_count >= kMostProblems) std::exit(1);
}

int problems() { return problem_count; }

}  // namespace emu

// Names the buffer next to a bad access, after AddressSanitizer's own report.
extern "C" void __asan_on_error() {
  const char* at = static_cast<const char*>(__asan_get_report_address());
  std::fprintf(stderr, "emulate: a bad access %s%s\n", emu::beside(at).c_str(),
               emu::running() ? (", by " + emu::running_thread()).c_str() : "");
}

extern "C" void emu_check_alignment(const void* pointer, size_t align) {
  emu::check_alignment(pointer, align, __builtin_return_address(0));
}

// Instrumented code calls AddressSanitizer for each load and store; modules are linked with --wrap, so that the call comes here first.
#define EMU_ACCESS(name, bytes, write)                                                             \
  extern "C" void __asan_##name(uintptr_t address);                                                \
  extern "C" void __wrap___asan_##name(uintptr_t address) {                                        \
    emu::note_access(reinterpret_cast<void*>(address), bytes, write, __builtin_return_address(0)); \
    __asan_##name(address);                                                                        \
  }
#define EMU_ACCESSES(bytes) EMU_ACCESS(load##bytes, bytes, false) EMU_ACCESS(store##bytes, bytes, true)
EMU_ACCESSES(1)
EMU_ACCESSES(2)
EMU_ACCESSES(4)
EMU_ACCESSES(8)
EMU_ACCESSES(16)
extern "C" void __asan_loadN(uintptr_t address, size_t bytes);
extern "C" void __asan_storeN(uintptr_t address, size_t bytes);
extern "C" void __wrap___asan_loadN(uintptr_t address, size_t bytes) {
  emu::note_access(reinterpret_cast<void*>(address), bytes, false, __builtin_return_address(0));
  __asan_loadN(address, bytes);
}
extern "C" void __wrap___asan_storeN(uintptr_t address, size_t bytes) {
  emu::note_access(reinterpret_cast<void*>(address), bytes, true, __builtin_return_address(0));
  __asan_storeN(address, bytes);
}

// Copies of structures.
extern "C" void* __asan_memcpy(void* to, const void* from, size_t bytes);
extern "C" void* __wrap___asan_memcpy(void* to, const void* from, size_t bytes) {
  emu::note_access(from, bytes, false, __builtin_return_address(0));
  emu::note_access(to, bytes, true, __builtin_return_address(0));
  return __asan_memcpy(to, from, bytes);
}
