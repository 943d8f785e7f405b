#!/usr/bin/env python3
"""Each kind of fault is planted into emitted text, and the emulator must say so. Usage: planted_test.py FUSEC [TOOLS [NAME…]]"""
import json
import pathlib
import re
import sys
import tempfile

import emulate



def graph(inputs, ops, outputs, **more):
    return {"version": 1, "name": "planted", "inputs": inputs, "ops": ops, "outputs": outputs, **more}


def tensor(name, dtype, shape, **more):
    return {"name": name, "dtype": dtype, "shape": shape, **more}


def op(kind, operands, out, **more):
    return {"op": kind, "in": operands, "out": out, **more}


SUBTRACT = graph([tensor("a", "f32", [1003]), tensor("b", "f32", [1003])], [op("sub", ["a", "b"], "d"), op("cast", ["d"], "y", dtype="bf16")], ["y"])
# A wide value between two casts, which a cut would have to store as it is.
GROUP = graph([tensor("a", "bf16", [1003])], [op("cast", ["a"], "u", dtype="f32"), op("mul", ["u", 1.25], "m"), op("sub", ["m", "u"], "d"), op("cast", ["d"], "y", dtype="bf16")], ["y"])
# Long enough for vectors on a small GPU, with a rest.
VECTORS = graph([tensor("a", "f32", [40003])], [op("neg", ["a"], "y")], ["y"])
ROWS = graph([tensor("a", "f32", [130, 260])], [op("neg", ["a"], "y")], ["y"])
TRANSPOSE = graph([tensor("a", "f32", [128, 192]), tensor("b", "f32", [192, 128])], [op("permute", ["b"], "t", perm=[1, 0]), op("add", ["a", "t"], "y")], ["y"])
# Five rows, 2^30 + 3 elements apart.
FAR = graph([tensor("a", "u8", [5, 3], strides=[2**30 + 3, 1])], [op("neg", ["a"], "y")], ["y"])
OPEN = graph([tensor("a", "f32", ["N", 33])], [op("neg", ["a"], "y")], ["y"], dims={"N": {"size": 64, "dynamic": True}})
# Few long rows: a block of several warps for each, or several blocks.
ROW_SUMS = graph([tensor("a", "i32", [3, 3000])], [op("sum", ["a"], "s", dims=[1]), op("add", ["s", 1], "y")], ["y"])
# Rows that start at any element: vectors aligned to memory, and weights that are shifted to meet them.
ODD_ROWS = graph(
    [tensor("x", "bf16", [5, 1003]), tensor("w", "bf16", [1003])],
    [op("cast", ["x"], "u", dtype="f32"), op("max", ["u"], "m", dims=[1], keepdim=True), op("sub", ["u", "m"], "d"), op("cast", ["w"], "v", dtype="f32"), op("mul", ["d", "v"], "p"),
     op("cast", ["p"], "y", dtype="bf16")], ["y"],
)
WHOLE_SUM = graph([tensor("a", "i32", [60000])], [op("sum", ["a"], "y")], ["y"])

COUNTS = graph(
    [tensor("x", "i32", [9000]), tensor("i", "i64", [20000], init={"randint": [0, 50]}), tensor("s", "i32", [20000])],
    [op("scatter", ["x", "i", "s"], "y", dim=0, accumulate="add")], ["y"],
)

WARP = {**COUNTS, "meta": {"flags": ["--scatter", "warp"]}}
REPLICAS = {**COUNTS, "meta": {"flags": ["--scatter", "replicas"]}}

# Three phases of one block: places are cleared, counted, and summed up.
PHASES = graph(
    [tensor("i", "i64", [200], init={"randint": [0, 40]})],
    [op("full", [], "none", shape=[40], dtype="i64", value=0), op("scatter", ["none", "i", 1], "n", dim=0, accumulate="add"), op("cumsum", ["n"], "y")], ["n", "y"],
)
ORDER = graph([tensor("x", "i32", [300], init={"randint": [0, 40]})], [op("argsort", ["x"], "o"), op("add", ["o", 1], "y")], ["y"])
# Keys that differ in three digits, in tiles that look at each other's counts; and a scan of chunks.
LONG_SORT = graph([tensor("x", "i32", [9000], init={"randint": [0, 100000]})], [op("argsort", ["x"], "y")], ["y"])
LONG_SCAN = graph([tensor("x", "f64", [20000], init="arange")], [op("cumsum", ["x"], "y")], ["y"])
LOOK_BACK = graph([tensor("x", "i32", [20000])], [op("cumsum", ["x"], "y")], ["y"])
LOOK_BACK_FAR = graph([tensor("x", "i64", [150000])], [op("cumsum", ["x"], "y")], ["y"])
# What is made of results where they are stored.
MADE_OF_RESULTS = graph([tensor("x", "i32", [5, 300]), tensor("b", "i64", [5, 300])], [op("sort", ["x"], ["v", "o"], dim=1), op("add", ["o", "b"], "y")], ["v", "y"])

# What is planted: graph, pattern in the emitted text, replacement, words of which one has to appear.
FAULTS = {
    "a dropped tail guard": (SUBTRACT, r"if \(!\(t < 1003\)\) return;", "", ["AddressSanitizer"]),
    "a tail guard one too far": (SUBTRACT, r"t < 1003", "t < 1004", ["AddressSanitizer"]),
    "an unwritten output": (SUBTRACT, r"t < 1003", "t < 1002", ["nothing wrote 1 of 1003"]),
    "a missing barrier": (TRANSPOSE, r"__syncthreads\(\);", "", ["data race on shared memory"]),
    "a barrier that half of the threads reach": (TRANSPOSE, r"__syncthreads\(\);", "if (threadIdx.x < 128) __syncthreads();", ["data race on shared memory", "deadlock"]),
    "two barriers that meet": (TRANSPOSE, r"__syncthreads\(\);", "if (threadIdx.x < 128)\n__syncthreads();\nelse\n__syncthreads();", ["two different barriers"]),
    "two threads that write one element": (SUBTRACT, r"const unsigned i0 = t;", "const unsigned i0 = t / 2;", ["data race on output y"]),
    "an off-by-one vector bound": (VECTORS, r"\? \(int\)\((\d+) - t \* 4\) :", r"? (int)(\1 - t * 4) + 1 :", ["AddressSanitizer"]),
    "a whole vector where the last is shorter": (VECTORS, r"const bool whole = .*;", "const bool whole = true;", ["AddressSanitizer"]),
    "a misaligned vector": (ROWS, r"(fs_load_kept<4, 4>\(a_in \+ )", r"\g<1>1 + ", ["misaligned"]),
    "a wrong rounding": (SUBTRACT, r"__float2bfloat16_rn\((\w+)\)", r"__ushort_as_bfloat16(__float_as_uint(\1) >> 16)", ["elements differ"]),
    "a cut inside a cast group, at a value stored narrow": (GROUP, r"const float m = (.*);", r"const float m = __bfloat162float(__float2bfloat16_rn(\1));", ["elements differ"]),
    "swapped operands": (SUBTRACT, r"a_x - b_x", "b_x - a_x", ["elements differ"]),
    "an index in 32 bits": (FAR, r"a_in\[i0 \* (\d+)LL \+ i1\]", r"a_in[(unsigned)i0 * \1u + (unsigned)i1]", ["elements differ"]),
    "a missing barrier between warps": (ROW_SUMS, r"__syncthreads\(\);", "", ["data race on shared memory"]),
    "a row that starts one element later": (ODD_ROWS, r"const unsigned shift = (.*);", r"const unsigned shift = (\1 + 1) % 8;", ["differ", "data race on output y", "AddressSanitizer"]),
    "weights shifted one element too far": (ODD_ROWS, r"at, shift, 1003", "at, shift + 1, 1003", ["misaligned", "differ"]),
    "weights before their first element": (ODD_ROWS, r"1003, head, tail", "1003, false, tail", ["AddressSanitizer"]),
    "weights after their last element": (ODD_ROWS, r"1003, head, tail", "1003, head, false", ["AddressSanitizer"]),
    "a lane before its row": (ODD_ROWS, r"head \? -at :", "head ? -at - 1 :", ["differ", "data race on output y"]),
    "a lane after its row": (ODD_ROWS, r"1003 - at :", "1004 - at :", ["differ", "data race on output y", "AddressSanitizer"]),
    "a missing fence before the ticket": (WHOLE_SUM, r"__threadfence\(\);", "", ["data race on"]),
    "a ticket by plain addition": (WHOLE_SUM, r"atomicInc\((\w+), (\w+ - 1)\)", r"((*\1)++ % (\2 + 1))", ["data race on __device__ variables"]),
    "partial results that nothing wrote": (WHOLE_SUM, r"(\(\(\w+<[\w ]+> \*\)partial_work\)\[.*\] = \w+;)", r"if (blockIdx.x > 0) \1", ["elements differ"]),
    "a neighbour's element in a sum": (WHOLE_SUM, r"\.add\((.*)\);", r".add(2 * \1);", ["elements differ"]),
    "an atomic replaced by a plain addition": (COUNTS, r"else atomicAdd\(p, v\);", "else *p += v;", ["data race on output y"]),
    "a tile that waits for none": (LONG_SORT, r"\bfs_await_tiles\(done.*?\);", "", ["data race on"]),
    "a tile that is done before its keys are": (LONG_SORT, r"__threadfence\(\);", "", ["data race on"]),
    "a tile that the ones after it miss": (LONG_SORT, r"int last = tile - 1;", "int last = tile - 2;", ["differ", "data race on"]),
    "an unstable order in a warp": (LONG_SORT, r"__popc\(same & \(\(1u << lane\) - 1\)\)", "__popc(same >> lane >> 1)", ["differ"]),
    "counters that nothing cleared": (LONG_SORT, r"state_work\[\w+\] = 0;", "", ["differ", "AddressSanitizer"]),
    "a chunk that comes twice": (LONG_SCAN, r"i < (\w*chunk\w*);", r"i <= \1;", ["differ"]),
    "a chunk that does not wait": (LOOK_BACK, r"int last = chunk - 1; last >= 0;", "int last = chunk - 1; last >= chunk;", ["differ"]),
    "a chunk that says too little as a whole": (LOOK_BACK, r"own\.merge\(before\);", "", ["differ"]),
    "chunks before one that has told the whole": (LOOK_BACK, r"threadIdx\.x < __ffs\(told\)", "threadIdx.x <= __ffs(told)", ["differ"]),
    "a chunk that forgets the upper half": (LOOK_BACK_FAR, r"high << 32 \| ", "", ["differ"]),
    "a result at another position": (MADE_OF_RESULTS, r"b_in\[", "b_in[i0 > 0 ? 0 : ", ["differ"]),
    "a lane whose update is lost": (WARP, r"if \(after != 0\) v = join\(v, other\);", "if (after > 1u << 31) v = join(v, other);", ["differ"]),
    "lanes that update for others again": (WARP, r"if \(before == 0\) update", "update", ["differ"]),
    "a copy that nothing cleared": (REPLICAS, r"y_copies_out\[.*\] = 0;|fs_(?:store|put)<\d+>\(y_copies_out.*;", "", ["differ"]),
    "a copy that the target misses": (REPLICAS, r"% 16", "% 17", ["AddressSanitizer", "differ"]),
    "a changed input": (SUBTRACT, r"(const float a_x = .*)", r"\1 const_cast<float *>(a_in)[i0] = 0;", ["input a was changed"]),
    "a launch too small": (SUBTRACT, r"<<<(\d+), (\d+), 0", r"<<<\1 - 1, \2, 0", ["nothing wrote"]),
    "a size of the wrong launch": (OPEN, r"<<<\(unsigned\)count,", "<<<(unsigned)count - 1,", ["nothing wrote"]),
    "a missing barrier before the second phase": (PHASES, r"  __syncthreads\(\);\n(  // --- phase 2)", r"\1", ["data race on shared memory"]),
    "a missing barrier before the third phase": (PHASES, r"  __syncthreads\(\);\n(  // --- phase 3)", r"\1", ["data race on shared memory"]),
    "counts in shared memory that nothing cleared": (PHASES, r"n_shared\[i0\] = 0LL;", "", ["differ"]),
    "an addition in shared memory that is no atomic": (PHASES, r"fs_add_shared\(&(n_shared\[\w+\]), 1LL, .*\);", r"\1 += 1;", ["data race on shared memory"]),
    "a value that stays in shared memory": (PHASES, r"n_out\[i0\] = n_x;", "", ["nothing wrote"]),
    "a turn that is missing": (PHASES, r"t < 200", "t < 128", ["elements differ"]),
    "a missing barrier between runs that are merged": (ORDER, r"(spare\[p \+ .*\n\s*\}\n\s*)__syncthreads\(\);", r"\1", ["data race on shared memory"]),
    "an unstable merge": (ORDER, r"second \? !fs_key_before<Descending>\(mine, other\)", "second ? fs_key_before<Descending>(other, mine)", ["data race on shared memory"]),
    "a lane that is missing in a shuffle": (SUBTRACT, r"(if \(!\(t < 1003\)\) return;)", r"\1 __shfl_sync(0xffffffffu, t, 0);", ["lane that has ended"]),
}


def check(fusec, tools, fault, work):
    """False where fusec has no kernel for the graph."""
    wanted_graph, pattern, replacement, words = fault
    path = work / "planted.fusion.json"
    path.write_text(json.dumps(wanted_graph))
    if "error[no-kernel]" in emulate.run(fusec, "compile", path, "-o", work, "--emit", "cu").stderr:
        return False
    emulate.must(fusec, "compile", path, "-o", work, "--emit", "cu", "--arch", "sm_72", *wanted_graph.get("meta", {}).get("flags", []))
    program = emulate.Program(work, "planted")
    emulate.prepare_inputs(program, wanted_graph, work / "in.safetensors", 1, False)
    emulate.must(fusec, "run", path, "--device", "cpu", "--inputs", work / "in.safetensors", "--outputs", work / "cpu.safetensors")
    text = program.source.read_text()
    planted = re.sub(pattern, replacement, text)
    if planted == text:
        raise emulate.Failure(f"the emitted text has no place for it:\n{text}")
    for version, name in ((text, "right"), (planted, "wrong")):
        program.source.write_text(version)
        library = work / f"{name}.so"
        tools.compile([program.source], library)
        try:
            emulate.execute(tools, program, library, work, work / "in.safetensors", work / "cpu.safetensors")
        except emulate.Failure as failure:
            if name == "right":
                raise
            if not any(word in str(failure) for word in words):
                raise emulate.Failure(f"found, but not as {words}:\n{failure}")
            return True
    raise emulate.Failure(f"not found; planted text:\n{planted}")


SUMS = graph([tensor("x", "f32", [3]), tensor("i", "i64", [3000], init={"randint": [0, 3]}), tensor("s", "f32", [3000])],
             [op("scatter", ["x", "i", "s"], "y", dim=0, accumulate="add")], ["y"])


def check_order_of_arrival(fusec, tools, work):
    """Sums of floats as they arrive are not the same in every order; with --deterministic they are."""
    path = work / "planted.fusion.json"
    path.write_text(json.dumps(SUMS))
    for flags, right in ((["--deterministic"], True), ([], False)):
        emulate.must(fusec, "compile", path, "-o", work, "--emit", "cu", "--arch", "sm_72", *flags)
        program = emulate.Program(work, "planted", deterministic=True)
        emulate.prepare_inputs(program, SUMS, work / "in.safetensors", 1, False)
        emulate.must(fusec, "run", path, "--device", "cpu", "--inputs", work / "in.safetensors", "--outputs", work / "cpu.safetensors")
        tools.compile([program.source], work / "sums.so")
        try:
            emulate.execute(tools, program, work / "sums.so", work, work / "in.safetensors", work / "cpu.safetensors", emulate.MORE_RUNS, lambda t: (1e-4, 1e-4))
        except emulate.Failure as failure:
            if right or "in the first run" not in str(failure):
                raise
            return True
    raise emulate.Failure("sums in the order of arrival gave the same bits in every order")


def main():
    fusec = sys.argv[1]
    tools = emulate.Tools(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(tempfile.gettempdir()) / "fusec-emulator")
    failed = 0
    faults = {name: lambda work, fault=fault: check(fusec, tools, fault, work) for name, fault in FAULTS.items()}
    faults["sums in the order of arrival"] = lambda work: check_order_of_arrival(fusec, tools, work)
    for name, run in faults.items():
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                known = run(pathlib.Path(work))
                print(f"ok      {name}" if known else f"skipped {name}: no kernel", flush=True)
            except emulate.Failure as failure:
                failed += 1
                print(f"FAILED  {name}: {failure}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
