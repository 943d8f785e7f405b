#!/usr/bin/env python3
"""Random graphs and the laws they must obey.

    random_graphs.py FUSEC [--seed N] [--count N] [--device gpu|emulate] [--jobs N] [--keep DIR] [--emit-only] [--time SECONDS]

--device gpu      the GPU computes what the CPU reference does, also in kernels drawn at random
--device emulate  the emitted CUDA text, run on the CPU under sanitizers, does; and the laws of laws.py hold. Needs clang, no GPU
--emit-only       each graph compiles to a cubin for sm_80, and the reference runs: needs NVRTC, no GPU

A failing graph is kept in DIR with the seed that made it; with --device emulate it is made smaller first.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "emulate")]
import data
import emulate
import laws
import shrink
from graph_maker import Maker

SKIPPED = 77


class Graph:
    """A random graph on its way through the laws."""

    def __init__(self, seed, ops, o):
        self.seed, self.graph = seed, Maker(seed, ops, o.long, o.rows).graph(f"random_{seed}")
        self.work = None
        self.seen, self.failure, self.trial = [], None, None

    def attempt(self, step):
        """Unless something failed before."""
        if self.failure is None:
            try:
                return step()
            except (emulate.Failure, subprocess.TimeoutExpired) as failure:
                self.failure = str(failure)


def on_gpu(o, g):
    """The graph on a GPU against the reference, on the inputs that fusec generates; and in other kernels, drawn at random."""
    path = g.work / f"{g.graph['name']}.fusion.json"
    path.write_text(json.dumps(g.graph))

    def outputs(device, tag, *flags):
        file = g.work / f"{tag}.safetensors"
        flags = [*flags, *([] if device == "cpu" else laws.flags_of(g.graph))]
        emulate.must(o.fusec, "run", path, "--device", device, "--seed", g.seed, "--outputs", file, *flags, timeout=300)
        return file

    reference = outputs("cpu", "cpu")
    if o.emit_only:
        emulate.must(o.fusec, "compile", path, "-o", g.work / "out", "--emit", "cubin", "--arch", "sm_80", "--no-cache", *laws.flags_of(g.graph), timeout=300)
        return
    best = outputs(o.device, "best")
    g.seen.append("GPU = reference")
    if found := data.difference(best, reference, laws.tolerance_of(g.graph)):
        raise emulate.Failure(found)
    settled = laws.settled_outputs(g.graph)
    rest = {name: t for name, t in laws.tolerance_of(g.graph).items() if name not in settled}
    for n in range(laws.CUTS):
        how = f"random:{laws.CUTS * g.seed + n}"
        cut = outputs(o.device, f"cut{n}", "--partition", how)
        g.seen.append("another cut")
        if found := data.difference(cut, best, {name: (0, 0) for name in settled} | {name: (2 * a, 2 * b) for name, (a, b) in rest.items()}):
            raise emulate.Failure(f"partition {how}: {found}")


def emulated(o, tools, graphs):
    """The laws of laws.py. The texts of all graphs are compiled together, which takes half the time."""
    for g in graphs:
        g.trial = g.attempt(lambda: laws.Trial(o.fusec, g.graph, g.seed, g.work, g.seen))
    good = [g for g in graphs if g.trial]
    library = graphs[0].work / "kernels.so"
    try:
        tools.compile([source for g in good for source in g.trial.sources()], library)
    except emulate.Failure:
        for g in good:
            g.attempt(lambda: tools.compile(g.trial.sources(), g.work / "own.so"))
        library = None
    for g in good:
        g.attempt(lambda: g.trial.execute(tools, library or g.work / "own.so"))


def report(o, tools, g):
    """What is wrong with a graph, after making it smaller."""
    graph, text = g.graph, g.failure
    if tools and not o.whole:
        graph, text = shrink.smaller(o.fusec, tools, graph, g.seed, g.work, text)
    if o.keep:
        pathlib.Path(o.keep).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(o.keep) / f"{graph['name']}.fusion.json").write_text(shrink.pretty(graph))
    return f"seed {g.seed}: {text}\n{shrink.pretty(graph) if len(graph['ops']) < 12 else ''}"


def check(o, tools, ops, seeds):
    """For each seed whose graph has one of the wanted ops: None, or what is wrong; and the laws that were looked at."""
    graphs = [g for g in (Graph(seed, ops, o) for seed in seeds) if not o.only or any(op["op"] in o.only for op in g.graph["ops"])]
    for g in graphs:
        g.work = pathlib.Path(tempfile.mkdtemp(prefix="fusec_random_"))
    try:
        if tools and graphs:
            emulated(o, tools, graphs)
        for g in graphs if not tools else []:
            g.attempt(lambda: on_gpu(o, g))
        return [(g.failure and report(o, tools, g), g.seen) for g in graphs]
    finally:
        for g in graphs:
            shutil.rmtree(g.work, ignore_errors=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("fusec")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--device", default="gpu")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--batch", type=int, default=8, help="graphs whose emitted texts are compiled together")
    p.add_argument("--keep")
    p.add_argument("--emit-only", action="store_true")
    p.add_argument("--whole", action="store_true", help="do not make failing graphs smaller")
    p.add_argument("--elementwise", action="store_true", help="elementwise, shape and creation ops only")
    p.add_argument("--long", action="store_true", help="in each graph a sort or a scan of lines that blocks share")
    p.add_argument("--rows", action="store_true", help="in each graph long rows, reduced")
    p.add_argument("--only", type=lambda text: set(text.split(",")), help="graphs with one of these ops, separated by commas")
    p.add_argument("--stop-at", type=int, default=0, help="stop after so many failures")
    p.add_argument("--time", type=float, default=0, help="stop after so many seconds")
    p.add_argument("--tools", default=os.path.join(tempfile.gettempdir(), "fusec-emulator"), help="where the emulator is built")
    o = p.parse_args()
    if o.emit_only and "NVRTC      not found" in emulate.run(o.fusec, "env").stdout:
        print("skipped: no NVRTC")
        return SKIPPED
    tools = emulate.Tools(o.tools) if o.device == "emulate" and not o.emit_only else None
    ops = {row["op"] for row in json.loads(emulate.must(o.fusec, "ops", "--json")) if row["cuda"] and not o.elementwise}
    start, failed, done, last, counts, stopped = time.monotonic(), 0, 0, o.seed, {}, []
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:

        def some(seeds):
            nonlocal last
            late = o.time and time.monotonic() - start > o.time
            answers = [] if late or (o.stop_at and len(stopped) >= o.stop_at) else check(o, tools, ops, seeds)
            last = max(last, seeds[-1] if answers else o.seed)
            stopped.extend(1 for text, _ in answers if text)
            return answers

        end = o.seed + o.count
        for text, seen in itertools.chain.from_iterable(pool.map(some, [range(s, min(s + o.batch, end)) for s in range(o.seed, end, o.batch)])):
            done += 1
            for law in seen:
                counts[law] = counts.get(law, 0) + 1
            if text:
                failed += 1
                print("FAILED", text, flush=True)
    for law in sorted(counts):
        print(f"{counts[law]:6} × {law}")
    print(f"seeds {o.seed} to {last}: {done - failed} passed, {failed} failed")
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
