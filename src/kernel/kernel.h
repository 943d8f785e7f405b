// The kernel IR: what one CUDA kernel computes and how its iteration spaces are spread over blocks, threads, and vector lanes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernel/accumulator.h"
#include "kernel/index.h"
#include "kernel/program.h"

namespace fusec {

// What the L2 cache is told of a buffer's lines.
enum class CacheHint : uint8_t {
  kUsual,
  kOnce,  // touched once and by no later launch: others had better be kept
  kKept,  // read, while more is written than the cache holds: written lines had better leave
};

// Memory that a kernel reads or writes through one pointer parameter.
struct Buffer {
  KernelArg arg;
  DType dtype = DType::kF32;
  std::string value;  // the graph's name for what lies there
  bool read = false, written = false;
  bool may_overlap = false;  // another parameter may point to the same memory (in-place updates)
  CacheHint cache = CacheHint::kUsual;
  int64_t shared_elems = 0;  // > 0: no parameter, but so many elements in the shared memory of a kernel of phases
};

// One value at one index of the iteration space. Nodes stand in evaluation order.
struct Node {
  enum Kind : uint8_t {
    kLoad,      // buffer[index], 0 where `guard` fails
    kScalar,    // the scalar kernel parameter `buffer`
    kConstant,  // `constant`, rounded to dtype
    kOp,        // graph op `op` on in
    kSelect,    // in[0] where every guard ≥ 0, else in[1]
    kIndex,     // iota `op`: start + step · index
    kRandom,    // uniform or normal `op`, element number `index`
    kChecked,   // in[0] as an index of a dimension of size `extent`; where it is none: `extent`, and `buffer` records that
    kItem,      // an update that a list names
    kListed,    // in[0] + Σ in[1] over the first in[2] updates in the row's slots, buffer[index]…, + the rest
    kReduce,    // result `result` of reduction `op`: accumulator `accumulator`, after its sweep
    kSorted,    // result `result` of the part's scan or sort, at the position
    kJoined,    // in[0], updated by the others as `accumulate` says
  } kind = kConstant;
  DType dtype = DType::kF32;
  OpId op;
  std::vector<NodeId> in;  // operands, then what `index` and `guard` read
  Literal constant;
  BufferId buffer;
  Index index;
  std::vector<Index> guard;  // all ≥ 0
  uint32_t accumulator = 0, result = 0;
  Accumulate accumulate = Accumulate::kNone;
  bool coarse = false;  // kOp: of its result, which is not exact anyway, only the greater bits are seen (lower/coarse.h)
  Size extent;          // kChecked
  uint32_t check = 0;   // kChecked: 1 + position in Program::checks; `index` is the element's number in the index operand
  // kLoad in skewed rows: its vectors lie between two aligned ones; or they are aligned, and lanes outside the row may be read.
  bool shifted = false, reads_past_row = false;
  bool late = false;  // kLoad along a row: made where its value is used, not together with the others
};

// Slots for the updates of each row of a scatter's target. Updates that find none are listed in `rest`, after their number, and the
// first of them clears the row of `sums`.
struct Claim {
  Index item;
  int slots = 4;
  int64_t row_elems = 1, elems = 1;  // of sums, and of each copy of all sums
  int copies = 1;
  int apart = 1;  // words from one row's count to the next
  BufferId places, rest, sums;
};

struct Store {
  BufferId buffer;
  Index index;
  NodeId value;
  std::vector<Index> guard;  // all ≥ 0
  bool last = false;         // not before every load of the row: it may overwrite what they read
  // An update of what lies there, by any number of threads at once (`accumulate` kNone: by one of them).
  bool update = false;
  Accumulate accumulate = Accumulate::kNone;
  bool accumulates() const { return update && accumulate != Accumulate::kNone; }
  bool looks = true;   // max and min: a NaN may lie there
  bool joins = false;  // lanes of a warp whose updates go to one place combine them first
  // Update `item` takes the next slot of its row, whose updates buffer[index] counts.
  std::optional<Claim> claim;
  std::optional<Index> gathered;  // not to memory yet: the place among the elements of the buffer's BulkStore
};

// A stretch of memory that the threads of a block fill, each in several places: it is gathered in shared memory, and the copy engine writes
// it as a whole (where there is none, all threads do, 16 bytes each). Made when all else is settled: no index changes any more.
struct BulkStore {
  BufferId buffer;
  Index begin;        // in the buffer, of what the block writes in a repetition
  int elems = 0;      // of the stretch
  int stretches = 1;  // that are gathered: one for each repetition, or one that all of them write
};

// Tiled transpose: a block covers `rows` × `columns` elements, columns along the stores' innermost axis and rows along the innermost
// axis of the staged loads. Those go through shared memory, so that both sides touch whole lines.
struct Tile {
  int rows = 64, columns = 64;
  AtomId column_vector, row;  // thread variables of the compute phase: a vector along the columns, and a row of the first pass
  struct Staged {
    NodeId load;
    AtomId vector, column, pass;  // thread variables of the staging phase: a vector along the rows, a column, the repetition
    Index index;                  // of the vector's first element, in staging variables
    std::vector<Index> guard;
    int width = 1;  // elements a thread copies at once
  };
  std::vector<Staged> staged;
};

// A reduction over the rows, from the sweeps that read them anyway: each thread keeps what its positions gave over all rows that it
// takes, and a later kernel merges what the threads of one position found.
struct Column {
  OpId op;
  Accumulator accumulator;
  Index index;  // of a position's state among those that one group leaves
};

// Vectors that keep to memory's alignment where rows do not start on it: lane 0 of vector v stands at v · Part::vector − shift of its row.
// The first and the last vector of a row may have lanes outside it, which count for nothing.
struct Skew {
  Index shift;                  // of a row, less than the vector
  int64_t first = 0, each = 0;  // that of row i, where rows are numbered by one variable: (first + i · each) mod the vector
  int64_t elems = 0;            // of a row
};

// Reductions. The part's `dims` are rows, each of which has `positions`. A group of threads takes a row through its phases: in each it
// sweeps over all positions, feeds the accumulators whose operands are known by then, and merges its threads' accumulators.
struct Sweep {
  std::vector<AtomId> dims;  // variables of a position, outer to inner; the innermost counts vectors where the lane runs along it
  std::vector<Accumulator> accumulators;
  std::vector<Column> columns;
  std::optional<Skew> skew;
  int blocks = 0;              // that take all rows in turns, where there are columns
  int group = 1;               // threads of a row, a power of two
  int rows = 1;                // rows (or vectors of them) side by side in a block
  bool across = false;         // neighbouring threads take neighbouring rows and the lane runs over rows; else both run over positions
  int steps = 1;               // positions that a thread has in flight
  bool held = false;           // one round of steps covers the row: what later phases read again stays in registers
  std::vector<NodeId> kept;    // computed values that stay in registers too
  std::vector<NodeId> staged;  // loads that stay in shared memory instead, each thread's own
  std::vector<NodeId> ahead;   // where blocks take rows in turns: loads of the next row, on their way to shared memory meanwhile
  int split = 1;               // blocks that share a row, each a chunk of its positions
  bool cluster = false;        // they are a thread block cluster, and see each other's results; else the last one to finish merges them all
};

// A sort of rows that exceed shared memory: tiles of a row's positions go through turns, in the order of tickets, of which each block takes
// one for every turn. The first turn counts the values of all digits; each one after it puts the keys in the order of the next digit in
// which they differ. The last to act stores what the part's nodes make of the results.
struct Radix {
  int block = 256, items = 8;  // threads of a tile, and keys of each
  int digits = 1;              // of 8 bits, of a key
  int ahead = 8;               // tiles before it that a tile asks at a time
  int64_t tiles = 1;           // of a row
  BufferId state;              // the next ticket, then of each row: counts of its digits' values, tiles that have finished each turn
  BufferId flags;              // for every second turn: how often a digit's values occur in a tile, or up to its end
  BufferId keys[2], from[2];   // between turns: the values, and their positions in the row; of as many as the turns need
  int64_t state_words() const { return int64_t{digits} * 256 + digits + 1; }  // of a row
};

// A scan or a sort. The part's `dims` are rows, each of `extent` positions; its stores hold what nodes make of the op's results at a
// position.
struct Line {
  OpId op;
  NodeId operand;   // at a position
  AtomId position;  // none where rows have one position
  Size extent;
  bool across = false;  // scans: a thread takes a row, and its neighbours take neighbouring rows
  int group = 1;        // threads of a row
  int capacity = 1;     // sorts: positions that shared memory holds, a power of two
  std::optional<Radix> radix;
  // Scans of few long rows: blocks share a row, `chunk` positions each. A first launch leaves what each chunk gives by itself in `totals`.
  int64_t chunks = 1, chunk = 0;
  BufferId totals;
  bool sums_chunks = false;  // it is the first launch
  // Or in one: blocks take chunks by tickets, keep them in registers, and look back at what the chunks before have published.
  bool looks_back = false;
  // Whole rows are sorted by counting what goes before each key, longer ones in runs of 32 that are then merged.
  bool counts() const { return !radix && capacity <= 128; }
  bool merges() const { return !radix && capacity > 128; }
};

// Updates of a small target: each block applies them to a table of its own in shared memory, and that to the target at the end.
struct Table {
  int64_t whole = 0;          // elements of the target, from the first on, that have a place of their own
  int64_t cache = 0;          // places for the others, each for the element or vector that comes to it first
  int lanes = 1;              // elements of such a vector, Part::vector or 1: all are updated at once
  int copies = 1;             // of each element that has its own: neighbouring threads use neighbouring copies
  bool counts = false;        // all updates add one constant: those of elements that have their own are counted, in 32 bits
  DType dtype = DType::kF32;  // of an element, where it is not counted
  AtomId share;               // of a cached target, which all blocks update at a time, the last one first; invalid: the whole
  GridTerm updates;           // blocks of updates, which the tables take in turns
  int element_bytes() const { return counts ? 4 : bytes_of(dtype); }  // of one that has its own place
  int64_t whole_bytes() const { return whole * copies * element_bytes(); }
  int64_t bytes() const { return whole_bytes() + cache * (lanes * bytes_of(dtype) + 4); }  // (a number says whose each place is)
};

// Copies of a small target in memory, which blocks update in turns; a later kernel adds them to the target.
struct Replicas {
  int copies = 1;
  int64_t elems = 0;  // from one copy to the next
};

// Updates that a list names: those in the slots of a row, summed up by one thread for each element of it (`sum`), or those that found no
// slot (`rest`), so many of them for a thread, which adds up neighbours that meet in one row.
struct List {
  NodeId item, sum;
  int slots = 4;
  BufferId rest;
  NodeId row;         // of an item of the rest
  BufferId sums;      // of the rest, for a row with more updates than slots
  Index element;      // of the sums
  int copies = 1;     // of the sums, which blocks take in turns
  int64_t elems = 1;  // of each
  static constexpr int kUsualAhead = 4, kMostAhead = 16;
  int ahead = kUsualAhead;  // items whose loads are in flight together, a power of two
  bool reads_far_ahead() const { return ahead > kUsualAhead; }
  static constexpr int kRestBegin = 4;  // where the rest's items begin: after their number, at a vector's boundary
};

// One iteration space of a kernel: a range of its blocks.
struct Part {
  explicit Part(const Symbols& symbols) : space(symbols) {}

  IndexSpace space;
  std::vector<AtomId> dims;  // loop variables spread over the grid's threads (over its blocks, with a tile), outer to inner
  IdVec<NodeId, Node> nodes;
  std::vector<Store> stores;

  // Values of an unrolled variable: each thread computes this many elements of every store, whatever else it repeats.
  int copies = 1;

  // Schedule. The vector variable runs over the `vector` lanes of a thread. With a tail, the last vector has fewer: the grid then
  // counts elements, not vectors.
  int vector = 1;
  AtomId lane;
  bool has_tail = false;
  // A thread runs `unroll` times: over the variable `serial` when there is one (what does not depend on it is computed once),
  // else over elements one block width apart.
  int unroll = 1;
  AtomId serial;
  std::vector<BulkStore> bulk_stores;
  std::optional<Tile> tile;
  std::optional<Sweep> sweep;
  std::optional<Line> line;
  std::optional<Table> table;
  std::optional<Replicas> replicas;
  std::optional<List> list;
  std::vector<AtomId> shared_atoms;  // quotients and remainders that others contain: computed once, by name
  bool wide_index = false;           // 64-bit index arithmetic
  GridTerm grid;                     // blocks of this part
};

struct Kernel {
  std::string name;
  uint32_t segment = 0;
  IdVec<BufferId, Buffer> buffers;
  std::vector<Part> parts;
  int block = 256;
  int blocks_resident = 0;  // on a multiprocessor, at least, whatever registers that leaves; 0: as the compiler likes
  ScatterChoice scatter;    // of a kernel of updates
  int shared_bytes = 0;     // static
  int dynamic_bytes = 0;    // of shared memory, asked for at launch

  // One block runs what were kernels one after the other (`parts` is empty then). A phase has buffers of its own, which `outer` finds among
  // those of the whole kernel; one that `waits` has a barrier before it, the others do not touch what those before them write.
  std::vector<Kernel> phases;
  bool is_phase = false;
  std::vector<BufferId> outer;
  bool waits = false;
  std::string why;  // they share a launch
};

}  // namespace fusec
