#!/usr/bin/env python3
"""Every graph of up to three ops over a few ops, on matrices of every pair of a few extents, through the emulator, bit for bit.

    small_world.py FUSEC [--ops neg,cast,…] [--depth 3] [--extents 0,1,2,3,33] [--sample N --seed S] [--jobs N] [--from I --to J]

The graphs have numbers: the same ops, depth and extents give the same ones. --sample takes N of them, drawn from the seed. A failing graph is
printed. Needs clang; the default world has tens of thousands of graphs and takes hours.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "emulate")]
import data
import emulate

ARCHS = ("sm_72", "sm_90")  # by the graph's number
RUNS = emulate.RUNS


# --- ops: from types of operands, (dtype, [rows, columns]), to attributes and a type; None where the op does not take them ---------------


def cast(x):
    to = "bf16" if x[0] == "f32" else "f32"
    return {"dtype": to}, (to, x[1])


def cat(x, y):
    return ({"dim": 1}, (x[0], [x[1][0], x[1][1] + y[1][1]])) if x[0] == y[0] and x[1][0] == y[1][0] else None


def added(x, y):
    if x[0] != y[0] or any(m != n and 1 not in (m, n) for m, n in zip(x[1], y[1])):
        return None
    return {}, (x[0], [n if m == 1 else m for m, n in zip(x[1], y[1])])


OPS = {
    "neg": (1, "neg", lambda x: ({}, x)),
    "cast": (1, "cast", cast),
    "permute": (1, "permute", lambda x: ({"perm": [1, 0]}, (x[0], x[1][::-1]))),
    "flip": (1, "flip", lambda x: ({"dims": [1]}, x)),
    "slice": (1, "slice", lambda x: ({"starts": [0, min(1, x[1][1])], "stops": x[1], "steps": [1, 2]}, (x[0], [x[1][0], max(0, x[1][1]) // 2]))),
    "pad": (1, "pad", lambda x: ({"low": [0, 1], "high": [0, 2], "value": 7}, (x[0], [x[1][0], x[1][1] + 3]))),
    "sum": (1, "sum", lambda x: ({"dims": [1], "keepdim": True}, (x[0], [x[1][0], 1]))),
    "sum_rows": (1, "sum", lambda x: ({"dims": [0], "keepdim": True}, (x[0], [1, x[1][1]]))),
    "max": (1, "max", lambda x: ({"dims": [1], "keepdim": True}, (x[0], [x[1][0], 1])) if x[1][1] else None),
    "cumsum": (1, "cumsum", lambda x: ({"dim": 1}, x)),
    "add": (2, "add", added),
    "cat": (2, "cat", cat),
}
DEFAULT = "neg,cast,permute,slice,sum,sum_rows,cumsum,add"
SYMMETRIC = {"add"}


def programs(names, depth):
    """Lists of (op, operands) in which every result but the last is read; operand 0 is the matrix x, 1 the row y, then the results."""

    def grow(steps):
        if steps and unread(steps) == 1:
            yield steps
        if len(steps) == depth:
            return
        known = 2 + len(steps)
        for name in names:
            count = OPS[name][0]
            for operands in itertools.product(range(known), repeat=count):
                if operands == (1,):  # a matrix of one row
                    continue
                if name in SYMMETRIC and list(operands) != sorted(operands):
                    continue
                more = [*steps, (name, operands)]
                if more[-1] not in steps and unread(more) <= 1 + (depth - len(more)):
                    yield from grow(more)

    def unread(steps):
        read = {o for _, operands in steps for o in operands}
        return sum(2 + n not in read for n in range(len(steps)))

    yield from grow([])


def graph_of(number, steps, rows, columns):
    """None where an op does not take its operands."""
    types = [("f32", [rows, columns]), ("f32", [1, columns])]
    names, ops = ["x", "y"], []
    for name, operands in steps:
        made = OPS[name][2](*(types[o] for o in operands))
        if made is None:
            return None
        attributes, result = made
        names.append(f"v{len(ops)}")
        ops.append({"op": OPS[name][1], "in": [names[o] for o in operands], **attributes, "out": names[-1]})
        types.append(result)
    used = {a for op in ops for a in op["in"]}
    inputs = [{"name": n, "dtype": "f32", "shape": t[1], "init": {"randint": [-4, 5]}} for n, t in zip("xy", types) if n in used]
    return {"version": 1, "name": f"small_{number}", "inputs": inputs, "ops": ops, "outputs": [names[-1]]}


def world(o):
    """All graphs by number."""
    number = 0
    for steps in programs(o.ops.split(","), o.depth):
        for rows, columns in itertools.product(o.extents, repeat=2):
            if graph := graph_of(number, steps, rows, columns):
                yield graph
                number += 1


# --- running -----------------------------------------------------------------------------------------------------------------------------


def references(fusec, graphs, work):
    """A job for each graph: inputs, and what the reference makes of them."""
    jobs = []
    for graph in graphs:
        name = graph["name"]
        program = emulate.Program(work, name)
        emulate.prepare_inputs(program, graph, work / f"{name}.in.safetensors", len(jobs), special=False)
        emulate.must(fusec, "-q", "run", work / f"{name}.fusion.json", "--device", "cpu", "--inputs", work / f"{name}.in.safetensors", "--outputs", work / f"{name}.cpu.safetensors")
        job = work / f"{name}.job"
        job.write_text(program.job(work / "all.so", RUNS, work / f"{name}.in.safetensors", work / f"{name}.cpu.safetensors"))
        jobs.append(job)
    return jobs


def check(fusec, tools, graphs):
    """What is wrong with some of the graphs, which are compiled into one library."""
    found = []
    with tempfile.TemporaryDirectory(prefix="fusec_small_") as work:
        work = pathlib.Path(work)
        try:
            for arch in ARCHS:
                mine = [g for g in graphs if ARCHS[int(g["name"].split("_")[1]) % len(ARCHS)] == arch]
                for g in mine:
                    (work / f"{g['name']}.fusion.json").write_text(json.dumps(g))
                if mine:
                    emulate.must(fusec, "-q", "compile", *(work / f"{g['name']}.fusion.json" for g in mine), "-o", work, "--emit", "cu", "--report", "none", "--arch", arch)
            tools.compile([work / f"{g['name']}.cu" for g in graphs], work / "all.so")
            jobs = references(fusec, graphs, work)
        except emulate.Failure as failure:
            return [f"graphs {graphs[0]['name']} to {graphs[-1]['name']}: {failure}"]
        while jobs:
            done = emulate.run(tools.runner, *jobs, env=emulate.ENVIRONMENT, timeout=600)
            if done.returncode == 0:
                break
            said = done.stderr.split("emulate: job ")[-1].splitlines()
            at = next((n for n, job in enumerate(jobs) if said and job.stem == said[0]), len(jobs) - 1)
            graph = next(g for g in graphs if g["name"] == jobs[at].stem)
            found.append(f"{json.dumps(graph)}\n" + "\n".join(said[1:8]))
            jobs = jobs[at + 1 :]
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("fusec")
    p.add_argument("--ops", default=DEFAULT, help=f"of {','.join(OPS)}; default {DEFAULT}")
    p.add_argument("--depth", type=int, default=3)
    p.add_argument("--extents", type=lambda text: [int(n) for n in text.split(",")], default=[0, 1, 2, 3, 33])
    p.add_argument("--sample", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--from", dest="first", type=int, default=0)
    p.add_argument("--to", type=int)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--count", action="store_true", help="say how many there are")
    p.add_argument("--tools", default=os.path.join(tempfile.gettempdir(), "fusec-emulator"), help="where the emulator is built")
    o = p.parse_args()
    graphs = list(world(o))
    if o.count:
        print(len(graphs))
        return 0
    chosen = graphs[o.first : o.to] if o.sample is None else random.Random(o.seed).sample(graphs, min(o.sample, len(graphs)))
    tools, failed = emulate.Tools(o.tools), 0
    batches = [chosen[n : n + o.batch] for n in range(0, len(chosen), o.batch)]
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for n, found in enumerate(pool.map(lambda batch: check(o.fusec, tools, batch), batches)):
            for text in found:
                failed += 1
                print("FAILED", text, flush=True)
            if n % 20 == 19 and o.sample is None:
                print(f"{(n + 1) * o.batch} of {len(chosen)}, {failed} failed", flush=True)
    print(f"{len(chosen)} of {len(graphs)} graphs: {len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
