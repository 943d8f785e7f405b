#include "schedule.h"

#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#if !defined(__x86_64__)
#error "the emulator switches stacks in x86-64 assembly"
#endif

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
};
extern "C" {
uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
void emu_switch(void** from, void* to);
}

// Saves the callee-saved registers on the running stack and takes those of the other.
asm(R"(
.text
.globl emu_switch
.type emu_switch, @function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch, .-emu_switch
)");

namespace emu {

Thread* current = nullptr;
char *stacks_begin = nullptr, *stacks_end = nullptr;

namespace {

constexpr size_t kStack = size_t{256} << 10;
constexpr size_t kMostFibers = 4096;

}  // namespace

struct Fiber {
  void* stack_pointer = nullptr;
  void* fake_stack = nullptr;
  char* bottom = nullptr;
};

enum State : uint8_t { kNew, kReady, kAtBarrier, kAtGroupBarrier, kInWarp, kAtActiveMask, kDone };

struct Block;
struct Thread {
  Block* block = nullptr;
  uint3 index{};
  unsigned linear = 0;
  State state = kNew;
  Fiber* fiber = nullptr;
  const void* site = nullptr;  // where it waits
  int kind = 0;
  unsigned mask = 0;
  int source = 0;
  uint64_t value = 0, result = 0;
  uint16_t warp_epoch = 0, fences = 0;
  uint32_t fence_epoch = 0;  // block barriers before the last fence, plus one
};

// What a thread made visible to whoever reads the atomic it updated.
struct Release {
  uint32_t block;
  uint16_t epoch, thread, fence_epoch;
  std::vector<uint16_t> fences;                  // of each thread of the block
  std::vector<std::shared_ptr<Release>> before;  // what the block had acquired: whoever sees this one sees those
};

struct Group;
struct Block {
  Group* group = nullptr;
  uint3 index{};
  uint32_t serial = 0;
  uint16_t epoch = 0;
  std::vector<Thread> threads;
  unsigned alive = 0, waiting = 0;
  std::vector<Thread*> ready, fresh;  // fresh: not started, the last one first
  std::map<const void*, Buffer*> shared;
  Buffer* dynamic = nullptr;
  std::map<uint32_t, std::vector<std::shared_ptr<Release>>> acquired;  // by releasing block
};

// Blocks that run at the same time: one, a cluster, or the whole grid of a cooperative launch.
struct Group {
  std::vector<std::unique_ptr<Block>> blocks;
  std::map<uint32_t, uint16_t> passed;  // block → its epoch after the last barrier of the group
};

namespace {

uint64_t order_seed = 0;
uint8_t poison_byte = 0xff;
std::mt19937_64 random_bits;
PointerMap pointer_map = nullptr;

std::vector<std::unique_ptr<Fiber>> fibers;
std::vector<Fiber*> free_fibers;
Fiber main_fiber;
const void* main_bottom = nullptr;
size_t main_size = 0;

uint64_t launch_count = 0;
uint32_t next_serial = 1, launch_serial = 1;
const char* kernel_name = "";
void (*thread_body)(void*) = nullptr;
void* thread_closure = nullptr;
size_t dynamic_bytes = 0;
Fiber* current_fiber = nullptr;
bool in_atomic = false;
std::vector<const void*> shared_pointers;
std::map<const void*, std::vector<std::shared_ptr<Release>>> released;

std::string describe(const Thread& t) {
  return std::string(kernel_name) + " block " + std::to_string(t.block->index.x) + " thread " + std::to_string(t.linear);
}
std::string at(const Thread& t) { return place(site_of(t.site)); }

[[noreturn]] void stop(const std::string& text) {
  problem(text);
  std::exit(1);
}

template <class T>
void shuffle(std::vector<T>& list) {
  if (order_seed == 1) std::reverse(list.begin(), list.end());
  if (order_seed > 1) std::shuffle(list.begin(), list.end(), random_bits);
}

// --- fibers

void switch_to(Fiber* from, Fiber* to) {
  current_fiber = to;
  const bool to_main = to == &main_fiber;
  __sanitizer_start_switch_fiber(&from->fake_stack, to_main ? main_bottom : to->bottom, to_main ? main_size : kStack);
  emu_switch(&from->stack_pointer, to->stack_pointer);
  const void* bottom = nullptr;
  size_t size = 0;
  __sanitizer_finish_switch_fiber(from->fake_stack, &bottom, &size);
}

void enter(Thread* t) {
  current = t;
  threadIdx = t->index;
  blockIdx = t->block->index;
}

std::vector<Thread*>* new_threads = nullptr;  // of the running block

void finish(Thread* t);

// Starts threads one after the other; each that waits leaves its fiber, and the block goes on with another.
void fiber_body() {
  const void* bottom = nullptr;
  size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (!main_bottom) main_bottom = bottom, main_size = size;
  for (;;) {
    while (!new_threads->empty()) {
      Thread* t = new_threads->back();
      new_threads->pop_back();
      t->fiber = current_fiber;
      t->state = kReady;
      enter(t);
      thread_body(thread_closure);
      finish(current);
    }
    free_fibers.push_back(current_fiber);
    switch_to(current_fiber, &main_fiber);
  }
}

Fiber* take_fiber() {
  if (free_fibers.empty()) {
    if (!stacks_begin) {
      stacks_begin = static_cast<char*>(
          mmap(nullptr, kStack * kMostFibers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      if (stacks_begin == MAP_FAILED) stop("no memory for stacks");
      stacks_end = stacks_begin + kStack * kMostFibers;
    }
    if (fibers.size() == kMostFibers) stop("more threads wait at once than the emulator has stacks");
    auto f = std::make_unique<Fiber>();
    f->bottom = stacks_begin + kStack * fibers.size();
    // What emu_switch pops: six registers and the entry; the stack is aligned as after a call.
    void** top = reinterpret_cast<void**>(f->bottom + kStack - 64);
    top[-1] = nullptr;
    top[-2] = reinterpret_cast<void*>(fiber_body);
    f->stack_pointer = top - 8;
    fibers.push_back(std::move(f));
    free_fibers.push_back(fibers.back().get());
  }
  Fiber* f = free_fibers.back();
  free_fibers.pop_back();
  return f;
}

// Leaves the running thread until someone has made it ready again.
void wait_in(State state, const void* site) {
  Thread* t = current;
  t->state = state;
  t->site = site;
  switch_to(current_fiber, &main_fiber);
  enter(t);
}

void make_ready(Thread* t) {
  t->state = kReady;
  t->block->ready.push_back(t);
}

// --- block barriers

void release_barrier(Block& b) {
  uint64_t count = 0;
  const Thread* first = nullptr;
  for (const Thread& t : b.threads) {
    if (t.state != kAtBarrier) continue;
    if (!first) first = &t;
    else if (t.site != first->site || t.kind != first->kind)
      stop("threads of a block meet at two different barriers: " + describe(*first) + " at " + at(*first) + ", thread " +
           std::to_string(t.linear) + " at " + at(t));
    count += t.value;
  }
  if (b.epoch == UINT16_MAX) stop("too many barriers in one kernel for the emulator");
  ++b.epoch;
  const uint64_t waiting = b.waiting;
  b.waiting = 0;
  for (Thread& t : b.threads) {
    if (t.state != kAtBarrier) continue;
    t.result = t.kind == 1 ? count : t.kind == 2 ? count == waiting : count != 0;
    make_ready(&t);
  }
}

// --- warps

unsigned lane_of(const Thread& t) { return t.linear % 32; }
Thread* lane_at(const Thread& t, unsigned lane) {
  const size_t i = t.linear / 32 * 32 + lane;
  return i < t.block->threads.size() ? &t.block->threads[i] : nullptr;
}
unsigned alive_lanes(const Thread& t) {
  unsigned m = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (const Thread* o = lane_at(t, lane); o && o->state != kDone) m |= 1u << lane;
  return m;
}

// True when every lane of the mask waits at this operation (the running thread counts as waiting).
bool warp_complete(const Thread& t) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(t.mask >> lane & 1)) continue;
    const Thread* o = lane_at(t, lane);
    if (!o || o->state == kDone)
      stop("a warp operation waits for a lane that has ended or never was: " + describe(t) + " at " + at(t) + ", lane " +
           std::to_string(lane));
    if (o == &t) continue;
    if (o->state != kInWarp || o->mask != t.mask) return false;
    if (o->kind != t.kind)
      stop("lanes of a warp meet at two different operations: " + describe(t) + " at " + at(t) + ", lane " + std::to_string(lane) + " at " +
           at(*o));
  }
  return true;
}

enum { kSync = 100, kMatch, kVote };

void complete_warp(Thread& t) {
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((t.mask >> lane & 1) && (lane_at(t, lane)->value & 1)) votes |= 1u << lane;
  const bool whole = (alive_lanes(t) & ~t.mask) == 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(t.mask >> lane & 1)) continue;
    Thread* o = lane_at(t, lane);
    if (t.kind == kSync) {
      if (whole) ++o->warp_epoch;
    } else if (t.kind == kMatch) {
      o->result = 0;
      for (unsigned other = 0; other < 32; ++other)
        if ((t.mask >> other & 1) && lane_at(t, other)->value == o->value) o->result |= 1u << other;
    } else if (t.kind >= kVote) {
      o->result = votes;
    } else {
      if (o->source < 0 || o->source > 31 || !(t.mask >> o->source & 1))
        stop("a shuffle reads a lane that takes no part: " + describe(*o) + " at " + at(t) + ", lane " + std::to_string(o->source));
      o->result = lane_at(t, static_cast<unsigned>(o->source))->value;
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    if (Thread* o = lane_at(t, lane); o && (t.mask >> lane & 1) && o != &t) make_ready(o);
}

uint64_t warp_operation(int kind, unsigned mask, uint64_t value, int source, const void* site) {
  Thread& t = *current;
  t.kind = kind, t.mask = mask, t.value = value, t.source = source, t.site = site;
  if (!(mask >> lane_of(t) & 1)) stop("a warp operation whose mask lacks its own lane: " + describe(t) + " at " + at(t));
  if (warp_complete(t)) complete_warp(t);
  else wait_in(kInWarp, site);
  return t.result;
}

// Lanes that reached __activemask() and can go no further without each other are active together.
bool release_active(Block& b) {
  for (Thread& t : b.threads) {
    if (t.state != kAtActiveMask) continue;
    unsigned mask = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      if (const Thread* o = lane_at(t, lane); o && o->state == kAtActiveMask && o->site == t.site) mask |= 1u << lane;
    for (unsigned lane = 0; lane < 32; ++lane)
      if (mask >> lane & 1) lane_at(t, lane)->result = mask, make_ready(lane_at(t, lane));
    return true;
  }
  return false;
}

void finish(Thread* t) {
  t->state = kDone;
  Block& b = *t->block;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (const Thread* o = lane_at(*t, lane); o && o->state == kInWarp && (o->mask >> lane_of(*t) & 1))
      stop("a warp operation waits for a lane that has ended: " + describe(*o) + " at " + at(*o) + ", lane " + std::to_string(lane_of(*t)));
  --b.alive;
  if (b.waiting > 0 && b.waiting == b.alive) release_barrier(b);
}

// --- blocks

void fill_block(Block& b, Group& group, uint32_t number, dim3 grid, dim3 block) {
  b.group = &group;
  b.index = {number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y};
  b.serial = launch_serial + number;
  b.threads.resize(size_t{block.x} * block.y * block.z);
  b.alive = static_cast<unsigned>(b.threads.size());
  for (unsigned i = 0; i < b.threads.size(); ++i) {
    Thread& t = b.threads[i];
    t.block = &b;
    t.linear = i;
    t.index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
  }
  for (auto t = b.threads.rbegin(); t != b.threads.rend(); ++t) b.fresh.push_back(&*t);
  shuffle(b.fresh);
}

// Runs until every thread has ended or waits for other blocks.
void run_block(Block& b) {
  new_threads = &b.fresh;
  while (!b.fresh.empty()) switch_to(&main_fiber, take_fiber());
  for (;;) {
    while (!b.ready.empty()) {
      std::vector<Thread*> batch;
      batch.swap(b.ready);
      shuffle(batch);
      for (Thread* t : batch) switch_to(&main_fiber, t->fiber);
    }
    if (!release_active(b)) break;
  }
  for (const Thread& t : b.threads)
    if (t.state != kAtGroupBarrier && t.state != kDone)
      stop("deadlock: " + describe(t) + " waits at " + at(t) + " for threads that never come");
}

void run_group(Group& group) {
  for (unsigned alive = 1; alive > 0;) {
    std::vector<Block*> order;
    for (auto& b : group.blocks) order.push_back(b.get());
    shuffle(order);
    alive = 0;
    for (Block* b : order) run_block(*b), alive += b->alive;
    // All that are left wait at a barrier of the group.
    for (auto& b : group.blocks) {
      if (b->epoch == UINT16_MAX) stop("too many barriers in one kernel for the emulator");
      group.passed[b->serial] = ++b->epoch;
      for (Thread& t : b->threads)
        if (t.state == kAtGroupBarrier) make_ready(&t);
    }
  }
  for (auto& b : group.blocks) {
    for (const auto& [key, buffer] : b->shared) free_buffer(buffer);
    if (b->dynamic) free_buffer(b->dynamic);
  }
}

bool in_shared(const Block& b, const void* address) {
  const char* p = static_cast<const char*>(address);
  auto holds = [p](const Buffer* buffer) { return p >= buffer->begin && p < buffer->begin + buffer->bytes; };
  if (b.dynamic && holds(b.dynamic)) return true;
  return std::any_of(b.shared.begin(), b.shared.end(), [&](const auto& variable) { return holds(variable.second); });
}

void acquire(Block& b, const std::shared_ptr<Release>& r) {
  if (r->block == b.serial) return;
  std::vector<std::shared_ptr<Release>>& known = b.acquired[r->block];
  if (std::find(known.begin(), known.end(), r) == known.end()) known.push_back(r);
}

const Release* covering(const Block& b, const Access& before) {
  const auto it = b.acquired.find(before.block);
  if (it == b.acquired.end()) return nullptr;
  for (const auto& r : it->second) {
    const bool reached = before.epoch < r->epoch || (before.epoch == r->epoch && before.thread == r->thread);
    // A fence of the releasing thread after the barrier, or of the writer itself.
    const bool fenced = r->fence_epoch > before.epoch + 1u || r->fences[before.thread] > before.fences;
    if (reached && fenced) return r.get();
  }
  return nullptr;
}

}  // namespace

void set_schedule(uint64_t seed, uint8_t poison) {
  order_seed = seed;
  poison_byte = poison;
  random_bits.seed(seed);
  launch_count = 0;
}
std::string running_thread() { return describe(*current); }
uint64_t launches() { return launch_count; }
void set_pointer_map(PointerMap map) { pointer_map = map; }
uint32_t block_number(uint32_t serial) { return serial - launch_serial; }

Access access_now(uint32_t site) {
  Access a;
  a.block = current->block->serial;
  a.site = site;
  a.epoch = current->block->epoch;
  a.warp_epoch = current->warp_epoch;
  a.fences = current->fences;
  a.thread = static_cast<uint16_t>(current->linear & 0x7ff);
  a.atomic = in_atomic;
  return a;
}

bool ordered(const Access& before, const Access& now) {
  if (before.block < launch_serial) return true;  // an earlier launch
  if (before.block == now.block) {
    if (before.epoch < now.epoch) return true;
    if (before.thread == now.thread && !before.several) return true;
    return before.thread / 32 == now.thread / 32 && before.warp_epoch < now.warp_epoch && before.several < 2;
  }
  const auto& passed = current->block->group->passed;
  if (const auto it = passed.find(before.block); it != passed.end() && before.epoch < it->second) return true;
  return covering(*current->block, before) != nullptr;
}

}  // namespace emu

using namespace emu;

extern "C" {

void emu_run_grid(const char* name, dim3 grid, dim3 block, size_t shared_bytes, unsigned cluster, void (*thread)(void*), void* closure) {
  kernel_name = name, thread_body = thread, thread_closure = closure, dynamic_bytes = shared_bytes;
  gridDim = grid, blockDim = block;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z, blocks = uint64_t{grid.x} * grid.y * grid.z;
  if (threads == 0 || threads > 1024 || blocks == 0 || blocks > INT32_MAX) stop(std::string(name) + ": no such launch is possible");
  const uint64_t together = cluster == 0 ? blocks : cluster;  // 0: cooperative
  if (blocks % together != 0) stop(std::string(name) + ": the grid is no multiple of the cluster");
  std::vector<uint32_t> firsts;
  for (uint64_t first = 0; first < blocks; first += together) firsts.push_back(static_cast<uint32_t>(first));
  shuffle(firsts);
  launch_serial = next_serial;
  next_serial += static_cast<uint32_t>(blocks);
  released.clear();
  for (uint32_t first : firsts) {
    Group group;
    for (uint32_t i = 0; i < together; ++i) {
      group.blocks.push_back(std::make_unique<Block>());
      fill_block(*group.blocks.back(), group, first + i, grid, block);
    }
    run_group(group);
  }
  current = nullptr;
  ++launch_count;
}

void* emu_device_pointer(int argument, void* pointer) { return pointer_map ? pointer_map(launch_count, argument, pointer) : pointer; }

void* emu_shared(const void* key, size_t bytes, size_t align, size_t grain) {
  Buffer*& s = current->block->shared[key];
  if (!s) s = new_buffer("shared memory of " + std::string(kernel_name), bytes, grain, align, poison_byte);
  return s->begin;
}

void* emu_dynamic_shared(void) {
  Block& b = *current->block;
  if (!b.dynamic) b.dynamic = new_buffer("dynamic shared memory of " + std::string(kernel_name), dynamic_bytes, 1, 16, poison_byte);
  return b.dynamic->begin;
}

unsigned long long emu_block_barrier(int kind, unsigned long long value) {
  Thread& t = *current;
  Block& b = *t.block;
  t.kind = kind, t.value = value;
  t.state = kAtBarrier;
  t.site = __builtin_return_address(0);
  if (++b.waiting == b.alive) release_barrier(b);
  if (t.state == kReady) {
    // Released by itself: it waits for its turn like the others.
    switch_to(current_fiber, &main_fiber);
    enter(&t);
  } else {
    wait_in(kAtBarrier, t.site);
  }
  return t.result;
}

void emu_group_barrier(void) {
  if (current->block->group->blocks.size() == 1 && gridDim.x * gridDim.y * gridDim.z > 1)
    stop("a barrier over blocks that do not run together: " + describe(*current));
  wait_in(kAtGroupBarrier, __builtin_return_address(0));
}

// Shared memory has 32-bit addresses in PTX: here the number of the running block's pointer, and the block of the cluster.
unsigned emu_shared_address(const void* pointer) {
  for (size_t i = 0; i < shared_pointers.size(); ++i)
    if (shared_pointers[i] == pointer) return static_cast<unsigned>(i) << 16;
  shared_pointers.push_back(pointer);
  return static_cast<unsigned>(shared_pointers.size() - 1) << 16;
}
const void* emu_cluster_pointer(unsigned address, unsigned rank) {
  const char* mine = static_cast<const char*>(shared_pointers[address >> 16]);
  Block& b = *current->block;
  if (rank >= b.group->blocks.size()) stop("no such block in the cluster: " + describe(*current));
  Block& other = *b.group->blocks[rank];
  if (other.alive == 0) stop("shared memory of a block that has ended is read: " + describe(*current));
  for (const auto& [key, buffer] : b.shared) {
    if (mine < buffer->begin || mine >= buffer->begin + buffer->bytes) continue;
    const auto there = other.shared.find(key);
    if (there != other.shared.end()) return there->second->begin + (mine - buffer->begin);
  }
  stop("a shared address that is no variable of the other block: " + describe(*current));
}

void emu_fence(int scope) {
  if (scope < 1) return;
  ++current->fences;
  current->fence_epoch = current->block->epoch + 1u;
}

void emu_atomic_begin(const void*) { in_atomic = true; }

void emu_relaxed_end(void) { in_atomic = false; }

void emu_acquire_end(const void* address) {
  in_atomic = false;
  const auto it = released.find(address);
  if (it == released.end()) return;
  for (const auto& r : it->second) {
    acquire(*current->block, r);
    for (const auto& before : r->before) acquire(*current->block, before);
  }
}

void emu_atomic_end(const void* address) {
  Thread& t = *current;
  Block& b = *t.block;
  if (in_shared(b, address)) return emu_relaxed_end();  // of the block's own threads alone
  emu_acquire_end(address);
  // Without a fence the update orders nothing.
  const bool fenced = std::any_of(b.threads.begin(), b.threads.end(), [](const Thread& o) { return o.fences > 0; });
  if (!fenced) return;
  auto r = std::make_shared<Release>();
  r->block = b.serial, r->epoch = b.epoch, r->thread = static_cast<uint16_t>(t.linear),
  r->fence_epoch = static_cast<uint16_t>(t.fence_epoch);
  for (const Thread& o : b.threads) r->fences.push_back(o.fences);
  for (const auto& [block, releases] : b.acquired) r->before.insert(r->before.end(), releases.begin(), releases.end());
  released[address].push_back(r);
}

unsigned long long emu_warp_exchange(int kind, unsigned mask, unsigned long long value, int source) {
  return warp_operation(kind, mask, value, source, __builtin_return_address(0));
}
unsigned emu_warp_match(unsigned mask, unsigned long long value) {
  return static_cast<unsigned>(warp_operation(kMatch, mask, value, 0, __builtin_return_address(0)));
}
unsigned emu_warp_ballot(int kind, unsigned mask, bool predicate) {
  return static_cast<unsigned>(warp_operation(kVote + kind, mask, predicate, 0, __builtin_return_address(0)));
}
void emu_warp_sync(unsigned mask) { warp_operation(kSync, mask, 0, 0, __builtin_return_address(0)); }
unsigned emu_active_mask(void) {
  wait_in(kAtActiveMask, __builtin_return_address(0));
  return static_cast<unsigned>(current->result);
}
void emu_trap(const char* what) { stop(std::string(what) + " in " + describe(*current)); }

int emu_copy(void* to, const void* from, size_t bytes) {
  memcpy(to, from, bytes);  // intercepted: AddressSanitizer checks both sides
  note_host_write(to, bytes);
  return 0;
}
int emu_fill(void* to, int byte, size_t bytes) {
  memset(to, byte, bytes);
  note_host_write(to, bytes);
  return 0;
}
}
