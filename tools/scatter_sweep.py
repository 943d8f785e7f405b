"""Times scatters with accumulate over numbers of targets, contention, types and row widths.

    python3 tools/scatter_sweep.py FUSEC [--write DIR] [--scatter HOW] [--only TEXT] [--more]     one line a graph: median µs

The targets are drawn evenly, all equal, sorted, or as a Zipf law has them (few get most). Indices that are not input come from ops of the
graph, so that no files are needed. --more: other widths, and targets that no cache holds.
"""
import argparse
import math
import sys

import sweep

UPDATES, ELEMENTS = 1 << 24, 1 << 25


def graph(dtype, targets, width, pattern):
    n = UPDATES if width == 1 else ELEMENTS // width
    inputs = [{"name": "v", "dtype": dtype, "shape": [n] if width == 1 else [n, width]}]
    if dtype in ("i32", "i64"):
        inputs[0]["init"] = {"randint": [-100, 100]}
    ops = []
    if pattern in ("even", "equal"):
        inputs.append({"name": "at", "dtype": "i32", "shape": [n], "init": {"randint": [0, targets if pattern == "even" else 1]}})
    elif pattern == "sorted":
        ops += [
            {"op": "iota", "out": "k", "shape": [n], "dtype": "i32"},
            {"op": "trunc_div", "in": ["k", -(-n // targets)], "out": "at"},
        ]
    else:
        inputs.append({"name": "u", "dtype": "f32", "shape": [n], "init": "uniform"})
        ops += [
            {"op": "abs", "in": ["u"], "out": "a"},
            {"op": "mul", "in": ["a", math.log(targets)], "out": "l"},
            {"op": "exp", "in": ["l"], "out": "e"},
            {"op": "cast", "in": ["e"], "out": "i", "dtype": "i32"},
            {"op": "sub", "in": ["i", 1], "out": "i0"},
            {"op": "minimum", "in": ["i0", targets - 1], "out": "at"},
        ]
    ops.append({"op": "full", "out": "z", "shape": [targets] if width == 1 else [targets, width], "dtype": dtype, "value": 0})
    ops.append({"op": "scatter" if width == 1 else "index_put", "in": ["z", "at", "v"], "dim": 0, "accumulate": "add", "out": "y"})
    return {"version": 1, "name": f"{dtype}_x{width}_{targets}_{pattern}", "inputs": inputs, "ops": ops, "outputs": ["y"]}


COUNTS = {1: (16, 4096, 65536, 1 << 20), 7: (16, 4096, 1 << 20), 64: (16, 4096, 1 << 17), 1024: (16, 1024, 8192)}
MORE = {1: (1 << 23, 1 << 24, 1 << 25), **{width: (16, 4096, 1 << 17) for width in (4, 8, 16, 32, 256)}}


def graphs(counts):
    for dtype in ("i32", "i64", "f32", "bf16"):
        for width, rows in counts.items():
            for targets in rows:
                for pattern in ("even", "equal", "sorted", "zipf"):
                    yield graph(dtype, targets, width, pattern)


def main():
    p = argparse.ArgumentParser()
    sweep.add_options(p)
    p.add_argument("--scatter", default="auto")
    p.add_argument("--more", action="store_true")
    o = p.parse_args()
    even = 0
    for name, result in sweep.results(o, graphs(MORE if o.more else COUNTS), "--scatter", o.scatter):
        us = result["us"]["median"]
        even = us if name.endswith("even") else even
        print(f"{name:28} {us:10.1f} us  {us / even:6.2f} of even", flush=True)


if __name__ == "__main__":
    sys.exit(main())
