#!/usr/bin/env python3
"""The emulator itself: built-in functions against known results, and faults that it must report. Usage: builtins_test.py TOOLS

A case is a kernel body over `int *out`, its launch, and the values expected in `out`, or words of the expected report.
"""
import pathlib
import sys
import tempfile

import data
import emulate

FULL = "0xffffffffu"
LANES = range(32)


class Case:
    def __init__(self, body, expected, blocks=1, threads=32, shared=0, outside="", launch=None, attributes=""):
        self.body, self.expected, self.blocks, self.threads, self.shared, self.outside, self.attributes = body, expected, blocks, threads, shared, outside, attributes
        self.count = len(expected) if isinstance(expected, list) else launch or 32


# One block adds up what all blocks wrote: the last that comes.
LAST_BLOCK = """
  __shared__ bool last;
  __shared__ int mine;
  if (threadIdx.x == 0) mine = 0;
  __syncthreads();
  atomicAdd(&mine, (int)threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) { out[1 + blockIdx.x] = mine; FENCE last = TICKET; }
  __syncthreads();
  if (last && threadIdx.x == 0) { int sum = 0; for (int i = 0; i < 4; ++i) sum += out[1 + i]; out[0] = sum; }
"""
TICKET = "__device__ unsigned ticket;"
ATOMIC = "atomicInc(&ticket, 3) == 3"

CLUSTER = """
  __shared__ unsigned mine;
  mine = 10 * blockIdx.x;
  asm volatile("barrier.cluster.arrive.release.aligned;\\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  unsigned from, got;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(from) : "r"((unsigned)__cvta_generic_to_shared(&mine)), "r"(1 - (int)(blockIdx.x % 2)));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(from));
  out[blockIdx.x] = got;
"""
# Each block waits for the one that started before it; the third reads what the first has written.
CHAIN = """
  const int mine = (int)atomicInc(&ticket, 2);
  int done = 1;
  if (mine > 0) asm volatile("LOAD %0, [%1];" : "=r"(done) : "l"(&flags[mine - 1]) : "memory");
  out[mine] = done > 0 ? 5 + mine : 0;
  if (mine == 2) out[3] = out[0];
  FENCE
  atomicExch(&flags[mine], 1);
"""
FLAGS = "__device__ unsigned ticket;\n__device__ int flags[3];"
LAST_BARRIER = """asm volatile("barrier.cluster.arrive.release.aligned;\\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");"""

CASES = {
    "stores of one, two and four words": Case(
        """asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" : : "l"(out), "r"(1u), "r"(2u), "r"(3u), "r"(4u) : "memory");
           asm volatile("st.global.v2.b32 [%0], {%1, %2};" : : "l"(out + 4), "r"(5u), "r"(6u) : "memory");
           asm volatile("st.global.b32 [%0], %1;" : : "l"(out + 6), "r"(7u) : "memory");""",
        [1, 2, 3, 4, 5, 6, 7], threads=1),
    "a store of four words between two of them": Case(
        """asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" : : "l"(out + 1), "r"(1u), "r"(2u), "r"(3u), "r"(4u) : "memory");""", "misaligned", threads=1, launch=8),
    "shfl": Case(f"out[threadIdx.x] = __shfl_sync({FULL}, (int)threadIdx.x * 3, 5, 8);", [(lane // 8 * 8 + 5) * 3 for lane in LANES]),
    "shfl_up": Case(f"out[threadIdx.x] = __shfl_up_sync({FULL}, (int)threadIdx.x, 3, 16);", [lane - 3 if lane % 16 >= 3 else lane for lane in LANES]),
    "shfl_down": Case(f"out[threadIdx.x] = __shfl_down_sync({FULL}, (int)threadIdx.x, 3, 16);", [lane + 3 if lane % 16 < 13 else lane for lane in LANES]),
    "shfl_xor of doubles": Case(f"out[threadIdx.x] = (int)(2 * __shfl_xor_sync({FULL}, threadIdx.x + 0.5, 9));", [2 * (lane ^ 9) + 1 for lane in LANES]),
    "shfl among some": Case("if (threadIdx.x % 2) out[threadIdx.x] = __shfl_sync(0xaaaaaaaau, (int)threadIdx.x, 3); else out[threadIdx.x] = -1;", [3 if lane % 2 else -1 for lane in LANES]),
    "votes": Case(f"out[threadIdx.x] = __ballot_sync({FULL}, threadIdx.x < 3) + 8 * __any_sync({FULL}, threadIdx.x == 9) + 16 * __all_sync({FULL}, threadIdx.x < 31);", [15] * 32),
    "match_any": Case(f"out[threadIdx.x] = (int)__match_any_sync({FULL}, (long long)threadIdx.x % 3);", [v - 2**32 if v >= 2**31 else v for v in (sum(1 << o for o in LANES if o % 3 == lane % 3) for lane in LANES)]),
    "activemask": Case("if (threadIdx.x < 4) out[threadIdx.x] = (int)__activemask(); else out[threadIdx.x] = 0;", [15] * 4 + [0] * 28),
    "reduce": Case(f"out[threadIdx.x] = __reduce_max_sync({FULL}, (int)threadIdx.x - 40);", [-9] * 32),
    "syncthreads_count": Case("out[threadIdx.x] = __syncthreads_count(threadIdx.x < 40);", [40] * 96, threads=96),
    "integer atomics": Case(
        "if (threadIdx.x == 0) { out[0] = 0; out[1] = 100; out[2] = -100; out[3] = 0; out[4] = 0xff; }\n__syncthreads(); const int t = (int)threadIdx.x;\natomicAdd(out, t); atomicMin(out + 1, t); atomicMax(out + 2, t); atomicOr(out + 3, 1 << t % 4); atomicAnd(out + 4, ~(1 << t % 3));",
        [2016, 0, 63, 15, 0xF8], threads=64),
    "atomic inc, exchange, compare and swap": Case(
        "if (threadIdx.x == 0) { out[0] = 0; out[1] = 0; out[2] = 7; }\n__syncthreads();\natomicInc((unsigned *)out, 4); if (threadIdx.x == 3) atomicExch(out + 1, 9); atomicCAS(out + 2, 7, 5);",
        [4, 9, 5], threads=64),
    "float atomics": Case(
        "__shared__ float f; __shared__ double d; __shared__ __half h; __shared__ __nv_bfloat162 b; if (threadIdx.x == 0) { f = 0; d = 0; h = __float2half(0); b = __floats2bfloat162_rn(0, 1); }\n__syncthreads();\n"
        "atomicAdd(&f, 0.5f); atomicAdd(&d, 0.25); atomicAdd(&h, __float2half(2)); atomicAdd(&b, __floats2bfloat162_rn(1, 2));\n__syncthreads();\n"
        "if (threadIdx.x == 0) { out[0] = f; out[1] = d; out[2] = __half2float(h); out[3] = __bfloat162float(b.x); out[4] = __bfloat162float(b.y); }",
        [16, 8, 64, 32, 65]),
    "dynamic shared memory": Case("extern __shared__ int words[];\nwords[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = words[31 - threadIdx.x];", [31 - lane for lane in LANES], shared=128),
    "the last block": Case(LAST_BLOCK.replace("FENCE", "__threadfence();").replace("TICKET", ATOMIC), [4 * 496] + [496] * 4, blocks=4, outside=TICKET),
    "a chain of blocks": Case(CHAIN.replace("LOAD", "ld.acquire.gpu.s32").replace("FENCE", "__threadfence();"), [5, 6, 7, 5], blocks=3, threads=1, outside=FLAGS),
    "relaxed words": Case("""if (threadIdx.x == 0) asm volatile("st.relaxed.gpu.s32 [%0], %1;" : : "l"(out + blockIdx.x), "r"(7) : "memory");
int got; asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(got) : "l"(out) : "memory");""", [7, 7], blocks=2),
    "a cluster": Case(CLUSTER + LAST_BARRIER, [10, 0, 30, 20], blocks=4, threads=1, attributes="__cluster_dims__(2, 1, 1) "),
    "intrinsics": Case(
        "out[0] = __popc(0xf0f0u); out[1] = __clz(1); out[2] = __ffs(8); out[3] = (int)__umulhi(1u << 31, 6u); out[4] = (int)__brev(1u); out[5] = __float2int_rz(-2.75f); out[6] = __float_as_int(__uint_as_float(5u)); out[7] = (int)__byte_perm(0x33221100u, 0x77665544u, 0x7531u);",
        [8, 31, 4, 3, -(2**31), -2, 5, 0x77553311], threads=1),
    # --- faults
    "no fence before the ticket": Case(LAST_BLOCK.replace("FENCE", "").replace("TICKET", ATOMIC), "data race on output out", blocks=4, outside=TICKET, launch=5),
    "a plain ticket": Case(LAST_BLOCK.replace("FENCE", "__threadfence();").replace("TICKET", "ticket++ == 3"), "data race on __device__ variables", blocks=4, outside=TICKET, launch=5),
    "a chain without order": Case(CHAIN.replace("LOAD", "ld.relaxed.gpu.s32").replace("FENCE", "__threadfence();"), "data race on output out", blocks=3, threads=1, outside=FLAGS, launch=4),
    "a chain without a fence": Case(CHAIN.replace("LOAD", "ld.acquire.gpu.s32").replace("FENCE", ""), "data race on output out", blocks=3, threads=1, outside=FLAGS, launch=4),
    "an update that is not atomic": Case("out[0] += 1;", "data race on output out", launch=1),
    "an atomic beside a plain read": Case("atomicAdd(out, 1); out[1 + threadIdx.x] = out[0];", "data race on output out", launch=33),
    "two blocks that write one element": Case("out[0] = 1;", "data race on output out", blocks=2, threads=1, launch=1),
    "no syncwarp": Case("__shared__ int s[32]; s[threadIdx.x] = 1; out[threadIdx.x] = s[threadIdx.x ^ 1];", "data race on shared memory"),
    "a syncwarp": Case("__shared__ int s[32]; s[threadIdx.x] = threadIdx.x; __syncwarp(); out[threadIdx.x] = s[threadIdx.x ^ 1];", [lane ^ 1 for lane in LANES]),
    "a syncwarp across warps": Case("__shared__ int s[64]; s[threadIdx.x] = 1; __syncwarp(); out[threadIdx.x] = s[threadIdx.x ^ 32];", "data race on shared memory", threads=64, launch=64),
    "a write after another's read": Case("__shared__ int s; if (threadIdx.x == 0) s = 1; __syncthreads(); out[threadIdx.x] = s; if (threadIdx.x == 0) s = 2;", "data race on shared memory"),
    "a write after a warp's reads": Case("__shared__ int s; if (threadIdx.x == 0) s = 1; __syncthreads(); out[threadIdx.x] = s; __syncwarp(); if (threadIdx.x == 3) s = 2;", [1] * 32),
    "a write after two warps' reads": Case("__shared__ int s; if (threadIdx.x == 0) s = 1; __syncthreads(); out[threadIdx.x] = s; __syncwarp(); if (threadIdx.x == 3) s = 2;", "data race on shared memory", threads=64, launch=64),
    "shared memory that nothing wrote": Case("__shared__ int s[32]; out[threadIdx.x] = s[threadIdx.x] & 1;", "differ"),
    "past the end of shared memory": Case("__shared__ int s[8]; int *p = s; p[threadIdx.x] = 1; out[threadIdx.x] = 0;", "AddressSanitizer"),
    "past the end of dynamic shared memory": Case("extern __shared__ int words[];\nwords[threadIdx.x] = 1; out[threadIdx.x] = 0;", "AddressSanitizer", shared=64),
    "before the start": Case("out[(int)threadIdx.x - 1] = 0;", "AddressSanitizer"),
    "a mask without its own lane": Case("out[threadIdx.x] = __shfl_sync(1u, 1, 0);", "lacks its own lane"),
    "a shuffle from a lane that takes no part": Case("if (threadIdx.x < 16) __shfl_sync(0xffffu, 1, 20); out[threadIdx.x] = 0;", "takes no part"),
    "a barrier for a part of the warp": Case(f"if (threadIdx.x < 16) __syncwarp({FULL}); else __syncthreads(); out[threadIdx.x] = 0;", "deadlock"),
    "a grid barrier in a plain launch": Case("cooperative_groups::this_grid().sync(); out[blockIdx.x] = 0;", "do not run together", blocks=2, threads=1, launch=2),
    "a cluster's block that ends too early": Case(CLUSTER, "block that has ended", blocks=4, threads=1, attributes="__cluster_dims__(2, 1, 1) ", launch=4),
    "an overflow": Case("int n = 2147483647; n += (int)blockDim.x; out[threadIdx.x] = n;", "signed integer overflow"),
    "a shift too far": Case("out[threadIdx.x] = 1 << (32 + threadIdx.x);", "shift exponent"),
}


class Program:
    """What emulate.execute needs of a program."""

    def __init__(self, name, count):
        self.name, self.deterministic = name, False
        self.inputs, self.sizes, self.values = [], [], {}
        self.outputs = [{"name": "out", "dtype": "i32", "shape": [count], "strides": [1]}]
        self.manifest = {"workspace": {"buffers": []}, "launches": [], "graph": {"ops": []}}

    job, stored_names = emulate.Program.job, emulate.Program.stored_names


def text_of(name, case):
    return f"""{case.outside}
extern "C" __global__ void {case.attributes}__launch_bounds__({case.threads}) {name}(int *out) {{
{case.body}
}}
extern "C" size_t {name}_workspace_bytes(const long long *) {{ return 0; }}
extern "C" int {name}_launch(void *const *inputs, void *const *outputs, void *workspace, size_t workspace_bytes, cudaStream_t stream) {{
  {name}<<<{case.blocks}, {case.threads}, {case.shared}, stream>>>((int *)outputs[0]);
  return cudaGetLastError();
}}
"""


def check(tools, library, work, name, case):
    expected = case.expected if isinstance(case.expected, list) else [0] * case.count
    reference = work / "expected.safetensors"
    data.write_safetensors(reference, [("out", "i32", [len(expected)], b"".join((v & 0xFFFFFFFF).to_bytes(4, "little") for v in expected))])
    data.write_safetensors(work / "none.safetensors", [])
    try:
        emulate.execute(tools, Program(name, len(expected)), library, work, work / "none.safetensors", reference, emulate.MORE_RUNS)
    except emulate.Failure as failure:
        if isinstance(case.expected, list):
            raise
        if case.expected not in str(failure):
            raise emulate.Failure(f"reported, but not as '{case.expected}':\n{failure}")
        return
    if not isinstance(case.expected, list):
        raise emulate.Failure("nothing was reported")


def main():
    tools = emulate.Tools(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(tempfile.gettempdir()) / "fusec-emulator")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        sources = []
        for i, case in enumerate(CASES.values()):
            sources.append(work / f"case_{i}.cu")
            sources[-1].write_text(text_of(f"case_{i}", case))
        library = work / "cases.so"
        tools.compile(sources, library)
        for i, (name, case) in enumerate(CASES.items()):
            try:
                check(tools, library, work, f"case_{i}", case)
                print(f"ok      {name}", flush=True)
            except emulate.Failure as failure:
                failed += 1
                print(f"FAILED  {name}: {failure}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
