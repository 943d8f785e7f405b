#include "segment/target.h"

#include <cstdlib>

namespace fusec {

namespace {

// Clock × multiprocessors × lanes gives the instruction rate; the copy rates are what a plain copy kernel reaches, not the data sheet.
// The numbers of the small ones, 72 and 87, are scaled from their data sheets, not measured.
constexpr struct {
  int number, multiprocessors, threads;
  double bandwidth_gbps, instructions_per_us, atomics_per_us, launch_us, next_launch_us;
  int64_t l2_bytes, shared_bytes_per_block;
} kTargets[] = {
    {70, 80, 2048, 780, 7.8e6, 3.0e4, 3.0, 0.8, 6 << 20, 96 << 10},
    {72, 8, 2048, 110, 7.2e5, 6.0e3, 6.0, 1.5, 512 << 10, 96 << 10},
    {75, 40, 1024, 260, 4.1e6, 2.0e4, 3.0, 0.8, 4 << 20, 64 << 10},
    {80, 108, 2048, 1400, 9.7e6, 6.0e4, 3.0, 0.7, 40 << 20, 163 << 10},
    {86, 84, 1536, 820, 1.8e7, 4.0e4, 3.0, 0.7, 6 << 20, 99 << 10},
    {87, 16, 1536, 160, 2.7e6, 1.0e4, 5.0, 1.2, 4 << 20, 163 << 10},
    {89, 128, 1536, 900, 4.1e7, 8.0e4, 3.0, 0.7, 72 << 20, 99 << 10},
    {90, 132, 2048, 4231, 3.0e7, 1.0e5, 3.0, 0.6, 50 << 20, 227 << 10},
    {100, 148, 2048, 6800, 3.5e7, 1.2e5, 3.0, 0.6, 126 << 20, 227 << 10},
    {120, 170, 1536, 1550, 5.2e7, 1.0e5, 3.0, 0.6, 96 << 20, 99 << 10},
};

}  // namespace

int arch_number(const Target& target) { return std::atoi(target.arch.c_str() + 3); }

bool reads_columns_again(const Target& target, int64_t rows, int64_t elems) {
  constexpr int64_t kMostElems = int64_t{1} << 22;
  return rows <= 2 * target.multiprocessors && elems <= kMostElems;
}

Target target_for(const std::string& arch) {
  const size_t digits = arch.find_first_of("0123456789");
  const int number = digits == std::string::npos ? 80 : std::atoi(arch.c_str() + digits);
  // The nearest known one at or below; the first for anything older.
  const auto* row = &kTargets[0];
  for (const auto& known : kTargets)
    if (known.number <= number) row = &known;
  Target t;
  t.arch = "sm_" + (digits == std::string::npos ? std::string("80") : arch.substr(digits));
  t.multiprocessors = row->multiprocessors;
  t.threads_per_multiprocessor = row->threads;
  t.bandwidth_gbps = row->bandwidth_gbps;
  t.instructions_per_us = row->instructions_per_us;
  t.atomics_per_us = row->atomics_per_us;
  t.launch_us = row->launch_us;
  t.next_launch_us = row->next_launch_us;
  t.l2_bytes = row->l2_bytes;
  t.shared_bytes_per_block = row->shared_bytes_per_block;
  return t;
}

}  // namespace fusec
