// Grids, blocks and threads. A thread is a fiber; the threads of a block go on in an order drawn from a seed, each until it ends or has to
// wait for others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace emu {

// Orders: 0 ascending, 1 descending, others random.
void set_schedule(uint64_t seed, uint8_t poison);
struct Thread;
extern Thread* current;                               // the running one; nullptr between kernels
inline bool running() { return current != nullptr; }  // a kernel is
std::string running_thread();                         // for messages
extern char *stacks_begin, *stacks_end;               // of all threads
inline bool on_fiber_stack(const void* address) { return address >= stacks_begin && address < stacks_end; }  // a local variable
Access access_now(uint32_t site);                                                                            // by the running thread
bool ordered(const Access& before, const Access& now);  // both of one buffer; by barriers, fences with atomics, or the program
uint32_t block_number(uint32_t serial);
uint64_t launches();

// The runner's answer to emu_device_pointer, which knows the buffers.
using PointerMap = void* (*)(uint64_t launch, int argument, void* pointer);
void set_pointer_map(PointerMap map);

}  // namespace emu
