// Device memory of the emulator. Every buffer has exactly its size and lies between poisoned bytes, so that
// AddressSanitizer sees each access beside it; and has a cell for each element that knows who wrote and who read it last, so that a
// data race and a byte that nothing wrote are seen too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emu {

// One access: which thread, when, and from where in the code.
struct Access {
  uint32_t block = 0;  // serial number over all launches; 0: none
  uint32_t site = 0;   // return address, relative to the module
  uint16_t epoch = 0;  // block barriers passed
  uint16_t warp_epoch = 0;
  uint16_t fences = 0;                                        // device-wide fences of the thread before it
  uint16_t thread : 11 = 0, atomic : 1 = 0, several : 2 = 0;  // further threads read too: 1 of its warp, 2 of others
};

struct Cell {
  Access write, read;
  bool written = false;
};

struct Buffer {
  std::string name;
  char* begin = nullptr;
  size_t bytes = 0, align = 1, grain = 1;  // bytes a cell
  int shift = 0;                           // grain is 2^shift; -1: it is no power of two
  size_t cell_of(size_t byte) const { return shift >= 0 ? byte >> shift : byte / grain; }
  std::vector<Cell> cells;
  bool sparse = false;  // too large to track: its pages are only reserved
};

// `align`: what the contract promises; the address is a multiple of it and of nothing larger. Filled with `poison`.
Buffer* new_buffer(const std::string& name, size_t bytes, size_t grain, size_t align, uint8_t poison);
void track_globals(const std::string& library);  // the variables of a loaded library: race detection only
void free_buffer(Buffer* buffer);
Buffer* find_buffer(const void* address);
bool all_written(const Buffer& buffer, size_t* first_missing);

// Called by instrumented code and by the atomics.
void note_access(const void* address, size_t bytes, bool write, const void* site);
void allow_collisions(bool allowed);  // the same store of several threads may hit one element: a scatter without accumulation
void note_host_write(const void* address, size_t bytes);  // a copy between launches

// Problems are printed, counted, and end the run after the first few.
void problem(const std::string& text);
int problems();
std::string beside(const char* address);  // "at byte 400 of input a, …": the buffer it lies in or next to
void check_alignment(const void* pointer, size_t align, const void* site);
std::string place(uint32_t site);
uint32_t site_of(const void* address);

}  // namespace emu
