// What launches pay for lines that loads before them asked the L2 cache to evict last.
//
//     nvcc -O2 -std=c++17 -arch=sm_90 -o kept_lines tools/kept_lines.cu && ./kept_lines
//
// A chain of 48 launches, each of which reads what the one before has written (SIZE each) and writes as much; µs a launch, the median of
// 9 runs of one CUDA graph, with the usual loads and with kept ones. The chains:
//   alone     nothing else
//   residual  each also reads what was written three launches before
//   mixed     every other launch has the hint
//   weights   8 MiB of others' memory are read after every fourth
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kLaunches = 48, kBlock = 256, kRuns = 9;
constexpr size_t kMiB = 1 << 20, kPool = size_t{4} << 30, kFlush = 256 * kMiB, kWeights = 8 * kMiB;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <bool Kept>
__device__ uint4 load(const uint4* p) {
  uint4 v;
  if constexpr (Kept) {
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p), "l"(policy));
  } else {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  }
  return v;
}

template <bool Kept>
__global__ void __launch_bounds__(kBlock) step(const uint4* before, const uint4* residual, uint4* after, size_t n) {
  const size_t i = size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  uint4 v = load<Kept>(before + i);
  if (residual) {
    const uint4 r = load<Kept>(residual + i);
    v = {v.x + r.x, v.y ^ r.y, v.z + r.z, v.w + r.w};
  }
  after[i] = {v.x * 3, v.y, v.z, v.w};
}

__global__ void read(const uint4* p, size_t n, unsigned* sink) {
  unsigned sum = 0;
  for (size_t i = size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += size_t{gridDim.x} * kBlock) {
    const uint4 v = load<false>(p + i);
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 12345) *sink = sum;
}

enum Chain { kAlone, kResidual, kMixed, kWithWeights };

struct Memory {
  char *pool, *flush, *weights;
  unsigned* sink;
};

float microseconds(cudaStream_t stream, const Memory& m, size_t bytes, Chain chain, bool kept) {
  const size_t n = bytes / sizeof(uint4);
  const unsigned blocks = static_cast<unsigned>((n + kBlock - 1) / kBlock);
  auto at = [&](int k) { return reinterpret_cast<uint4*>(m.pool + bytes * static_cast<size_t>(k)); };
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int k = 0; k < kLaunches; ++k) {
    const uint4* residual = chain == kResidual ? at(k) : nullptr;
    if (kept && (chain != kMixed || k % 2 == 0)) step<true><<<blocks, kBlock, 0, stream>>>(at(k + 3), residual, at(k + 4), n);
    else step<false><<<blocks, kBlock, 0, stream>>>(at(k + 3), residual, at(k + 4), n);
    if (chain == kWithWeights && k % 4 == 3)
      read<<<528, kBlock, 0, stream>>>(reinterpret_cast<uint4*>(m.weights), kWeights / sizeof(uint4), m.sink);
  }
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&ready, graph, 0));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  for (int run = 0; run < kRuns; ++run) {
    check(cudaMemsetAsync(m.flush, 0, kFlush, stream));
    read<<<1024, kBlock, 0, stream>>>(reinterpret_cast<uint4*>(m.flush), kFlush / sizeof(uint4), m.sink);
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(ready, stream));
    check(cudaEventRecord(end, stream));
    check(cudaStreamSynchronize(stream));
    float ms;
    check(cudaEventElapsedTime(&ms, begin, end));
    times.push_back(1000 * ms / kLaunches);
  }
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(graph));
  std::sort(times.begin(), times.end());
  return times[kRuns / 2];
}

}  // namespace

int main() {
  cudaStream_t stream;
  check(cudaStreamCreate(&stream));
  Memory m;
  check(cudaMalloc(&m.pool, kPool));
  check(cudaMalloc(&m.flush, kFlush));
  check(cudaMalloc(&m.weights, kWeights));
  check(cudaMalloc(&m.sink, sizeof *m.sink));
  check(cudaMemset(m.pool, 1, kPool));
  const char* const names[] = {"alone", "residual", "mixed", "weights"};
  for (size_t mib : {2, 4, 8, 12, 16, 20, 24, 32})
    for (Chain chain : {kAlone, kResidual, kMixed, kWithWeights}) {
      const float usual = microseconds(stream, m, mib * kMiB, chain, false), kept = microseconds(stream, m, mib * kMiB, chain, true);
      std::printf("%2zu MiB  %-8s  usual %6.2f  kept %6.2f\n", mib, names[chain], usual, kept);
    }
}
