#include "lower/schedule.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernel/visit.h"
#include "lower/transpose.h"
#include "support/check.h"

namespace fusec {

namespace {

bool can_merge(Part& part, AtomId outer, AtomId inner) {
  const Size extent = part.space.extent(inner);
  bool ok = true;
  for_each_index(part, [&](Index& index) {
    if (inside_atom(part.space, index, outer) || inside_atom(part.space, index, inner)) ok = false;
    if (!(index.coefficient(outer) == index.coefficient(inner) * extent)) ok = false;
  });
  return ok;
}

void merge(Part& part, std::vector<AtomId>& dims, size_t at) {
  const AtomId outer = dims[at], inner = dims[at + 1];
  const AtomId both =
      part.space.add_variable(part.space[outer].name + part.space[inner].name, part.space.extent(outer) * part.space.extent(inner));
  for_each_index(part, [&](Index& index) {
    const Size c = index.coefficient(inner);
    std::erase_if(index.terms, [&](const auto& t) { return t.first == outer || t.first == inner; });
    index = index + part.space.variable(both) * c;
  });
  dims[at] = both;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at) + 1);
}

}  // namespace

void merge_dims(Part& part, std::vector<AtomId>& dims) {
  for (size_t i = dims.size(); i-- > 1;)
    if (can_merge(part, dims[i - 1], dims[i])) merge(part, dims, i - 1);
}

// 16 bytes of the narrowest type and at most 32 of the widest; at most 16 of the widest where that one moves most of the bytes
// (measured: adamw 454 µs so, 478 µs at 32).
int preferred_vector(const Part& part, const Kernel& kernel, AtomId v) {
  int least = 16, most = 1;
  int64_t bytes[17] = {};
  for_each_access(part, kernel, [&](const Index& index, DType dtype) {
    if (!index.coefficient(v).is(1) || inside_atom(part.space, index, v)) return;
    least = std::min(least, bytes_of(dtype));
    most = std::max(most, bytes_of(dtype));
    bytes[bytes_of(dtype)] += bytes_of(dtype);
  });
  if (bytes[most] == 0) return 1;
  const bool widest_dominates = 2 * bytes[most] > std::accumulate(std::begin(bytes), std::end(bytes), int64_t{0});
  return std::max(1, std::min(16 / least, (widest_dominates ? 16 : 32) / most));
}

bool guards_uniform(const Part& part, AtomId v, int width) {
  bool ok = true;
  for_each_guard(part, [&](const Index& g) { ok = ok && (uniform_over(part.space, g, v, width) || only_by_data(part.space, g, v)); });
  return ok;
}

void apply_vector(Part& part, std::vector<AtomId>& dims, int width) {
  part.vector = width;
  if (width == 1) return;
  const AtomId x = dims.back();
  const Size extent = part.space.extent(x);
  const auto whole = extent.exact_quotient(width);
  // Without an exact quotient there is one dimension only, and the number of vectors is not needed beyond its bound.
  const Size vectors = whole ? *whole : extent.is_constant() ? Size((extent.value() + width - 1) / width) : extent;
  const std::string name = part.space[x].name;
  dims.back() = part.space.add_variable(name + "v", vectors);
  part.lane = part.space.add_variable("lane", width);
  const Index replacement = part.space.variable(dims.back()) * Size(width) + part.space.variable(part.lane);
  part.has_tail = !whole;
  for_each_index(part, [&](Index& index) { index = part.space.substitute(index, {{x, replacement}}); });
  for_each_guard(part, [&](Index& g) { g = without_lane(part.space, g, part.lane, width); });
  refresh_data(part);
}

std::pair<AtomId, AtomId> split_variable(Part& part, AtomId v, int inner_extent, const std::string& inner_name) {
  const AtomId outer = part.space.add_variable(part.space[v].name + "o", *part.space.extent(v).exact_quotient(inner_extent));
  const AtomId inner = part.space.add_variable(inner_name, inner_extent);
  const Index replacement = part.space.variable(outer) * Size(inner_extent) + part.space.variable(inner);
  for_each_index(part, [&](Index& index) { index = part.space.substitute(index, {{v, replacement}}); });
  refresh_data(part);
  return {outer, inner};
}

namespace {

// Iterations at the typical sizes, no extent counted as less than one.
int64_t typical_iterations(const Part& part) {
  const SymbolValues values = typical_values(part.space.symbols());
  int64_t count = 1;
  for (AtomId d : part.dims) count *= std::max<int64_t>(1, evaluate(part.space.extent(d), values));
  return count;
}

int64_t instructions(const Graph& graph, const Part& part) {
  int64_t sum = 0;
  for (const Node& n : part.nodes) sum += node_cost(graph, n);
  return sum;
}

constexpr int64_t kMaxUnrolledInstructions = 6000;
constexpr int kMaxInlineDepth = 3;
constexpr int kBlock = 128, kTileBlock = 256;  // threads
constexpr int64_t kThreads = 1024;             // that keep a multiprocessor busy
constexpr int64_t kItemBytes = 64;  // that a thread loads at once where it is ahead of more: compilers keep few registers for them

// That are loaded for an element along `x`.
int64_t loaded_bytes_along(const Part& part, AtomId x) {
  int64_t bytes = 0;
  for (const Node& n : part.nodes)
    if (n.kind == Node::kLoad && part.space.depends_on(n.index, x)) bytes += bytes_of(n.dtype);
  return bytes;
}

int choose_vector(const Graph& graph, const Target& target, const Part& part, const Kernel& kernel) {
  if (index_depth(part) > kMaxInlineDepth) return 1;  // such indices are computed once, by name
  const AtomId x = part.dims.back();
  if (part.list && (part.list->rest.valid() ? x == part.dims[0] : part.space.depends_on(part.nodes[part.list->sum].index, x)))
    return 1;  // (a thread follows one list)
  const Size extent = part.space.extent(x);
  int width = static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(1, preferred_vector(part, kernel, x) / part.copies))));
  const int64_t cost = instructions(graph, part);
  const int64_t elems = typical_iterations(part);
  const bool one_dimension = part.dims.size() == 1;
  while (width > 1 && (elems / width < target.multiprocessors * int64_t{256} || cost * width > kMaxUnrolledInstructions ||
                       !guards_uniform(part, x, width) || (!one_dimension && !extent.exact_quotient(width))))
    width /= 2;
  if (part.list && part.list->reads_far_ahead())
    while (width > 1 && part.list->ahead * width * loaded_bytes_along(part, x) > kItemBytes) width /= 2;
  return width;
}

// The variable over which a thread should repeat: the one that leaves most work unchanged.
AtomId choose_serial(const Graph& graph, const Part& part) {
  AtomId best;
  int64_t best_saved = instructions(graph, part) / 10;
  const std::vector<bool> constant = independent_nodes(part, {});
  for (AtomId v : part.dims) {
    if (v == part.dims.back()) continue;
    const std::vector<bool> independent = independent_nodes(part, v);
    int64_t saved = 0;
    for (size_t n = 0; n < part.nodes.size(); ++n)
      if (independent[n] && !constant[n]) saved += node_cost(graph, part.nodes[NodeId(n)]);
    if (saved > best_saved) best = v, best_saved = saved;
  }
  return best;
}

int choose_repeats(const Size& extent, int64_t room) {
  const int64_t divisor = extent.is_constant() ? extent.value() : 1;
  for (int n : {2, 3, 5, 7})  // two: more only lengthen the wait for the first result (measured: gelu_bias 131 µs at 2, 140 at 4)
    if (n <= room && divisor % n == 0) return n;
  return 1;
}

void apply_serial(Part& part, AtomId v, int repeats) {
  if (repeats == 1) return;
  part.unroll = repeats;
  if (part.space.extent(v).is(repeats)) {
    part.serial = v;
    std::erase(part.dims, v);
    return;
  }
  const auto [outer, inner] = split_variable(part, v, repeats, "u");
  part.serial = inner;
  *std::find(part.dims.begin(), part.dims.end(), v) = outer;
}

void schedule(const Graph& graph, const Target& target, Kernel& kernel, Part& part) {
  if (part.dims.empty()) {  // one element
    part.grid = {Size(1), kernel.block};
    return;
  }
  const Size innermost = part.space.extent(part.dims.back());
  if (part.list) part.unroll = part.list->ahead;
  apply_vector(part, part.dims, choose_vector(graph, target, part, kernel));
  const int64_t cost = instructions(graph, part) * part.vector;
  // Repeat only while every multiprocessor keeps its threads.
  const int64_t threads = index_depth(part) > kMaxInlineDepth ? 0 : evaluate(iterations(part), typical_values(part.space.symbols()));
  const int64_t spare = threads / (target.multiprocessors * kThreads);
  const int64_t room = std::min(spare, kMaxUnrolledInstructions / std::max<int64_t>(cost, 1));
  if (const AtomId v = part.list ? AtomId() : choose_serial(graph, part); v.valid() && room > 1)
    apply_serial(part, v, choose_repeats(part.space.extent(v), room));
  if (part.unroll == 1) {
    const int64_t wanted = 16 / std::max<int64_t>(1, loaded_bytes(part));
    while (part.unroll * 2 <= std::min<int64_t>({wanted, room, 4})) part.unroll *= 2;
  }
  part.grid.elems = innermost;
  part.grid = grid_of(part, kernel.block);
  if (part.list && part.list->reads_far_ahead())
    kernel.blocks_resident =
        static_cast<int>(std::clamp<int64_t>(part.grid.blocks() / target.multiprocessors + 1, 1, kThreads / kernel.block));
}

// Small kernels want their few threads on as many multiprocessors as there are.
int choose_block(const Target& target, const Kernel& kernel) {
  int64_t elems = 0;
  for (const Part& part : kernel.parts) elems += typical_iterations(part);
  int block = kBlock;
  while (block > 32 && elems / block < target.multiprocessors) block /= 2;
  return block;
}

}  // namespace

GridTerm grid_of(const Part& part, int block) {
  const int64_t per_block = int64_t{block} * (part.serial.valid() ? 1 : part.unroll);
  return part.has_tail ? GridTerm{part.grid.elems, per_block * part.vector} : GridTerm{iterations(part), per_block};
}

void add_fill(BufferId buffer, const Size& extent, const Literal& value, Part part, Kernel& kernel) {
  const AtomId i = part.space.add_variable("i0", extent);
  part.dims = {i};
  Node constant;
  constant.dtype = kernel.buffers[buffer].dtype;
  constant.constant = value;
  Store store;
  store.buffer = buffer;
  store.index = part.space.variable(i);
  store.value = part.nodes.push(std::move(constant));
  part.stores.push_back(std::move(store));
  kernel.parts.push_back(std::move(part));
}

void add_zeros(BufferId buffer, const Size& extent, Part part, Kernel& kernel) {
  add_fill(buffer, extent, Literal{int64_t{0}}, std::move(part), kernel);
}

bool wants_linear(const Part& part, const Kernel& kernel) {
  if (part.dims.size() < 2) return false;
  const AtomId x = part.dims.back();
  const int wanted = preferred_vector(part, kernel, x);
  const Size extent = part.space.extent(x);
  if (!extent.is_constant() || known_divisor(extent, part.space.symbols()) % wanted == 0) return false;
  // Worth it only when every store, and the greater part of what is read, is contiguous as a whole.
  return contiguous_as_a_whole(part);
}

void schedule_parts(const Graph& graph, const Target& target, Kernel& kernel) {
  const int block = choose_block(target, kernel);
  bool tiled = false;
  if (block == kBlock) {  // tiles are for tensors that fill the machine
    kernel.block = kTileBlock;
    for (Part& part : kernel.parts) tiled = (!part.list && index_depth(part) <= kMaxInlineDepth && make_tile(kernel, part)) || tiled;
  }
  kernel.block = tiled ? kTileBlock : block;
  for (Part& part : kernel.parts) {
    if (!part.tile) schedule(graph, target, kernel, part);
    name_shared_atoms(part);
    choose_index_width(part);
  }
}

}  // namespace fusec
