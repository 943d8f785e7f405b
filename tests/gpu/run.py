#!/usr/bin/env python3
"""The list that the emulator runs, on a real GPU: examples, tests/regress, tests/numeric, and random graphs with the laws for a GPU.

    run.py FUSEC [--sanitize memcheck|racecheck|initcheck|synccheck] [--random N] [--seed N] [--jobs N] [--only TEXT] [--root DIR]

Needs Python and the binary alone. Without a GPU it says so and ends with 77. With --sanitize each run goes through compute-sanitizer, from
the PATH or $CUDA_HOME/bin; without one it ends with 77 too. Random graphs are few then: a run under it takes seconds.
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

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / name) for name in ("emulate", "numeric", "property")]
import cases
import data
import emulate
import laws
from graph_maker import Maker

SKIPPED = 77


def find_sanitizer():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [shutil.which("compute-sanitizer"), *(f"{home}/bin/compute-sanitizer" for home in homes if home)]
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


class Runner:
    def __init__(self, fusec, sanitizer, tool):
        self.fusec, self.before = fusec, [sanitizer, "--tool", tool, "--error-exitcode", "99"] if sanitizer else []
        if tool == "memcheck":
            self.before += ["--padding", "64"]  # so that an access just past a buffer meets no neighbour

    def gpu(self, path, *args):
        """`fusec run` on the GPU; raises Failure unless it ends with 0."""
        done = self.ran(path, *args)
        if done.returncode:
            raise emulate.Failure(f"exit {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")

    def ran(self, path, *args):
        return emulate.run(*self.before, self.fusec, "-q", "run", path, *args, timeout=900)


# --- what is run: each takes the runner and a folder, and raises emulate.Failure ---------------------------------------------------------


def verified(path):
    """The GPU against the CPU reference, on generated inputs of two seeds."""

    def step(r, work):
        for seed in (0, 1):
            r.gpu(path, "--verify", "--seed", seed, *flags_of(path))

    return step


def flags_of(path):
    return json.loads(path.read_text()).get("meta", {}).get("flags", [])


def drawn(path):
    """Graphs that once failed: also in kernels drawn at random."""

    def step(r, work):
        verified(path)(r, work)
        for n in range(2):
            r.gpu(path, "--verify", "--partition", f"random:{n}", *flags_of(path))

    return step


def numeric(case):
    def step(r, work):
        path, given, got, wanted = (work / name for name in ("g.fusion.json", "in.safetensors", "out.safetensors", "wanted.safetensors"))
        path.write_text(json.dumps(cases.graph_of(case)))
        cases.write(given, case, "inputs")
        args = [path, "--inputs", given, "--outputs", got, *case.get("args", [])]
        if "index_error" in case:
            done, (op, _, index, _) = r.ran(*args), case["index_error"]
            if done.returncode != 4 or op not in done.stderr or str(index) not in done.stderr:
                raise emulate.Failure(f"exit {done.returncode}, 4 wanted: {done.stderr[-800:]}")
            return
        r.gpu(*args)
        cases.write(wanted, case, "outputs")
        if found := data.difference(got, wanted, cases.tolerances(case)):
            raise emulate.Failure(found)

    return step


def random_graph(seed, ops):
    """Special values among the inputs; the GPU against the reference, and other cuts against that."""

    def step(r, work):
        graph = Maker(seed, ops).graph(f"random_{seed}")
        flags = laws.flags_of(graph)
        path, given, reference, best = (work / name for name in ("g.fusion.json", "in.safetensors", "cpu.safetensors", "gpu.safetensors"))
        path.write_text(json.dumps(graph))
        emulate.must(r.fusec, "compile", path, "-o", work, "--emit", "cu", *flags)
        emulate.prepare_inputs(emulate.Program(work, graph["name"]), graph, given, seed, special=True)
        emulate.must(r.fusec, "-q", "run", path, "--device", "cpu", "--inputs", given, "--outputs", reference)
        r.gpu(path, "--inputs", given, "--outputs", best, *flags)
        allowed = laws.tolerance_of(graph)
        if found := data.difference(best, reference, allowed):
            raise emulate.Failure(found)
        settled = laws.settled_outputs(graph)
        for n in range(laws.CUTS):
            how, cut = f"random:{laws.CUTS * seed + n}", work / f"cut{n}.safetensors"
            r.gpu(path, "--inputs", given, "--outputs", cut, "--partition", how, *flags)
            if found := data.difference(cut, best, {name: (2 * a, 2 * b) for name, (a, b) in allowed.items() if name not in settled}):
                raise emulate.Failure(f"partition {how}: {found}")

    return step


def everything(o, ops):
    """name → step."""
    root = pathlib.Path(o.root)
    todo = {f"example {p.name.split('.')[0]}": verified(p) for p in sorted(root.glob("examples/*.fusion.json"))}
    todo |= {f"regress {p.name.split('.')[0]}": drawn(p) for p in sorted((TESTS / "regress").glob("*.fusion.json"))}
    todo |= {f"numeric {case['name']}": numeric(case) for case in cases.load()}
    todo |= {f"random {seed}": random_graph(seed, ops) for seed in range(o.seed, o.seed + o.random)}
    return {name: step for name, step in todo.items() if o.only in name}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("fusec")
    p.add_argument("--sanitize", choices=["memcheck", "racecheck", "initcheck", "synccheck"])
    p.add_argument("--random", type=int, help="random graphs (default 300, 20 with --sanitize)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    p.add_argument("--only", default="", help="what has this text in its name")
    p.add_argument("--root", default=TESTS.parent, help="the folder that holds examples/ (default: beside tests/)")
    p.add_argument("--keep", help="folder for the graphs that failed")
    o = p.parse_args()
    o.random = (20 if o.sanitize else 300) if o.random is None else o.random
    o.fusec = str(pathlib.Path(o.fusec).resolve()) if os.sep in o.fusec else o.fusec
    if not json.loads(emulate.must(o.fusec, "env", "--json"))["gpu"]:
        print("skipped: no GPU here")
        return SKIPPED
    sanitizer = find_sanitizer() if o.sanitize else None
    if o.sanitize and not sanitizer:
        print("skipped: no compute-sanitizer in the PATH or under $CUDA_HOME")
        return SKIPPED
    ops = {row["op"] for row in json.loads(emulate.must(o.fusec, "ops", "--json")) if row["cuda"]}
    runner, todo, failed = Runner(o.fusec, sanitizer, o.sanitize), everything(o, ops), 0

    def attempt(item):
        name, step = item
        work = pathlib.Path(tempfile.mkdtemp(prefix="fusec_gpu_"))
        try:
            step(runner, work)
            return name, None
        except (emulate.Failure, subprocess.TimeoutExpired, ValueError, OSError) as failure:
            if o.keep and (work / "g.fusion.json").exists():
                pathlib.Path(o.keep).mkdir(parents=True, exist_ok=True)
                shutil.copy(work / "g.fusion.json", pathlib.Path(o.keep) / f"{name.replace(' ', '_')}.fusion.json")
            return name, str(failure)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    with concurrent.futures.ThreadPoolExecutor(max(1, o.jobs)) as pool:
        for name, failure in pool.map(attempt, todo.items()):
            failed += failure is not None
            if failure:
                print(f"FAILED  {name}: {failure}", flush=True)
    kinds = {}
    for name in todo:
        kinds[name.split()[0]] = kinds.get(name.split()[0], 0) + 1
    print(", ".join(f"{n} × {kind}" for kind, n in kinds.items()) + (f", under {o.sanitize}" if o.sanitize else ""))
    print(f"{len(todo) - failed} passed, {failed} failed")
    return 1 if failed or not todo else 0


if __name__ == "__main__":
    sys.exit(main())
