#include "lower/bulk_stores.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernel/visit.h"
#include "lower/block_work.h"
#include "lower/schedule.h"

namespace fusec {

namespace {

constexpr int kBlocks[] = {128, 96, 160, 192, 224, 256};      // threads, the best first
constexpr int kBulkBytes = 16;                                // what the copy engine moves is a multiple of these, and so aligned
constexpr int kWarpBytes = 512;                               // that a warp stores at once, if each thread stores 16 beside the others
constexpr int kTileRows = 64;                                 // that are taken for all outer dimensions before the next
constexpr int64_t kThreads = 1024;                            // that a multiprocessor's shared memory has to suffice for
constexpr int64_t kRegisters = 64 << 10, kOwnRegisters = 28;  // of a multiprocessor, and of a thread beside those that it loads
constexpr int64_t kMostBlocks = 10;

bool is_plain(const Part& part) {
  return !part.tile && !part.sweep && !part.line && !part.table && !part.replicas && !part.list && !part.has_tail && !part.dims.empty() &&
         part.lane.valid() && (part.unroll == 1 || part.serial.valid()) && iterations(part).is_constant();
}

// To some buffer, in each thread.
bool stores_twice(const Part& part) {
  std::set<BufferId> seen;
  return std::any_of(part.stores.begin(), part.stores.end(), [&](const Store& s) { return !seen.insert(s.buffer).second; });
}

// `extent` elements, `stride` apart.
struct Axis {
  int64_t stride = 0, extent = 0;
  Index place;  // of an element among them
};

// Elements that the axes cover from the first on without a gap.
int64_t covered(std::vector<Axis> axes) {
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  int64_t elems = 1;
  for (const Axis& a : axes) {
    if (a.stride != elems) break;
    elems *= a.extent;
  }
  return elems;
}

int64_t product(const std::vector<Axis>& axes) {
  int64_t elems = 1;
  for (const Axis& a : axes) elems *= a.extent;
  return elems;
}

// Of registers for all that a thread loads in its repetitions.
int64_t bytes_of_registers(const Part& part) {
  const std::vector<bool> once = part.serial.valid() ? independent_nodes(part, part.serial) : std::vector<bool>(part.nodes.size(), true);
  int64_t bytes = 0;
  for (size_t i = 0; i < part.nodes.size(); ++i) {
    const Node& n = part.nodes[NodeId(i)];
    if (n.kind != Node::kLoad) continue;
    bytes += std::max<int64_t>(4, bytes_of_load(part, n)) * (once[i] ? 1 : part.unroll);
  }
  return bytes;
}

class Gatherer {
 public:
  Gatherer(Part& part, const Kernel& kernel, int block) : part_(part), kernel_(kernel), block_(block) {}

  // Bytes of shared memory that gathering takes.
  int64_t gather() {
    if (!is_plain(part_) || iterations(part_).value() % block_ != 0) return 0;
    tile_rows();
    int64_t bytes = 0;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) bytes += gather(BufferId(b));
    return bytes;
  }

 private:
  // Where outer dimensions lie within the rows of what is loaded: some rows for all of those before the next, so that what is loaded is
  // read row by row.
  void tile_rows() {
    int64_t inner = 1;
    size_t d = part_.dims.size() - 1;
    for (; d > 0 && inner * part_.space.extent(part_.dims[d]).value() <= block_; --d) inner *= part_.space.extent(part_.dims[d]).value();
    const AtomId row = part_.dims[d];
    const int64_t rows = part_.space.extent(row).value();
    const auto end = part_.dims.begin() + static_cast<std::ptrdiff_t>(d);
    const auto outer = std::find_if(part_.dims.begin(), end, [&](AtomId v) { return lies_within(v, row); });
    if (outer == end || rows <= kTileRows || rows % kTileRows != 0 || kTileRows * inner % block_ != 0 || !part_.shared_atoms.empty())
      return;
    const auto [tile, within] = split_variable(part_, row, kTileRows, part_.space[row].name + "i");
    *end = within;
    part_.dims.insert(outer, tile);
  }

  // True if some load takes smaller steps along `v` than along `row`.
  bool lies_within(AtomId v, AtomId row) const {
    return std::any_of(part_.nodes.begin(), part_.nodes.end(), [&](const Node& n) {
      return n.kind == Node::kLoad && steps(n.index, v) > 0 && steps(n.index, v) < steps(n.index, row);
    });
  }

  static int64_t steps(const Index& index, AtomId v) {
    const Size stride = index.coefficient(v);
    return stride.is_constant() ? stride.value() : 0;
  }

  int64_t gather(BufferId id) {
    const Buffer& buffer = kernel_.buffers[id];
    if (!buffer.written || buffer.read || buffer.may_overlap || buffer.cache == CacheHint::kOnce) return 0;
    std::vector<Store*> stores;
    for (Store& s : part_.stores)
      if (s.buffer == id) stores.push_back(&s);
    if (stores.size() < 2 || !are_alike(stores)) return 0;
    std::sort(stores.begin(), stores.end(),
              [](const Store* a, const Store* b) { return a->index.constant.value() < b->index.constant.value(); });
    const Index& first = stores[0]->index;
    std::optional<Stretch> stretch = stretch_of_block(first);
    if (!stretch || covered(stretch->axes) * bytes_of(buffer.dtype) >= kWarpBytes || !add_stores(stores, stretch->axes)) return 0;
    const int64_t elems = product(stretch->axes), bytes = elems * bytes_of(buffer.dtype), aligned = kBulkBytes / bytes_of(buffer.dtype);
    if (covered(stretch->axes) != elems || bytes % kBulkBytes != 0 || part_.space.alignment(stretch->begin, {}, aligned) < aligned)
      return 0;
    BulkStore bulk{id, stretch->begin, static_cast<int>(elems)};
    const std::vector<bool> free = independent_nodes(part_, part_.serial);  // (without a serial variable there is one repetition)
    if (std::any_of(stores.begin(), stores.end(), [&](const Store* s) { return !free[s->value.index]; })) bulk.stretches = part_.unroll;
    for (Store* s : stores) {
      Index place = Index(s->index.constant - first.constant);
      for (const Axis& a : stretch->axes) place = place + a.place * Size(a.stride);
      s->gathered = place;
    }
    part_.bulk_stores.push_back(bulk);
    return bytes * bulk.stretches;
  }

  // Whole vectors, unconditional, whose places are linear in the part's variables and differ by constants alone.
  bool are_alike(const std::vector<Store*>& stores) const {
    const Index& first = stores[0]->index;
    return std::all_of(stores.begin(), stores.end(), [&](const Store* s) {
      if (s->update || s->claim || s->last || !s->guard.empty() || s->index.terms != first.terms || !s->index.constant.is_constant())
        return false;
      return s->index.coefficient(part_.lane).is(1) && std::all_of(s->index.terms.begin(), s->index.terms.end(), [&](const auto& t) {
               return part_.space[t.first].kind == Atom::kVariable && t.second.is_constant();
             });
    });
  }

  // What a store writes in a block: the axes along which lanes and threads run, and where the first of them stores; nothing where a block
  // ends amid a dimension.
  struct Stretch {
    std::vector<Axis> axes;
    Index begin;
  };

  std::optional<Stretch> stretch_of_block(const Index& index) {
    Stretch s{{{1, part_.vector, {}}}, index - part_.space.variable(part_.lane)};  // (what a thread stores begins at its first lane)
    int64_t threads = 1;
    for (size_t d = part_.dims.size(); d-- > 0 && threads < block_;) {
      const Index variable = part_.space.variable(part_.dims[d]);
      const int64_t extent = part_.space.extent(part_.dims[d]).value(), here = std::min(extent, block_ / threads);
      if (block_ % threads != 0 || extent % here != 0) return std::nullopt;
      const Size stride = index.coefficient(part_.dims[d]);
      s.begin = s.begin - variable * stride;
      s.axes.push_back({stride.value(), here, variable});
      if (here < extent) {  // the inner part of the dimension
        s.begin = s.begin + part_.space.quotient(variable, Size(here)) * (stride * Size(here));
        s.axes.back().place = part_.space.remainder(variable, Size(here));
      }
      threads *= here;
    }
    if (threads != block_) return std::nullopt;
    return s;
  }

  // The stores of a thread, where they are equally far apart.
  static bool add_stores(const std::vector<Store*>& stores, std::vector<Axis>& axes) {
    auto at = [&](size_t k) { return stores[k]->index.constant.value(); };
    const int64_t apart = at(1) - at(0);
    for (size_t k = 1; k < stores.size(); ++k)
      if (at(k) - at(k - 1) != apart) return false;
    axes.push_back({apart, static_cast<int64_t>(stores.size()), {}});
    return true;
  }

  Part& part_;
  const Kernel& kernel_;
  int block_;
};

// Blocks on a multiprocessor for which registers suffice that hold all loads of a thread: left alone, compilers put loads off to need fewer
// (measured: rope_qwen2 38.1 µs, 35.8 so; rope_llama3_8b 121, 113).
int blocks_with_all_loads(const Kernel& kernel, int block) {
  int64_t loaded = 0;
  for (const Part& part : kernel.parts) loaded = std::max(loaded, bytes_of_registers(part));
  return static_cast<int>(
      std::clamp<int64_t>(kRegisters / (block * (kOwnRegisters + loaded / 4)), 1, std::min(kMostBlocks, kMostBlocks * kBlocks[0] / block)));
}

}  // namespace

void gather_bulk_stores(const Target& target, Kernel& kernel) {
  if (arch_number(target) < 90 || kernel.block != kBlocks[0]) return;
  const bool any_block = std::all_of(kernel.parts.begin(), kernel.parts.end(), is_plain);
  for (int block : kBlocks) {
    if (block != kernel.block && !any_block) return;
    std::vector<std::pair<size_t, Part>> gathered;
    int64_t bytes = 0;
    for (size_t p = 0; p < kernel.parts.size(); ++p) {
      if (!stores_twice(kernel.parts[p])) continue;
      Part part = kernel.parts[p];
      const int64_t own = Gatherer(part, kernel, block).gather();
      bytes += own;
      if (own > 0) gathered.emplace_back(p, std::move(part));
    }
    if (bytes == 0 || bytes > kStaticSharedBytes || bytes * kThreads > target.shared_bytes_per_block * block) continue;
    for (auto& [p, part] : gathered) kernel.parts[p] = std::move(part);
    if (kernel.blocks_resident == 0) kernel.blocks_resident = blocks_with_all_loads(kernel, block);
    if (block == kernel.block) return;
    kernel.block = block;
    for (Part& part : kernel.parts) part.grid = grid_of(part, block);
    return;
  }
}

}  // namespace fusec
