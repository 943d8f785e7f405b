#!/usr/bin/env python3
"""Random graphs and the laws they must obey.

    random_graphs.py FUSEC [--seed N] [--count N] [--device gpu|emulate] [--jobs N] [--keep DIR] [--emit-only] [--time SECONDS]

--device gpu      the GPU computes what the CPU reference does
--device emulate  the emitted CUDA text, run on the CPU under sanitizers, does; and the laws of laws.py hold. Needs clang, no GPU
--emit-only       each graph compiles to a cubin for sm_80, and the reference runs: needs NVRTC, no GPU

A failing graph is kept in DIR with the seed that made it; with --device emulate it is made smaller first.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "emulate")]
import emulate
import laws
import shrink
from graph_maker import Maker

SKIPPED = 77


def without_emulator(o, graph, seed, work):
    """The graph on a GPU, or as a cubin, against the reference on the inputs that fusec generates."""
    path = work / f"{graph['name']}.fusion.json"
    path.write_text(json.dumps(graph))

    def fusec(*args):
        done = emulate.run(o.fusec, *args, timeout=300)
        if done.returncode:
            raise emulate.Failure(f"fusec {args[0]}: exit {done.returncode}: {done.stderr[-500:]}")

    fusec("run", path, "--device", "cpu", "--seed", seed, "--outputs", work / "cpu.safetensors")
    if o.emit_only:
        fusec("compile", path, "-o", work / "out", "--emit", "cubin", "--arch", "sm_80", "--no-cache")
        return
    fusec("run", path, "--device", o.device, "--seed", seed, "--outputs", work / "out.safetensors")
    found = laws.difference(work / "out.safetensors", work / "cpu.safetensors", graph)
    if found:
        raise emulate.Failure(found)


def check(o, tools, ops, seed):
    """None, or what is wrong; and the laws that were looked at. No answer where the graph has none of the wanted ops."""
    graph = Maker(seed, ops).graph(f"random_{seed}")
    if o.only and not any(op["op"] in o.only for op in graph["ops"]):
        return None
    work = pathlib.Path(tempfile.mkdtemp(prefix="fusec_random_"))
    seen = []
    try:
        if o.device != "emulate" or o.emit_only:
            without_emulator(o, graph, seed, work)
        else:
            laws.check(o.fusec, tools, graph, seed, work, seen)
        return None, seen
    except (emulate.Failure, subprocess.TimeoutExpired) as failure:
        text = str(failure)
        if o.device == "emulate" and not o.emit_only and not o.whole:
            graph, text = shrink.smaller(o.fusec, tools, graph, seed, work, text)
        if o.keep:
            pathlib.Path(o.keep).mkdir(parents=True, exist_ok=True)
            (pathlib.Path(o.keep) / f"{graph['name']}.fusion.json").write_text(shrink.pretty(graph))
        return f"seed {seed}: {text}\n{shrink.pretty(graph) if len(graph['ops']) < 12 else ''}", seen
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("fusec")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--device", default="gpu")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--keep")
    p.add_argument("--emit-only", action="store_true")
    p.add_argument("--whole", action="store_true", help="do not make failing graphs smaller")
    p.add_argument("--elementwise", action="store_true", help="elementwise, shape and creation ops only")
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

        def one(seed):
            late = o.time and time.monotonic() - start > o.time
            answer = None if late or (o.stop_at and len(stopped) >= o.stop_at) else check(o, tools, ops, seed)
            if answer and answer[0]:
                stopped.append(seed)
            return answer

        for seed, answer in zip(range(o.seed, o.seed + o.count), pool.map(one, range(o.seed, o.seed + o.count))):
            if answer is None:
                continue
            done, last = done + 1, seed
            for law in answer[1]:
                counts[law] = counts.get(law, 0) + 1
            if answer[0]:
                failed += 1
                print("FAILED", answer[0], flush=True)
    for law in sorted(counts):
        print(f"{counts[law]:6} × {law}")
    print(f"seeds {o.seed} to {last}: {done - failed} passed, {failed} failed")
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
